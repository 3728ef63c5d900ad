package quorum_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// usualHistories is how many each test plays when nothing else is asked for.
const usualHistories = 150

// replays is how often a history that went wrong is played again, to tell how surely
// its seed does.
const replays = 5

// play runs one history and reports what is wrong with it.
func play(t *testing.T, p plan) []event {
	t.Helper()
	events, complaints := runHistory(t, p)
	if len(complaints) > 0 {
		again := 0
		for range replays {
			if _, same := runHistory(t, p); len(same) > 0 {
				again++
			}
		}
		story := trace(p, events)
		if lines := strings.SplitAfter(story, "\n"); len(lines) > 600 {
			story = strings.Join(lines[:600], "")
		}
		t.Errorf("history %d; replay it with -run '^%s$' -quorum.seed=%d (it went wrong in %d of %d replays)\n%s\n%s",
			p.seed, t.Name(), p.seed, again, replays, strings.Join(complaints, "\n"), story)
	}
	return events
}

// Clients with values of their own and in common, in one to three groups with ways of
// their own to the same backends, which fail in every way but forgetting.
func TestSimulation(t *testing.T) {
	simulate(t, 10, func(p *plan) {})
}

// I9: two groups that know nothing of each other, as two processes do.
func TestSimulationTwoGroups(t *testing.T) {
	simulate(t, 10, func(p *plan) { p.groups = 2 })
}

// simulate plays the usual number of histories, or as many as the flags say. One that
// has fewer grants, or numbers, than least on average shows nothing.
func simulate(t *testing.T, least int, change func(p *plan)) {
	histories := usualHistories
	if *historiesFlag > 0 {
		histories = *historiesFlag
	} else if testing.Short() {
		histories /= 10
	}
	from := *fromFlag
	if *seedFlag != 0 {
		from, histories = *seedFlag, 1
	}
	done, grants, numbers, failures := 0, 0, 0, 0
	for seed := from; seed < from+uint64(histories); seed++ {
		p := planFor(seed)
		change(&p)
		for _, e := range play(t, p) {
			switch {
			case e.err != nil:
				failures++
			case e.op == "acquire" && e.reply == 1:
				grants++
			case e.op == "increment":
				numbers++
			}
		}
		done++
		if t.Failed() {
			break
		}
	}
	t.Logf("%d histories: %d grants, %d numbers, %d operations without a quorum", done, grants, numbers, failures)
	if !t.Failed() && (grants < least*done || numbers < least*done) {
		t.Error("hardly anything was granted: this shows nothing")
	}
}

// What a seed repeats: what goes wrong and when, every delay, and what each client wants
// and when it asks. What it does not: the order of goroutines that are due at the very
// same nanosecond, and in which order a refill asks its sources. Some of the histories
// therefore differ in the end, so a history that went wrong is played again at once,
// and its report says how often it went wrong again.
func TestSimulationRepeats(t *testing.T) {
	same := 0
	const tries = 10
	for seed := range uint64(tries) {
		p := planFor(seed + 1)
		first, _ := runHistory(t, p)
		second, _ := runHistory(t, p)
		text := func(all []event) (lines []string) {
			for _, e := range all {
				lines = append(lines, fmt.Sprint(e))
			}
			slices.Sort(lines)
			return lines
		}
		if slices.Equal(text(first), text(second)) {
			same++
		}
	}
	if same == 0 {
		t.Error("not one history was the same when it was repeated")
	}
	t.Logf("%d of %d histories were the same to the nanosecond when repeated", same, tries)
}
