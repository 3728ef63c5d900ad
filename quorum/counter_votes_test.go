package quorum_test

import (
	"context"
	"math"
	"testing"
	"time"

	"redlockproxy/quorum"
	"redlockproxy/quorum/quorumtest"
)

// A majority of numbers is enough, however its votes are mixed: refusals and grants
// together are three of five, and the third may still be on its way when two failures
// make it certain that neither alone will be.
func TestCounterNeedsNoMoreThanAMajorityThatAnswers(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(r *rig) (int64, error)
		want int64
	}{
		{"read", func(r *rig) (int64, error) {
			h, err := get(r.Group, "f", false)
			return number(r.t, h), err
		}, 7},
		{"increment", func(r *rig) (int64, error) {
			c, err := r.Increment(context.Background(), "f", 1)
			return c.Number, err
		}, 8},
		{"increment met by another", func(r *rig) (int64, error) {
			time.AfterFunc(2*oneWay+oneWay/2, func() { r.plant("f", "20", 0, 2) })
			c, err := r.Increment(context.Background(), "f", 1)
			return c.Number, err
		}, 21},
		{"increment of a number that somebody stored", func(r *rig) (int64, error) {
			r.plant("f", "7"+tag, 0, 1)
			c, err := r.Increment(context.Background(), "f", 1)
			return c.Number, err
		}, 8},
	} {
		t.Run(c.name, func(t *testing.T) {
			virtual(t, func(t *testing.T, r *rig) {
				r.plant("f", "7", 0, 1)
				r.plant("f", "6", 0, 2)
				r.plant("f", "5", 0, 3)
				r.set(quorumtest.Down, 4, 5)
				r.fakes[2].SetDelay(oneWay, 2*oneWay)
				n, err := c.do(r)
				if err != nil || n != c.want {
					t.Errorf("%d, error %v; want %d", n, err, c.want)
				}
				if with := r.atLeast("f", c.want); err == nil && with != 3 {
					t.Errorf("%d backends have it: %q", with, r.values("f"))
				}
			})
		})
	}
}

// number is the counter that was read.
func number(t testing.TB, h quorum.Holding) int64 {
	t.Helper()
	n, ok := quorum.ParseNumber(h.Value())
	if h.Kind != quorum.Nothing && !ok {
		t.Errorf("no number: %+v", h)
	}
	return n
}

// Three that can't answer are an outage, at once and not after their time.
func TestCounterWithoutAMajorityIsUnavailableAtOnce(t *testing.T) {
	virtual(t, func(t *testing.T, r *rig) {
		r.set(quorumtest.Down, 1, 2, 3)
		r.set(quorumtest.Frozen, 4)
		d := took(func() {
			_, err := r.Increment(context.Background(), "f", 1)
			expectUnavailable(t, "increment", err)
			_, err = get(r.Group, "f", true)
			expectUnavailable(t, "read", err)
		})
		if d != 0 {
			t.Errorf("answered after %v", d)
		}
	})
}

// A minority that is behind and holds a number does not make a counter of what a
// majority knows to be none.
func TestOverflowIsWhatAMajorityHolds(t *testing.T) {
	for _, behind := range [][]int{{1, 2}, {4, 5}} {
		virtual(t, func(t *testing.T, r *rig) {
			r.plant("f", "no number", 0, 1, 2, 3, 4, 5)
			r.plant("f", "1"+tag, 0, behind...)
			for _, i := range behind {
				r.fakes[i-1].SetDelay(oneWay/2, oneWay/2)
			}
			if _, err := r.Increment(context.Background(), "f", math.MaxInt64); err != quorum.ErrNotInteger {
				t.Errorf("%v behind: %v", behind, err)
			}
		})
	}
}
