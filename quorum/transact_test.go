package quorum_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"redlockproxy/quorum"
	"redlockproxy/quorum/quorumtest"
)

// An extension never makes a key, whether it is gone or somebody else's.
func TestExtensionRevivesNothing(t *testing.T) {
	virtual(t, func(t *testing.T, r *rig) {
		r.acquire("L", "a", 300*ms)
		time.Sleep(400 * ms)
		reply, err := extend(r.Group, "L", "a", 30*time.Second)
		expectReply(t, "extension of an expired lock", reply, err, 0)
		r.rest()
		r.expectAll("L", "")
		r.plant("L", "b"+tag, 0, 3, 4, 5)
		r.plant("L", "a"+tag, time.Second, 1, 2)
		reply, err = extend(r.Group, "L", "a", 30*time.Second)
		expectReply(t, "extension of another's lock", reply, err, 0)
		r.rest()
		r.expect("L", "a", "a", "b", "b", "b")
	})
}

// An extension that failed half way must not cost its owner the lock.
func TestFailedExtensionKeepsTheLock(t *testing.T) {
	virtual(t, func(t *testing.T, r *rig) {
		r.acquire("L", "a", 3*time.Second)
		r.set(quorumtest.Down, 2)
		reply, err := extend(r.Group, "L", "a", 3*time.Second)
		expectReply(t, "with one down", reply, err, 1)
		r.set(quorumtest.Down, 3, 4)
		_, err = extend(r.Group, "L", "a", 3*time.Second)
		expectUnavailable(t, "with three down", err)
		r.heal()
		r.expectAll("L", "a")
		time.Sleep(time.Second)
		reply, err = extend(r.Group, "L", "a", 3*time.Second)
		expectReply(t, "healed", reply, err, 1)
	})
}

// A missing key counts against a release only where it makes a majority.
func TestReleaseCountsWhereTheTokenStillIs(t *testing.T) {
	for lost := range 6 {
		virtual(t, func(t *testing.T, r *rig) {
			r.acquire("L", "a", 30*time.Second)
			r.rest()
			for _, f := range r.fakes[:lost] {
				f.Remove("L")
			}
			want := 1
			if lost > 2 {
				want = 0
			}
			reply, err := release(r.Group, "L", "a")
			expectReply(t, fmt.Sprint("lost on ", lost), reply, err, want)
			r.rest()
			r.expectAll("L", "")
		})
	}
}

// Was not yours any more is an answer, not an error, and quick.
func TestReleaseAfterExpiryIsNought(t *testing.T) {
	virtual(t, func(t *testing.T, r *rig) {
		r.acquire("L", "a", 200*ms)
		time.Sleep(300 * ms)
		for i := range 3 {
			d := took(func() {
				reply, err := release(r.Group, "L", "a")
				expectReply(t, fmt.Sprint("release ", i), reply, err, 0)
			})
			if d > 4*oneWay {
				t.Errorf("release %d took %v", i, d)
			}
			r.set(quorumtest.Frozen, 5) // four that say no are enough
		}
	})
}

// A lock does not depend on any one backend.
func TestHeldLockOutlivesABackend(t *testing.T) {
	virtual(t, func(t *testing.T, r *rig) {
		r.acquire("L", "a", 10*time.Second)
		r.rest()
		r.set(quorumtest.Down, 1)
		h, err := get(r.Group, "L", true)
		if err != nil || h.Value() != "a" || h.TTL < 9*time.Second || h.TTL > 10*time.Second {
			t.Errorf("read %q for %v, error %v", h.Value(), h.TTL, err)
		}
		reply, err := extend(r.Group, "L", "a", 5*time.Second)
		expectReply(t, "extend", reply, err, 1)
		reply, err = release(r.Group, "L", "a")
		expectReply(t, "release", reply, err, 1)
	})
}

// A lock that is taken by a script, on two keys: both or none.
func TestCreatedKeysOfALostProgramAreUndone(t *testing.T) {
	take := func(v *quorum.View) (bool, error) {
		for _, k := range []quorum.Key{"K1", "K2"} {
			if ok, err := v.Exists(k); err != nil || ok {
				return false, err
			}
		}
		v.Put("K1", "a", time.Minute)
		v.Put("K2", "a", time.Minute)
		return true, nil
	}
	for _, c := range []struct {
		plant, down []int
		won         bool
		unavailable bool
	}{
		{nil, nil, true, false},
		{[]int{1, 2}, nil, true, false},
		{[]int{1, 2, 3}, nil, false, false},
		{nil, []int{1, 2, 3}, false, true},
		{[]int{1}, []int{2, 3}, false, true},
	} {
		virtual(t, func(t *testing.T, r *rig) {
			r.plant("K2", "x"+tag, 0, c.plant...)
			r.set(quorumtest.LostReply, c.down...)
			won := false
			tx, err := r.Transact(context.Background(), quorum.Assumption{Kind: quorum.AssumeAbsent}, func(v *quorum.View) (err error) {
				won, err = take(v)
				return err
			})
			if c.unavailable {
				expectUnavailable(t, "take", err)
			} else if err != nil || won != c.won || won != (len(tx.Locks) == 2) {
				t.Errorf("planted on %v: won %v with %d locks, error %v; want %v", c.plant, won, len(tx.Locks), err, c.won)
			}
			for _, l := range tx.Locks {
				r.Undo(l)
			}
			r.rest()
			r.heal()
			r.expectAll("K1", "")
		})
	}
}

// A lock and its number in one step, and a second of each never alike.
func TestProgramMintsANumberWithItsLock(t *testing.T) {
	virtual(t, func(t *testing.T, r *rig) {
		r.plantEach("f", []string{"5", "6", "7", "7", "5"})
		last := int64(0)
		for range 5 {
			n := int64(0)
			_, err := r.Transact(context.Background(), quorum.Assumption{Kind: quorum.AssumeAbsent}, func(v *quorum.View) error {
				if _, err := v.Exists("L"); err != nil {
					return err
				}
				v.Put("L", "a", time.Minute)
				var err error
				n, err = v.Increment("f", 1)
				return err
			})
			if err != nil || n <= last {
				t.Errorf("number %d after %d, error %v", n, last, err)
			}
			last = n
			r.rest()
			if with := r.atLeast("f", n); with < 3 {
				t.Errorf("%d is on %d backends", n, with)
			}
			if reply, err := release(r.Group, "L", "a"); err != nil || reply != 1 {
				t.Errorf("release: %d, %v", reply, err)
			}
		}
	})
}

// What a program stored for a time that is over before the votes are in, is no success.
func TestProgramsThatComeTooLateAreUndone(t *testing.T) {
	virtual(t, func(t *testing.T, r *rig) {
		g := r.group(2, func(cfg *quorum.Config) { cfg.PadTTL = false })
		for _, f := range r.fakes {
			f.SetDelay(0, 49*ms)
		}
		tx, err := g.Transact(context.Background(), quorum.Assumption{Kind: quorum.AssumeAbsent}, func(v *quorum.View) error {
			if ok, err := v.Exists("L"); ok || err != nil {
				return err
			}
			v.Put("L", "a", 50*ms)
			return nil
		})
		if err == nil && tx.Wrote {
			t.Errorf("wrote with a validity of %v", tx.Validity)
		}
		time.Sleep(time.Second)
		r.expectAll("L", "")
	})
}
