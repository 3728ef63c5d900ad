// Package look shows people what the backends hold: every lock, on how many of them, for
// how much longer, and what the group would answer. It only reads, over connections of
// its own that come and go, so it is never in the way of a decision; and it never gives
// a token away, only a hash of it that means something within one answer's process.
package look
