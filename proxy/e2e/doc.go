// Package e2e holds the end-to-end tests: the redlock-proxy binary, started as
// main starts it, in front of five redis-servers that are killed, paused, slowed
// and cut off. What clients see is asked over plain sockets and with redis-cli;
// what must be true of the backends is asked of the backends themselves.
//
// The folder clients is a module of its own with tests by real client libraries.
package e2e
