// Package guard stands between the network and redcon, the library that reads
// and writes the Redis protocol for us. It is a net.Listener whose connections
// hand redcon nothing but whole, bounded, well-formed commands.
//
// # Why it is needed
//
// redcon v1.6.4 trusts its clients. Its reader adds an announced bulk length to
// an index without a check, so that 26 bytes, sent before any AUTH, panic in a
// goroutine of redcon's own, where no handler can recover, and the process is
// gone. An announced number of arguments becomes a loop of as many turns each
// time bytes arrive. An incomplete command is parsed again from its start at
// each read, and each read is one more level of recursion: a large bulk sent
// byte by byte costs quadratic time and then overflows the stack. Nothing is
// limited in size or in time. And inline commands are split by rules that are
// not Redis's: \x00 in quotes becomes x00, a tab is part of a word, so another
// lock token would be stored than the client wrote.
//
// # What it promises
//
//	G1  What redcon reads is a sequence of arrays *n $len …, n ≥ 1, each within
//	    the limits. It gets a command's first byte only when its last has arrived.
//	G2  The commands are the same however the client's bytes are cut.
//	G3  Memory grows with the bytes that have arrived, never with a number that
//	    was announced, up to a bound per connection and one for the large commands
//	    of all of them, and shrinks when it is idle.
//	G4  Time spent is linear in the bytes received.
//	G5  A protocol error is Redis's text, written after the replies of all
//	    commands before it; nothing after it is run.
//	G6  Nobody holds a connection by being slow: the TLS handshake, the login,
//	    half a command and an unread reply each have a time limit.
//	G7  Accept never waits for a client and never spins.
//	G8  A client that never stops sending, or asks for more than it reads, does not
//	    keep others waiting: between one buffer of it and the next all others go first.
//
// G5 rests on how redcon works: it asks for more bytes only when it has handled
// all commands it has, and has flushed their replies. So a handler must have
// written a command's reply when it returns.
//
// A command larger than redcon's buffer (4 KiB) reaches it in pieces, but they
// are all there: redcon doubles its buffer and rescans at each doubling, which
// is linear altogether. redcon keeps that buffer until it next needs another
// one, so a connection may hold twice Size.Command there.
//
// # Where Redis is followed, and where not
//
// Texts and limits of errors, inline quoting, blank lines, *0 and *-1 (both
// ignored), and closing without a word on POST and Host: are Redis's. It is
// stricter in these: a count, a length and a bulk must end in CR LF (Redis skips
// two bytes without looking); a NUL in an inline command is an error at once
// (Redis waits for more); an inline command has the same limit of arguments as
// an array; and a whole command has a size limit of its own. And a POST or Host:
// does not take away the replies of the commands before it, which in Redis it may.
//
// # What it does not limit
//
// Connections of one address: behind a translation of addresses that is everybody.
// Guesses of the password: they cost nothing but their bytes, as in Redis; a password
// for programs can be so long that nobody guesses it. TLS handshakes under way: each has its time limit,
// and is one of the clients that are counted.
//
// The package knows nothing of commands, replies, users or backends.
package guard
