package model_test

import (
	"fmt"
	"testing"

	"redlockproxy/quorum/model"
)

// jugs of three and five litres; the world is right until one of them has four.
type jugs struct{ three, five int8 }

func pour(s jugs, to func(model.Step, jugs)) {
	to(model.Step{Text: "fill the %a", A: 3}, jugs{3, s.five})
	to(model.Step{Text: "fill the %a", A: 5}, jugs{s.three, 5})
	to(model.Step{Text: "empty the %a", A: 3}, jugs{0, s.five})
	to(model.Step{Text: "empty the %a", A: 5}, jugs{s.three, 0})
	n := min(s.three, 5-s.five)
	to(model.Step{Text: "from %a to %b", A: 3, B: 5}, jugs{s.three - n, s.five + n})
	n = min(s.five, 3-s.three)
	to(model.Step{Text: "from %a to %b", A: 5, B: 3}, jugs{s.three + n, s.five - n})
}

func TestShortestWayIsFound(t *testing.T) {
	w := model.World[jugs]{Steps: pour, Wrong: func(s jugs) string {
		if s.five == 4 {
			return "four litres"
		}
		return ""
	}}
	found, err := model.Search(w, 100, jugs{})
	if err != nil || found.Wrong != "four litres" || len(found.Trace) != 6 {
		t.Errorf("%+v, %v; want six steps", found, err)
	}
	s := jugs{}
	for _, step := range found.Trace {
		reached := false
		pour(s, func(by model.Step, next jugs) {
			if by == step && !reached {
				s, reached = next, true
			}
		})
		if !reached {
			t.Fatalf("%v is no step from %v", step, s)
		}
	}
	if s.five != 4 {
		t.Errorf("the trace leads to %v", s)
	}
}

func TestEveryStateIsVisitedOnce(t *testing.T) {
	visits := map[jugs]int{}
	w := model.World[jugs]{Steps: pour, Wrong: func(s jugs) string {
		visits[s]++
		return ""
	}}
	found, err := model.Search(w, 100, jugs{})
	// With one jug empty or full, the other may hold anything: 2*6 + 2*4 less the four
	// states that are counted twice.
	if err != nil || found.Wrong != "" || found.States != 16 || len(visits) != 16 {
		t.Errorf("%d states, %d visited, %q, %v; want 16", found.States, len(visits), found.Wrong, err)
	}
	for s, n := range visits {
		if n != 1 {
			t.Errorf("%v was looked at %d times", s, n)
		}
	}
}

func TestTooManyStatesAreAnError(t *testing.T) {
	w := model.World[int64]{
		Steps: func(n int64, to func(model.Step, int64)) { to(model.Step{Text: "on"}, n+1) },
		Wrong: func(int64) string { return "" },
	}
	if found, err := model.Search(w, 1000, 0); err == nil || found.States > 1001 {
		t.Errorf("%d states, %v", found.States, err)
	}
	if text := fmt.Sprint(model.Step{Text: "%a to %b", A: 1, B: 2}); text != "1 to 2" {
		t.Error(text)
	}
}
