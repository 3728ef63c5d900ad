package quorum_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"redlockproxy/quorum/quorumtest"
)

// interval is one operation of a counter: what it said, and when it ran.
type interval struct {
	number    int64
	call, end time.Time
}

// checkRising complains if a number is there twice, or not above all that had been
// returned before its call.
func checkRising(t testing.TB, all []interval) {
	t.Helper()
	slices.SortFunc(all, func(a, b interval) int { return a.call.Compare(b.call) })
	seen := map[int64]bool{}
	for i, a := range all {
		if seen[a.number] {
			t.Errorf("%d was returned twice", a.number)
		}
		seen[a.number] = true
		for _, b := range all[:i] {
			if b.end.Before(a.call) && b.number >= a.number {
				t.Errorf("%d was returned after %d", a.number, b.number)
			}
		}
	}
}

// Several groups, whose calls meet in another order at every backend, two of which
// are out of order in turns.
func TestCounterNumbersAreUniqueAndRise(t *testing.T) {
	virtual(t, func(t *testing.T, r *rig) {
		var mu sync.Mutex
		var all []interval
		var wg sync.WaitGroup
		failures := 0
		for c := range 9 {
			g := r.shuffled(c)
			wg.Go(func() {
				for range 40 {
					began := time.Now()
					count, err := g.Increment(context.Background(), "f", 1)
					mu.Lock()
					if err == nil {
						all = append(all, interval{count.Number, began, time.Now()})
					} else {
						expectUnavailable(t, "increment", err)
						failures++
					}
					mu.Unlock()
					time.Sleep(time.Duration(c) * ms)
				}
			})
		}
		modes := []quorumtest.Mode{quorumtest.Down, quorumtest.Frozen, quorumtest.LostReply, quorumtest.Silent}
		for i := range 40 {
			a, b := i%5+1, (i*2+3)%5+1
			r.set(modes[i%4], a)
			r.set(modes[i/4%4], b)
			time.Sleep(17 * ms)
			r.set(quorumtest.Up, a, b)
		}
		wg.Wait()
		checkRising(t, all)
		if len(all) < 100 {
			t.Errorf("only %d numbers, %d failures: nothing is shown", len(all), failures)
		}
	})
}

// Clients of one group meet in one order everywhere: every number takes one round.
func TestConcurrentIncrementsOfOneGroupAgreeAtOnce(t *testing.T) {
	virtual(t, func(t *testing.T, r *rig) {
		g := r.hesitant()
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() {
				c, err := g.Increment(context.Background(), "f", 1)
				if err != nil || c.Rounds != 1 {
					t.Errorf("%d in %d rounds, error %v", c.Number, c.Rounds, err)
				}
			})
		}
		wg.Wait()
		r.rest()
		r.expectAll("f", "100")
	})
}
