// Package model searches small worlds through to the end: not schedules by chance, but
// every state that can be reached, in every order of what may happen. What holds in all
// of them holds, in a world of that size; what random histories find once in a million
// is found here every time.
//
// The package knows nothing of locks. A world is a value with the steps that lead from
// it to others; the tests of package quorum have one of a counter, those of package
// admission one of a lock whose backend forgets and is refilled. Both take the rules
// from the product's own code, wherever that decides without waiting: what votes amount
// to, what a number is, what a learner must hold. Each is also searched with a rule
// broken, and must find what goes wrong then.
package model
