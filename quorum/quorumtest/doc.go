// Package quorumtest holds what tests of a group and of its backends share.
//
// A Fake is one Redis behind one ordered lane, in memory: it does to its keys
// what Redis would, in the order it was asked, and can be slow, frozen, down,
// deaf, forgetful or wrong about the time. It blocks on channels and timers
// only, so a group of fakes runs in the virtual time of testing/synctest.
//
// Cases, and Contract that runs them, say what package quorum asks of any
// backend. The fake and the real lanes pass the same ones: that is why a test
// over fakes means something.
//
// The package knows the words of package quorum and nothing else: no RESP, no
// Redis client, no group.
package quorumtest
