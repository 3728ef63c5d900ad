// Package clients drives real client and lock libraries against the redlock-proxy
// binary in front of five redis-servers. Each takes the proxy for the one Redis it
// was written for, so each of its scenarios also runs against one plain redis-server.
//
// Every library goes through the same list of proofs (prove): connect as it does by
// default, acquire, contend, extend, release, lose the lock, live with two backends
// down, reconnect after the proxy has restarted, and get a clear error with three
// down. Tests named after one library look closer at what only that library does.
//
// # Drivers
//
// A Go library implements the interface client. A library of another language is
// driven by a small program, a driver, that is one client: a connection, or a pool,
// and the locks that were taken over it. Its last argument is HOST:PORT; those
// before it are its own affair. It reads one request per line from standard input
// and answers each with one line on standard output, in order, flushed at once:
//
//	request               what is asked                                    reply
//	ping                  is the connection well?                          yes
//	acquire KEY MILLIS    take the lock, in one try                        yes, no
//	extend KEY MILLIS     let the lock last MILLIS from now on             yes, no
//	release KEY           give the lock back                               yes, no, done
//
// The words are separated by one blank; keys have neither blanks nor control
// characters. Yes means that the library says so; no, that it says that somebody
// else has the lock, or that the lock isn't this client's (any more). Done, that the
// library went through without a complaint and doesn't tell. Whatever else happens
// is
//
//	error TEXT            the library's own error, on one line
//
// whether it came as an exception, as a return value or as an event. The driver
// keeps what its library needs to extend and release a lock under the lock's KEY, a
// lost lock's included, until KEY is acquired again. An error leaves it ready for
// the next request: it never ends by itself, and never gives up reconnecting where
// its library doesn't.
//
// Its first line, before any request, is "ready", or the error that kept it from
// connecting; a library that connects when it is first used is ready at once. At the
// end of its input it closes its client and ends with exit code 0. Standard error is
// shown when a test fails. A driver may serve further requests, and answer them with
//
//	value TEXT            anything else, on one line
//
// The module is one of its own, so that none of these libraries becomes a
// dependency of the proxy. ../setup.sh installs what it needs beside Go.
package clients
