package quorum_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"redlockproxy/quorum"
	"redlockproxy/quorum/quorumtest"
)

var (
	allUp = [5]string{"granted", "granted", "granted", "granted", "granted"}
)

// maskRun is one operation under one mask: five fakes of its own, in the virtual
// time of a bubble that it shares with many others.
type maskRun struct {
	*rig
	mask mask
}

// overMasks runs a test for every mask, each over fresh fakes that prepare has seen.
func overMasks(t *testing.T, prepare func(r *rig), test func(r *maskRun)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		everyMask(func(m mask) {
			if t.Failed() {
				return // one mask says enough
			}
			// One attempt: what is shown here is a single round. Another file has the
			// retries.
			once := func(cfg *quorum.Config) { cfg.Attempts = 1 }
			r := &maskRun{rig: newRig(t, 5, once), mask: m}
			defer r.Close()
			prepare(r.rig)
			for i, f := range r.fakes {
				f.SetMode(m[i])
			}
			test(r)
			if t.Failed() {
				t.Logf("the mask was %v (0 up, 1 frozen, 3 down, 4 silent, 6 lost reply)", m)
			}
		})
	})
}

// outcome compares a reply, and the time it took, with what the oracle says.
func (r *maskRun) outcome(got string, took time.Duration, want string, after time.Duration) {
	r.t.Helper()
	if got != want || took != after {
		r.t.Errorf("%q after %v, want %q after %v", got, took, want, after)
	}
}

// named is the outcome that an operation's reply stands for.
func named(won bool, err error) string {
	unavailable := new(quorum.UnavailableError)
	switch {
	case errors.As(err, &unavailable):
		return "unavailable"
	case err != nil:
		return err.Error()
	case won:
		return "won"
	}
	return "lost"
}

// expectIf checks that exactly the backends in some modes hold the value.
func (r *maskRun) expectIf(key quorum.Key, value string, modes ...quorumtest.Mode) {
	r.t.Helper()
	want := make([]string, 5)
	for i, mode := range r.mask {
		for _, m := range modes {
			if mode == m {
				want[i] = value
			}
		}
	}
	r.expect(key, want...)
}

func TestAcquireUnderEveryMask(t *testing.T) {
	overMasks(t, func(*rig) {}, func(r *maskRun) {
		var a quorum.Acquisition
		var err error
		d := took(func() { a, err = r.Acquire(context.Background(), "L", "a", time.Minute) })
		want, after := byVotes.decide(r.mask, allUp)
		r.outcome(named(a.Won, err), d, want, after)
		r.rest()
		if want != "won" {
			r.expectAll("L", "") // at once wherever it can be known
			r.heal()
			r.expectAll("L", "")
			return
		}
		r.expectIf("L", "a", quorumtest.Up, quorumtest.LostReply)
		r.heal()
		r.expectIf("L", "a", quorumtest.Up, quorumtest.LostReply, quorumtest.Frozen)
	})
}

func TestAcquireOfATakenKeyUnderEveryMask(t *testing.T) {
	own := [5]string{"refused", "refused", "refused", "refused", "refused"}
	overMasks(t, func(r *rig) { r.plant("L", "x"+tag, 0, 1, 2, 3, 4, 5) }, func(r *maskRun) {
		var a quorum.Acquisition
		var err error
		d := took(func() { a, err = r.Acquire(context.Background(), "L", "a", time.Minute) })
		want, after := byVotes.decide(r.mask, own)
		r.outcome(named(a.Won, err), d, want, after)
		r.heal()
		r.expectAll("L", "x")
	})
}

