package switches

import "slices"

// A breach is one rule, the source that keeps it, and how it is broken.
type breach struct {
	rule     string    // what is not true any more
	file     string    // from the module's root
	old, new string    // of the source; old is there exactly once
	also     [2]string // one more old and new text, where the file keeps the rule twice
	pkg      string    // whose tests must notice; a folder of the module
	tests    []string
}

// breaches are all switches, by the subject of the rule.
func breaches() []breach {
	return slices.Concat(votes, writes, counters, programs, memory, clocks, connections)
}

// slow is what is not run with the whole package: it takes long, and rules have tests of
// their own.
const slow = "^TestSimulation|SmallWorld|UnderEveryMask|RefusesToWriteVotesAgain"

const (
	quorumPkg    = "quorum"
	admissionPkg = "quorum/admission"
	lanePkg      = "proxy/lane"
	guardPkg     = "proxy/guard"
)
