package quorum_test

import (
	"strings"
	"testing"
)

// usualHistories is how many each test plays when nothing else is asked for, as with the
// race detector: `make simulate` is for many.
const usualHistories = 100

// play runs one history and reports what is wrong with it.
func play(t *testing.T, p plan) []event {
	t.Helper()
	events, complaints := runHistory(t, p)
	if len(complaints) > 0 {
		t.Errorf("history %d; replay it with: GOMAXPROCS=1 go test ./quorum -run '^%s$' -quorum.seed=%d\n%s\n%s",
			p.seed, t.Name(), p.seed, strings.Join(complaints, "\n"), trace(p, events))
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
// has fewer grants, or numbers, than least on average shows nothing, nor one without
// extensions.
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
	done, grants, extensions, numbers, failures := 0, 0, 0, 0, 0
	for seed := from; seed < from+uint64(histories); seed++ {
		p := planFor(seed)
		change(&p)
		for _, e := range play(t, p) {
			switch {
			case e.err != nil:
				failures++
			case e.op == "acquire" && e.reply == 1:
				grants++
			case e.op == "extend" && e.reply == 1:
				extensions++
			case e.op == "increment":
				numbers++
			}
		}
		done++
		if t.Failed() {
			break
		}
	}
	t.Logf("%d histories: %d grants, %d extensions, %d numbers, %d operations without a quorum", done, grants, extensions, numbers, failures)
	if !t.Failed() && (grants < least*done || extensions < done || numbers < least*done) {
		t.Error("hardly anything was granted: this shows nothing")
	}
}

// A seed says what happens, to the nanosecond: what goes wrong and when, every delay,
// and what each client wants; and no two things happen at the same time whose order
// would matter. One replay in a thousand finds a goroutine that was interrupted between
// two of them, and is another history; the next is the same again.
func TestSimulationRepeats(t *testing.T) {
	seeds := max(uint64(*historiesFlag), 20)
	for _, change := range []func(*plan){func(*plan) {}, (*plan).forget} {
		for seed := *fromFlag; seed < *fromFlag+seeds; seed++ {
			p := planFor(seed)
			change(&p)
			seen := map[string]bool{}
			for len(seen) < 3 {
				events, _ := runHistory(t, p)
				story := trace(p, events)
				if seen[story] {
					break
				}
				seen[story] = true
			}
			if len(seen) > 1 {
				t.Logf("seed %d, forgetting %t: a replay was another history", seed, p.forgets)
			}
			if len(seen) == 3 {
				t.Errorf("seed %d, forgetting %t: three plays are three histories", seed, p.forgets)
			}
		}
	}
}
