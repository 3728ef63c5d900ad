package quorum_test

import (
	"flag"
	"testing"

	"go.uber.org/goleak"
)

// Flags of the simulation: which history to repeat, and how many to run.
var (
	seedFlag      = flag.Uint64("quorum.seed", 0, "run only the simulated history with this seed")
	historiesFlag = flag.Int("quorum.histories", 0, "run this many simulated histories; 0 stands for the usual number")
	fromFlag      = flag.Uint64("quorum.from", 1, "the seed of the first simulated history")
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
