// Package e2e holds the end-to-end tests: the redlock-proxy binary, started as
// main starts it, in front of five redis-servers that are killed, paused, slowed
// and cut off. What clients see is asked over plain sockets and with redis-cli;
// what must be true of the backends is asked of the backends themselves.
//
// Client libraries that can't be installed for tests are replayed: what they send
// when they connect and lock, and what they need to hear, on one Redis as well as on
// the proxy (replay_*_test.go).
//
// The folder clients is a module of its own with tests by real client libraries.
package e2e
