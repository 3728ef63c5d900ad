// Package engine says what each command does to keys, once, for every way in which
// a command can arrive: alone, in a MULTI, or from inside a script.
//
// A command is carried out on a quorum.View: what a majority holds, or is guessed to
// hold, with the writes of the transaction so far on top. The reply is computed
// here, and given only after a majority has confirmed that the view was right.
package engine
