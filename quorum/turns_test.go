package quorum_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"redlockproxy/quorum"
	"redlockproxy/quorum/quorumtest"
)

// count is a program that raises a counter by one and leaves it how long it lasts.
func count(g *quorum.Group, key quorum.Key) (number int64, err error) {
	_, err = g.Transact(context.Background(), quorum.Assumption{}, func(v *quorum.View) (err error) {
		number, err = v.Increment(key, 1)
		return err
	})
	return number, err
}

func TestBusyCounterIsRaisedByEveryProgram(t *testing.T) {
	const clients, each = 20, 5
	virtual(t, func(t *testing.T, r *rig) {
		var mu sync.Mutex
		var numbers []int64
		var all sync.WaitGroup
		for range clients {
			all.Go(func() {
				for range each {
					n, err := count(r.Group, "n")
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					numbers = append(numbers, n)
					mu.Unlock()
				}
			})
		}
		all.Wait()
		slices.Sort(numbers)
		for i, n := range numbers {
			if n != int64(i+1) {
				t.Fatalf("numbers %v", numbers)
			}
		}
		if len(numbers) != clients*each {
			t.Errorf("%d numbers", len(numbers))
		}
	})
}

// Programs on several keys each, in any order of their names: none waits for one that
// waits for it.
func TestTurnsAtSeveralKeysEnd(t *testing.T) {
	virtual(t, func(t *testing.T, r *rig) {
		var all sync.WaitGroup
		for i := range 12 {
			keys := []quorum.Key{"a", "b", "c"}
			slices.Reverse(keys[:i%4])
			all.Go(func() {
				_, err := r.Transact(context.Background(), quorum.Assumption{}, func(v *quorum.View) error {
					for _, k := range keys {
						if _, err := v.Increment(k, 1); err != nil {
							return err
						}
					}
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		r.rest()
		for _, k := range []quorum.Key{"a", "b", "c"} {
			if h, err := get(r.Group, k, true); err != nil || h.Value() != "12" {
				t.Errorf("%s is %q, error %v", k, h.Value(), err)
			}
		}
	})
}

// Whoever waits for a turn does so no longer than for an answer, and who has one gives
// it back in whatever way it ends.
func TestTurnsOutliveAnOutage(t *testing.T) {
	virtual(t, func(t *testing.T, r *rig) {
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				for range 2 {
					d := took(func() { _, _ = count(r.Group, "n") })
					if d > 200*ms {
						t.Errorf("answered after %v", d)
					}
				}
			})
		}
		time.Sleep(5 * oneWay) // they are in line by now
		r.set(quorumtest.Frozen, 1, 2, 3)
		all.Wait()
		r.heal()
		before, err := count(r.Group, "n")
		if err != nil {
			t.Fatal(err)
		}
		d := took(func() {
			if n, err := count(r.Group, "n"); err != nil || n != before+1 {
				t.Errorf("after %d came %d, error %v", before, n, err)
			}
		})
		if d != 4*oneWay {
			t.Errorf("with nobody else a read and a commit took %v", d)
		}
	})
}
