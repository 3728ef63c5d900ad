// Package pgtest starts a PostgreSQL server for tests: the resource that checks
// fencing numbers. It listens on a unix socket in a folder of its own, is reached by
// nobody else, and keeps nothing when the test has ended.
package pgtest
