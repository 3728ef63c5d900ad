package quorum_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"redlockproxy/quorum"
	"redlockproxy/quorum/quorumtest"
)

func TestTakenIsAnsweredWithoutRetry(t *testing.T) {
	virtual(t, func(t *testing.T, r *rig) {
		r.plant("L", "x"+tag, 0, 1, 2, 3)
		d := took(func() {
			if a := r.refused("L", "a", time.Second); a.Attempts != 1 {
				t.Errorf("%d attempts", a.Attempts)
			}
		})
		if d != 2*oneWay {
			t.Errorf("answered after %v", d)
		}
		r.rest()
		r.expect("L", "x", "x", "x", "", "")
		for i, f := range r.fakes {
			if c, want := f.Counts().Debt, i/3; c != want {
				t.Errorf("backend %d got %d undos, want %d: never where it was refused", i+1, c, want)
			}
		}
	})
}

// Two holders on two backends each: nobody has it. When one of them goes, so does the
// split.
func TestSplitVoteIsTriedAgain(t *testing.T) {
	virtual(t, func(t *testing.T, r *rig) {
		r.plant("L", "x"+tag, 30*ms, 1, 2)
		r.plant("L", "y"+tag, 0, 3, 4)
		a, err := r.Acquire(context.Background(), "L", "a", time.Second)
		if err != nil || !a.Won || a.Attempts != 2 {
			t.Errorf("won %v in %d attempts, error %v; want the second", a.Won, a.Attempts, err)
		}
		r.rest()
		r.expect("L", "a", "a", "y", "y", "a")
	})
}

func TestRetriesAreBounded(t *testing.T) {
	for _, c := range []struct {
		ttl, delay time.Duration
		attempts   int // at most
	}{{time.Minute, 10 * ms, 3}, {time.Minute, 100 * ms, 2}, {50 * ms, 50 * ms, 1}, {100 * ms, 50 * ms, 2}} {
		t.Run(fmt.Sprint(c.ttl, c.delay), func(t *testing.T) {
			virtual(t, func(t *testing.T, r *rig) {
				g := r.group(2, func(cfg *quorum.Config) { cfg.RetryDelay, cfg.RetryJitter = c.delay, 10*ms })
				r.plant("L", "x"+tag, 0, 1, 2)
				r.plant("L", "y"+tag, 0, 3, 4)
				d := took(func() {
					a, err := g.Acquire(context.Background(), "L", "a", c.ttl)
					if err != nil || a.Won || a.Attempts > c.attempts {
						t.Errorf("won %v in %d attempts, error %v", a.Won, a.Attempts, err)
					}
				})
				if d > min(c.ttl, 200*ms) {
					t.Errorf("answered after %v", d)
				}
				r.rest()
				r.expect("L", "x", "x", "y", "y", "")
			})
		})
	}
}

// The last attempt runs into the end of the time for an answer: the key was found taken
// before, and all backends are well.
func TestContentionIsNeverCalledAnOutage(t *testing.T) {
	virtual(t, func(t *testing.T, r *rig) {
		g := r.group(2, func(cfg *quorum.Config) { cfg.RetryDelay, cfg.RetryJitter = 197*ms, 0 })
		r.plant("L", "x"+tag, 0, 1, 2)
		r.plant("L", "y"+tag, 0, 3, 4)
		a, err := g.Acquire(context.Background(), "L", "a", time.Minute)
		if err != nil || a.Won || a.Attempts != 2 {
			t.Errorf("won %v in %d attempts, error %v", a.Won, a.Attempts, err)
		}
		r.rest()
		r.expect("L", "x", "x", "y", "y", "")
	})
}

// One group: whatever the backends' delays, somebody wins every round.
func TestClientsOfOneGroupNeverSplitTheVotes(t *testing.T) {
	virtual(t, func(t *testing.T, r *rig) {
		for i, f := range r.fakes {
			f.SetDelay(time.Duration(5-i)*ms, time.Duration(i)*ms)
			f.SetJitter(3 * ms)
		}
		g := r.hesitant()
		for round := range 20 {
			winners, attempts := race(t, 100, func(int) *quorum.Group { return g }, quorum.Key(fmt.Sprint("L", round)))
			if len(winners) != 1 || attempts != 1 {
				t.Errorf("round %d: %d winners, up to %d attempts", round, len(winners), attempts)
			}
			r.rest()
			for _, v := range r.values(quorum.Key(fmt.Sprint("L", round))) {
				if len(winners) == 1 && v != winners[0] {
					t.Errorf("round %d: %q where %q won", round, v, winners[0])
				}
			}
		}
	})
}

// hesitant is a group that lets others go first between any two of its backends.
func (r *rig) hesitant() *quorum.Group {
	backends := make([]quorum.Backend, len(r.fakes))
	for i, f := range r.fakes {
		backends[i] = hesitant{f}
	}
	return newGroup(r.t, 9, backends)
}

type hesitant struct{ *quorumtest.Fake }

func (h hesitant) Send(call *quorum.Call) {
	runtime.Gosched()
	h.Fake.Send(call)
}

// race lets many clients want one key at once; it tells who won, and how many attempts
// anybody needed.
func race(t testing.TB, clients int, group func(client int) *quorum.Group, key quorum.Key) (winners []string, attempts int) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	for c := range clients {
		wg.Go(func() {
			name := fmt.Sprint("client ", c)
			a, err := group(c).Acquire(context.Background(), key, name, time.Minute)
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			mu.Lock()
			defer mu.Unlock()
			attempts = max(attempts, a.Attempts)
			if a.Won {
				winners = append(winners, name)
			}
		})
	}
	wg.Wait()
	return winners, attempts
}

// Three groups, each near to other backends: at most one winner, hardly ever none.
func TestGroupsThatSplitTheVotesTryAgain(t *testing.T) {
	virtual(t, func(t *testing.T, r *rig) {
		groups := make([]*quorum.Group, 3)
		for i := range groups {
			delays := []time.Duration{3 * ms, 3 * ms, 3 * ms, 3 * ms, 3 * ms}
			delays[i], delays[i+2] = 0, 0
			groups[i], _ = r.linked(uint64(i), ms, delays)
		}
		const rounds = 500
		none := 0
		for round := range rounds {
			winners, _ := race(t, 3, func(c int) *quorum.Group { return groups[c] }, quorum.Key(fmt.Sprint("L", round)))
			if len(winners) > 1 {
				t.Errorf("round %d: several winners: %v", round, winners)
			}
			if len(winners) == 0 {
				none++
			}
		}
		t.Logf("%d of %d rounds without a winner", none, rounds)
		if none > rounds/20 {
			t.Errorf("%d of %d rounds without a winner", none, rounds)
		}
	})
}
