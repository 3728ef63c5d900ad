package quorum

import (
	"testing"

	"redlockproxy/quorum/model"
)

var rightCounter = counterRules{sources: worldSize - 1}

func searchCounter(t *testing.T, r counterRules) model.Found {
	t.Helper()
	w := model.World[counterWorld]{Steps: r.steps, Wrong: wrongNumbers}
	// An increment and one raise, with an answer that is late; two raises, with none.
	starts := []counterWorld{{marker: 1, rounds: 2}, {marker: 1, rounds: 3, late: true}}
	if model.RaceDetector {
		starts = starts[:1]
	}
	found, err := model.Search(w, 1_000_000, starts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d states", found.States)
	return found
}

// I10 in a world of three backends, searched to its end.
func TestNoStateOfTheSmallWorldHasANumberTwice(t *testing.T) {
	if found := searchCounter(t, rightCounter); found.Wrong != "" {
		t.Errorf("%s:\n%s", found.Wrong, found.Story())
	}
}

func TestSmallWorldHasANumberTwiceWhereARuleIsBroken(t *testing.T) {
	for name, breaking := range map[string]func(*counterRules){
		"the highest reply is the number":     func(r *counterRules) { r.highest = true },
		"whoever replied has accepted":        func(r *counterRules) { r.anyAccepted = true },
		"a backend that forgot votes at once": func(r *counterRules) { r.votesAtOnce = true },
		"votes of a learner count":            func(r *counterRules) { r.countLost = true },
		"no quiet period":                     func(r *counterRules) { r.noQuiet = true },
		"refill from too few":                 func(r *counterRules) { r.sources = 1 },
	} {
		t.Run(name, func(t *testing.T) {
			r := rightCounter
			breaking(&r)
			found := searchCounter(t, r)
			if found.Wrong == "" {
				t.Error("nothing was found")
			}
			t.Logf("%s:\n%s", found.Wrong, found.Story())
		})
	}
}