// A release that is won is a release everywhere, and one whose fate is unknown is
// finished as soon as a backend has said what it was that went.
func TestReleaseUnderEveryMask(t *testing.T) {
	overMasks(t, func(r *rig) { r.plant("L", "a"+tag, 0, 1, 2, 3, 4, 5) }, func(r *maskRun) {
		var reply int
		var err error
		d := took(func() { reply, err = release(r.Group, "L", "a") })
		want, after := byVotes.decide(r.mask, allUp)
		r.outcome(named(reply == 1, err), d, want, after)
		r.rest()
		r.expectIf("L", "a", quorumtest.Frozen, quorumtest.Down, quorumtest.Silent)
		r.heal()
		switch {
		case r.mask.count(quorumtest.Up) > 0:
			r.expectAll("L", "")
		case r.mask.count(quorumtest.Frozen) == 0: // nobody said what was removed: nothing is owed
			r.expectIf("L", "a", quorumtest.Down, quorumtest.Silent)
		}
	})
}

func TestIncrementUnderEveryMask(t *testing.T) {
	overMasks(t, func(*rig) {}, func(r *maskRun) {
		var c quorum.Count
		var err error
		d := took(func() { c, err = r.Increment(context.Background(), "f", 1) })
		want, after := byVotes.decide(r.mask, allUp)
		r.outcome(named(err == nil, err), d, want, after)
		if err == nil && (c.Number != 1 || c.Rounds != 1) {
			r.t.Errorf("number %d in %d rounds, want 1 in 1", c.Number, c.Rounds)
		}
		r.rest()
		r.heal()
		r.expectIf("f", "1", quorumtest.Up, quorumtest.LostReply, quorumtest.Frozen)
	})
}

// The backends have different numbers: whoever is up and highest gives the answer,
// in a second round, and a majority has it then.
func TestIncrementOfAnUnevenCounterUnderEveryMask(t *testing.T) {
	had := [5]int{5, 6, 7, 6, 5}
	plant := func(r *rig) {
		for i, n := range had {
			r.plant("f", quorum.Stored(fmt.Sprint(n)), 0, i+1)
		}
	}
	overMasks(t, plant, func(r *maskRun) {
		highest, up := 0, 0
		for i, mode := range r.mask {
			if mode == quorumtest.Up {
				highest, up = max(highest, had[i]+1), up+1
			}
		}
		var c quorum.Count
		var err error
		d := took(func() { c, err = r.Increment(context.Background(), "f", 1) })
		if up < 3 {
			_, after := byVotes.decide(r.mask, allUp)
			r.outcome(named(err == nil, err), d, "unavailable", after)
			return
		}
		after := 4 * oneWay
		if d > after { // frozen and silent ones could have made three of a kind
			after = settings(0).VoteLimit + 2*oneWay
		}
		r.outcome(fmt.Sprint(c.Number, err), d, fmt.Sprint(highest, nil), after)
		if with := r.atLeast("f", int64(highest)); with < 3 {
			r.t.Errorf("%d backends have the number that was returned: %q", with, r.values("f"))
		}
		r.heal()
	})
}

// atLeast counts the fakes whose counter has come to n.
func (r *rig) atLeast(key quorum.Key, n int64) int {
	with := 0
	for _, v := range r.values(key) {
		var have int64
		if _, err := fmt.Sscan(v, &have); err == nil && have >= n {
			with++
		}
	}
	return with
}

func TestReadUnderEveryMask(t *testing.T) {
	for _, had := range [][5]string{
		{"x", "x", "x", "x", "x"}, {"x", "x", "y", "x", ""}, {"x", "y", "", "y", "x"}, {"", "", "", "x", ""},
	} {
		plant := func(r *rig) {
			for i, v := range had {
				if v != "" {
					r.plant("L", quorum.Stored(v+tag), 0, i+1)
				}
			}
		}
		overMasks(t, plant, func(r *maskRun) {
			var h quorum.Holding
			var err error
			d := took(func() { h, err = get(r.Group, "L", true) })
			got := "holds " + h.Value()
			if err != nil {
				got = named(false, err)
			}
			want, after := byValues.decide(r.mask, had)
			r.outcome(got, d, want, after)
			r.rest()
			r.heal()
			r.expect("L", had[:]...)
		})
	}
}
