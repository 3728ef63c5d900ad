package quorum_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"redlockproxy/quorum"
	"redlockproxy/quorum/quorumtest"
)

// What a minority holds is not what the group holds.
func TestMinorityLeftoversAreNoLock(t *testing.T) {
	for _, held := range [][]string{
		{"x" + tag, "", "", "", ""},
		{"x" + tag, "x" + tag, "", "", ""},
		{"x" + tag, "x" + tag, "y" + tag, "y" + tag, ""},
		{"x" + tag, "x" + tag, "x~rl:BBBBBBBBBBBBBBBB", "x~rl:CCCCCCCCCCCCCCCC", ""}, // one value, three attempts
		{"a" + tag, "b" + tag, "c" + tag, "d" + tag, "e" + tag},
	} {
		virtual(t, func(t *testing.T, r *rig) {
			r.plantEach("L", held)
			h, err := get(r.Group, "L", true)
			if err != nil || h.Kind != quorum.Nothing {
				t.Errorf("%q is read as %+v, error %v", held, h, err)
			}
		})
	}
}

// Two that don't answer could make two of a kind a majority.
func TestLeftoversThatCouldBeAMajorityAreUnavailable(t *testing.T) {
	virtual(t, func(t *testing.T, r *rig) {
		r.plant("L", "x"+tag, 0, 1, 2)
		r.set(quorumtest.Down, 4, 5)
		_, err := get(r.Group, "L", true)
		expectUnavailable(t, "two of a kind and two down", err)
		r.set(quorumtest.Up, 4)
		if h, err := get(r.Group, "L", true); err == nil {
			t.Errorf("two of a kind, two without and one down: %+v", h)
		}
		r.set(quorumtest.Up, 5)
		if h, err := get(r.Group, "L", true); err != nil || h.Kind != quorum.Nothing {
			t.Errorf("all up: %+v, error %v", h, err)
		}
	})
}

// As long as three of five hold it, a majority does, and no longer.
func TestRemainingTimeIsTheQuorums(t *testing.T) {
	for _, c := range []struct {
		left []time.Duration
		want time.Duration
	}{
		{[]time.Duration{9000 * ms, 5000 * ms, 1000 * ms}, 988 * ms},
		{[]time.Duration{1000 * ms, 9000 * ms, 5000 * ms}, 988 * ms},
		{[]time.Duration{9000 * ms, 9000 * ms, 9000 * ms}, 8909 * ms},
		{[]time.Duration{0, 0, 0}, quorum.NoTTL},
		{[]time.Duration{0, 0, 1000 * ms}, 988 * ms},
		{[]time.Duration{9000 * ms, 8000 * ms, 1012 * ms}, 1000 * ms},
		{[]time.Duration{9000 * ms, 8000 * ms, 2 * ms}, 0},
	} {
		virtual(t, func(t *testing.T, r *rig) {
			for i, left := range c.left {
				r.plant("L", "a"+tag, left, i+1)
				r.fakes[i].SetDelay(0, oneWay)
			}
			if h, err := get(r.Group, "L", true); err != nil || h.Value() != "a" || h.TTL != c.want {
				t.Errorf("%v left: %v, error %v; want %v", c.left, h.TTL, err, c.want)
			}
		})
	}
}

// The client may rely on what it is told, although the backends run 1 % fast.
func TestRemainingTimeIsNoLongerThanTheKey(t *testing.T) {
	for _, ttl := range []time.Duration{50 * ms, 1000 * ms, 60 * time.Second} {
		virtual(t, func(t *testing.T, r *rig) {
			for _, f := range r.fakes {
				f.SetClockRate(1.01)
			}
			r.acquire("L", "a", ttl)
			time.Sleep(ttl / 3)
			asked := time.Now()
			h, err := get(r.Group, "L", true)
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(h.TTL - time.Since(asked) - 1)
			r.expectAll("L", "a")
		})
	}
}

func TestManyKeysAreReadInOneRound(t *testing.T) {
	virtual(t, func(t *testing.T, r *rig) {
		r.plant("a", "x"+tag, 0, 1, 2, 3, 4, 5)
		r.plant("b", "y"+tag, 0, 1, 2)
		r.plantEach("f", []string{"3", "4", "5", "4", "3"})
		held, err := r.Read(context.Background(), []quorum.Key{"a", "b", "none", "f", "a"}, true)
		if err != nil || len(held) != 5 {
			t.Fatalf("%d, error %v", len(held), err)
		}
		var got []string
		for _, h := range held {
			got = append(got, h.Value())
		}
		if want := []string{"x", "", "", "5", "x"}; !slices.Equal(got, want) {
			t.Errorf("read %q, want %q", got, want)
		}
		if with := r.atLeast("f", 5); with < 3 {
			t.Errorf("5 is on %d backends", with)
		}
		held, err = r.Read(context.Background(), nil, true)
		if err != nil || len(held) != 0 {
			t.Errorf("no keys: %d, error %v", len(held), err)
		}
	})
}
