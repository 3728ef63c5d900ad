// Package switches shows that the tests would notice: each switch breaks one rule that
// safety depends on, and the test that guards the rule must fail.
//
// Nothing in the product knows of it. A switch is a text in a source file and another
// one to put in its place; the package is compiled with that (go test -overlay), and
// nothing is written into the source tree. What a switch shows counts only if the broken
// code compiles and a test by whose name it is expected fails. A switch whose text is not
// found any more is stale, and fails by that: the rule has moved, and the switch has to
// move with it.
//
// `go test` alone looks whether the switches fit the sources. `make switches` throws
// them all, in about five minutes, runs the tests that are to notice, and prints which
// did; -args -switches -whole runs the rest of the package too.
package switches
