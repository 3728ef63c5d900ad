package admission

import (
	"testing"

	"redlockproxy/quorum/model"
)

// right are the rules as they are.
var right = rules{sources: size - 1}

// searchLock searches the world under some rules.
func searchLock(t *testing.T, r rules) model.Found {
	t.Helper()
	w := model.World[lockWorld]{Steps: r.lockSteps, Wrong: twoHolders}
	// Two attempts, with an answer that is late; and three, with none.
	two, three := lockWorld{marker: [size]int8{1, 1, 1}}, lockWorld{marker: [size]int8{1, 1, 1}, late: true}
	two.tries[lasting].phase = over
	starts := []lockWorld{two, three}
	if model.RaceDetector {
		starts = starts[:1]
	}
	found, err := model.Search(w, 2_000_000, starts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d states", found.States)
	return found
}

// A1, A3 and A4 in a world of three backends, searched to its end.
func TestNoStateOfTheSmallWorldHasTwoHolders(t *testing.T) {
	if found := searchLock(t, right); found.Wrong != "" {
		t.Errorf("%s:\n%s", found.Wrong, found.Story())
	}
}

const anyCopied = "any of several values is copied"

func TestSmallWorldHasTwoHoldersWhereARuleIsBroken(t *testing.T) {
	for name, breaking := range map[string]func(*rules){
		"a backend that forgot votes at once": func(r *rules) { r.votesAtOnce = true },
		"votes of a learner count":            func(r *rules) { r.countLost = true },
		"no quiet period":                     func(r *rules) { r.noQuiet = true },
		"refill from too few":                 func(r *rules) { r.sources = 1 },
		anyCopied:                             func(r *rules) { r.copyAny = true },
	} {
		t.Run(name, func(t *testing.T) {
			if name == anyCopied && model.RaceDetector {
				return // it takes three attempts, which are searched without the detector
			}
			r := right
			breaking(&r)
			found := searchLock(t, r)
			if found.Wrong == "" {
				t.Error("nothing was found")
			}
			t.Logf("%s:\n%s", found.Wrong, found.Story())
		})
	}
}
