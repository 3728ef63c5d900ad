package quorum_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"redlockproxy/quorum"
	"redlockproxy/quorum/quorumtest"
)

func TestGroupSizesThatCannotDecideAreRefused(t *testing.T) {
	for n := range 10 {
		_, err := quorum.NewGroup(make([]quorum.Backend, n), settings(1))
		if want := n == 1 || n == 3 || n == 5 || n == 7; (err == nil) != want {
			t.Errorf("%d backends: error %v", n, err)
		}
	}
	for i, change := range []func(*quorum.Config){
		func(c *quorum.Config) { c.VoteLimit = 0 },
		func(c *quorum.Config) { c.AnswerWithin = 0 },
		func(c *quorum.Config) { c.MaxTTL = 0 },
		func(c *quorum.Config) { c.Attempts = 0 },
		func(c *quorum.Config) { c.Random = nil },
	} {
		cfg := settings(1)
		change(&cfg)
		if _, err := quorum.NewGroup(make([]quorum.Backend, 3), cfg); err == nil {
			t.Errorf("configuration %d was accepted", i)
		}
	}
}

// Two of five are no majority, however many of the others can be reached, be it
// from the start or later; and the answer to it is never a refusal.
func TestQuorumIsOfAllConfiguredBackends(t *testing.T) {
	virtual(t, func(t *testing.T, r *rig) {
		for dead := 1; dead <= 5; dead++ {
			r.set(quorumtest.Down, dead)
			key := quorum.Key(fmt.Sprint("L", dead))
			a, err := r.Acquire(context.Background(), key, "a", 5*time.Second)
			if dead <= 2 {
				if err != nil || !a.Won {
					t.Errorf("%d dead: won %v, error %v", dead, a.Won, err)
				}
				continue
			}
			_, released := release(r.Group, "L1", "a")
			_, extended := extend(r.Group, "L1", "a", time.Second)
			_, counted := r.Increment(context.Background(), "f", 1)
			_, read := get(r.Group, "L1", true)
			_, removed := r.Remove(context.Background(), []quorum.Key{"L1"})
			for i, err := range []error{err, released, extended, counted, read, removed} {
				expectUnavailable(t, fmt.Sprintf("%d dead: operation %d", dead, i), err)
			}
		}
		r.heal()
		for dead := 3; dead <= 5; dead++ {
			r.expectAll(quorum.Key(fmt.Sprint("L", dead)), "")
		}
	})
}

// The backend runs what it was sent after the answer was given; the undo comes
// behind it. The group's own lane, and one that loses the connection in between.
func TestLostRoundLeavesNothing(t *testing.T) {
	for i := range 100 {
		virtual(t, func(t *testing.T, r *rig) {
			r.plant("L", "x"+tag, 0, 1, 2, 4)
			mode := []quorumtest.Mode{quorumtest.Frozen, quorumtest.Mute, quorumtest.LostReply, quorumtest.Stalled}[i%4]
			r.set(mode, 3)
			if a := r.refused("L", "a", 30*time.Second); a.Attempts != 1 {
				t.Errorf("%d attempts at a lock that one holder has", a.Attempts)
			}
			time.Sleep(time.Duration(i) * 5 * ms)
			if i%3 == 0 {
				r.fakes[2].Restart()
			}
			r.heal()
			r.expect("L", "x", "x", "", "x", "")
		})
	}
}

// The same token may be the same client again, or another one.
func TestSameValueIsNoReasonToGrantTwice(t *testing.T) {
	virtual(t, func(t *testing.T, r *rig) {
		r.acquire("L", "1", 10*time.Second)
		r.refused("L", "1", 10*time.Second)
		time.Sleep(time.Second)
		r.fakes[1].SetDelay(oneWay, 150*ms) // its vote comes too late
		r.set(quorumtest.LostReply, 3)      // and this one's never
		r.refused("L", "1", 10*time.Second)
		r.rest()
		r.heal()
		r.expectAll("L", "1")
	})
}

// The undo of the second attempt must not take the first one's lock, although both
// clients wrote the same value, wherever it was granted, refused or failed.
func TestUndoSparesAnEqualValue(t *testing.T) {
	virtual(t, func(t *testing.T, r *rig) {
		r.set(quorumtest.Down, 5)
		r.acquire("L", "1", 10*time.Second)
		r.heal()
		r.set(quorumtest.LostReply, 3, 4)
		a, err := r.Acquire(context.Background(), "L", "1", 10*time.Second)
		if a.Won {
			t.Errorf("won a lock that was taken, error %v", err)
		}
		r.heal()
		r.expect("L", "1", "1", "1", "1", "")
		_, err = r.Acquire(context.Background(), "L", "1", 10*time.Second)
		if err != nil {
			t.Error(err)
		}
		r.rest()
		r.expect("L", "1", "1", "1", "1", "")
	})
}

