// Package histories plays seeded histories on real processes and judges them: by the
// checkers of package history and, key by key, by porcupine, which looks for an order
// of all operations that explains every reply.
//
// It is in this module for porcupine's sake alone, which nothing that is shipped needs.
package histories
