// Package history writes down what clients of locks and counters saw, and finds in it
// what must not be: two holders at once, numbers that repeat or fall, locks given back
// twice, locks lost while they were held, and keys that nobody can account for.
//
// It is for tests only, and pure: it knows of clients, their calls and the replies,
// and nothing of proxies, backends or sockets. All times are by one clock that never
// jumps, counted from the history's beginning. The checkers judge only by what is
// certain, at both ends of every operation, so they never complain of a history that
// a correct server could have produced.
package history