// The third vote decides; the fourth and the fifth are not waited for and not
// called back either.
func TestSlowMinorityCostsNoLatency(t *testing.T) {
	virtual(t, func(t *testing.T, r *rig) {
		for _, f := range r.fakes[3:] {
			f.SetDelay(90*ms, 0)
		}
		want := func(what string, d time.Duration) {
			t.Helper()
			if d != 2*oneWay {
				t.Errorf("%s took %v", what, d)
			}
		}
		want("acquire", took(func() { r.acquire("L", "a", 10*time.Second) }))
		want("extend", took(func() {
			reply, err := extend(r.Group, "L", "a", 20*time.Second)
			expectReply(t, "extend", reply, err, 1)
		}))
		want("increment", took(func() { r.increment(1, 1) }))
		want("read", took(func() {
			if _, err := get(r.Group, "L", true); err != nil {
				t.Error(err)
			}
		}))
		time.Sleep(200 * ms)
		r.expectAll("L", "a")
		r.expectAll("f", "1")
		want("release", took(func() {
			reply, err := release(r.Group, "L", "a")
			expectReply(t, "release", reply, err, 1)
		}))
		time.Sleep(200 * ms)
		r.expectAll("L", "")
	})
}

// A list of that name is somebody's. It is not ours to remove, and it is taken.
func TestOtherTypesAreTakenAndLeftAlone(t *testing.T) {
	virtual(t, func(t *testing.T, r *rig) {
		r.plantEach("L", []string{"(list)", "(list)", "(list)", "", ""})
		if a := r.refused("L", "a", 5*time.Second); a.Attempts != 1 {
			t.Errorf("%d attempts", a.Attempts)
		}
		reply, err := release(r.Group, "L", "a")
		expectReply(t, "release", reply, err, 0)
		if _, err := r.Increment(context.Background(), "L", 1); !errors.Is(err, quorum.ErrWrongType) {
			t.Errorf("increment: %v", err)
		}
		if h, err := get(r.Group, "L", true); err != nil || h.Kind != quorum.Other || h.Type != "list" {
			t.Errorf("read %+v, error %v", h, err)
		}
		r.rest()
		if got := r.values("L")[:3]; !slices.Equal(got, []string{"(list)", "(list)", "(list)"}) {
			t.Errorf("held is %q", got)
		}
	})
}

// A client that has gone gets nothing, and nothing stays for it.
func TestEndedContextUndoesTheAttempt(t *testing.T) {
	virtual(t, func(t *testing.T, r *rig) {
		ctx, cancel := context.WithCancel(context.Background())
		time.AfterFunc(oneWay+oneWay/2, cancel)
		a, err := r.Acquire(ctx, "L", "a", time.Minute)
		if a.Won || err == nil {
			t.Errorf("won %v, error %v", a.Won, err)
		}
		r.rest()
		r.expectAll("L", "")
		if a, err = r.Acquire(ctx, "L", "a", time.Minute); a.Won || err == nil {
			t.Errorf("won %v, error %v", a.Won, err)
		}
		r.rest()
		r.expectAll("L", "")
	})
}

// A lock that can't be handed over any more is taken back, stragglers included.
func TestUndoTakesBackAWonLock(t *testing.T) {
	virtual(t, func(t *testing.T, r *rig) {
		r.set(quorumtest.Frozen, 4)
		r.set(quorumtest.Down, 5)
		r.Undo(r.acquire("L", "a", time.Minute))
		r.rest()
		r.heal()
		r.expectAll("L", "")
	})
}

func TestNoTagNoAttempt(t *testing.T) {
	virtual(t, func(t *testing.T, r *rig) {
		g := r.group(1, func(cfg *quorum.Config) { cfg.Random = strings.NewReader("") })
		if _, err := g.Acquire(context.Background(), "L", "a", time.Minute); err == nil {
			t.Error("acquired without a tag")
		}
		if _, err := release(g, "L", "a"); err == nil {
			t.Error("released without a tag")
		}
		r.rest()
		for i, f := range r.fakes {
			if f.Counts() != (quorumtest.Counts{}) {
				t.Errorf("backend %d was asked: %+v", i+1, f.Counts())
			}
		}
	})
}

// I1, as seen from outside: every way of deciding, at the vote that decides.
func TestDecisionsComeWithTheDecidingVote(t *testing.T) {
	for _, n := range []int{1, 3, 5, 7} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			virtualOf(t, n, func(t *testing.T, r *rig) {
				for i, f := range r.fakes {
					f.SetDelay(oneWay, time.Duration(i+1)*10*ms)
				}
				q := quorum.Majority(n)
				want := time.Duration(q)*10*ms + oneWay
				if d := took(func() { r.acquire("L", "a", time.Minute) }); d != want {
					t.Errorf("won after %v, want %v", d, want)
				}
				time.Sleep(time.Second)
				if d := took(func() { r.refused("L", "b", time.Minute) }); d != want {
					t.Errorf("lost after %v, want %v", d, want)
				}
				r.rest()
				r.expectAll("L", "a")
			})
		})
	}
}
