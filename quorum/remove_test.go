package quorum_test

import (
	"context"
	"testing"
	"time"

	"redlockproxy/quorum"
	"redlockproxy/quorum/quorumtest"
)

// remove deletes keys of which so many must have been there.
func (r *rig) remove(want int, keys ...quorum.Key) {
	r.t.Helper()
	n, err := r.Remove(context.Background(), keys)
	if err != nil || n != want {
		r.t.Errorf("remove %v: %d, error %v; want %d", keys, n, err, want)
	}
}

func TestRemoveCountsWhatAMajorityHeld(t *testing.T) {
	virtual(t, func(t *testing.T, r *rig) {
		r.plant("all", "x"+tag, 0, 1, 2, 3, 4, 5)
		r.plant("most", "x"+tag, 0, 1, 2, 3)
		r.plant("few", "x"+tag, 0, 1, 2)
		r.plantEach("list", []string{"(list)", "(list)", "(list)", "(list)", "(list)"})
		r.plantEach("counter", []string{"5", "6", "7", "", ""})
		keys := []quorum.Key{"all", "most", "few", "none", "list", "counter"}
		r.remove(4, keys...)
		r.rest()
		for _, k := range keys {
			r.expectAll(k, "")
		}
		r.remove(0, keys...)
	})
}

// Two of five are not there; they lose the key when they are back.
func TestRemoveReachesABackendThatWasDown(t *testing.T) {
	for _, mode := range []quorumtest.Mode{quorumtest.Down, quorumtest.Silent, quorumtest.Frozen, quorumtest.Broken} {
		virtual(t, func(t *testing.T, r *rig) {
			r.acquire("L", "a", time.Minute)
			r.rest()
			r.set(mode, 1, 2)
			r.remove(1, "L")
			time.Sleep(time.Second)
			r.heal()
			r.expectAll("L", "")
		})
	}
}

// I5: the old owner's removals come late, each by another road; by then the key
// is the next owner's, with a value that is the same to the letter.
func TestLateRemovalSparesTheNextOwner(t *testing.T) {
	next := quorum.Stored("1~rl:BBBBBBBBBBBBBBBB")
	for _, c := range []struct {
		name   string
		remove func(r *rig, g *quorum.Group)
	}{
		{"the reading of a plain deletion", func(r *rig, g *quorum.Group) {
			if n, err := g.Remove(context.Background(), []quorum.Key{"L"}); err != nil || n != 1 {
				r.t.Errorf("removed %d, error %v", n, err)
			}
		}},
		{"an undo", func(r *rig, g *quorum.Group) {
			g.Undo(quorum.Lock{Key: "L", Stored: "1" + tag, TTL: time.Minute})
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			virtual(t, func(t *testing.T, r *rig) {
				r.plant("L", "1"+tag, 0, 1, 2, 3, 4, 5)
				slow, links := r.linked(2, 0, []time.Duration{0, 0, 0, 0, 0})
				links[4].Hold(time.Second)
				c.remove(r, slow)
				r.rest()
				r.expect("L", "", "", "", "", "1")
				r.fakes[4].Remove("L") // its time was over
				r.plant("L", next, 0, 3, 4, 5)
				time.Sleep(2 * time.Second)
				r.expect("L", "", "", "1", "1", "1")
			})
		})
	}
}

// The removal itself is late, behind a reading that was in time.
func TestLateGuardedRemovalSparesTheNextOwner(t *testing.T) {
	virtual(t, func(t *testing.T, r *rig) {
		r.plant("L", "1"+tag, 0, 1, 2, 3, 4, 5)
		slow, links := r.linked(2, 0, []time.Duration{0, 0, 0, 0, 0})
		time.AfterFunc(oneWay/2, func() { links[0].Hold(time.Second) }) // the reading is through
		n, err := slow.Remove(context.Background(), []quorum.Key{"L"})
		if err != nil || n != 1 {
			t.Errorf("removed %d, error %v", n, err)
		}
		r.fakes[0].Remove("L")
		r.plant("L", "1~rl:BBBBBBBBBBBBBBBB", 0, 1, 2, 3)
		time.Sleep(2 * time.Second)
		r.expect("L", "1", "1", "1", "", "")
	})
}

// I5: a report that comes late speaks of the next owner's lock, or may. Values without a
// tag, as other tools write them, are asked for by no other road.
func TestLateReportDoesNotSayWhatToRemove(t *testing.T) {
	virtual(t, func(t *testing.T, r *rig) {
		r.plant("L", "a", 0, 1, 2, 3, 4, 5)
		slow, links := r.linked(2, 0, []time.Duration{0, 0, 0, 0, 0})
		links[3].Hold(100 * ms)
		links[4].Hold(100 * ms)
		n, err := slow.Remove(context.Background(), []quorum.Key{"L"})
		if err != nil || n != 1 {
			t.Errorf("removed %d, error %v", n, err)
		}
		r.fakes[4].Remove("L")
		r.plant("L", "b", 0, 5)
		time.Sleep(2 * time.Second)
		r.expect("L", "", "", "", "", "b")
	})
}

// A backend goes away between reading and removing: one key's outcome is unknown, and
// what is owed for the others is owed all the same.
func TestRemoveOwesEveryKeyThoughOneIsUnknown(t *testing.T) {
	virtual(t, func(t *testing.T, r *rig) {
		r.plant("L", "x"+tag, 0, 1, 2, 3, 4, 5)
		r.plant("M", "y"+tag, 0, 1, 2, 3, 4, 5)
		time.AfterFunc(2*oneWay+oneWay/2, func() { r.set(quorumtest.Down, 1, 2, 3) })
		_, err := r.Remove(context.Background(), []quorum.Key{"L", "M"})
		expectUnavailable(t, "remove", err)
		r.rest()
		r.heal()
		r.expectAll("L", "")
		r.expectAll("M", "")
	})
}

// The release of a lock that is somebody else's by now.
func TestReleaseOfAnExpiredLockSparesTheNextOwner(t *testing.T) {
	virtual(t, func(t *testing.T, r *rig) {
		r.acquire("L", "a", 300*ms)
		time.Sleep(400 * ms)
		r.acquire("L", "b", 30*time.Second)
		reply, err := release(r.Group, "L", "a")
		expectReply(t, "release", reply, err, 0)
		r.rest()
		r.expectAll("L", "b")
		r.remove(1, "L") // a deletion without a condition does what it says
		r.rest()
		r.expectAll("L", "")
	})
}

// A majority that has nothing is right, also about a number that a minority still has.
func TestLeftoverNumberOfAMinorityIsNotCounted(t *testing.T) {
	for _, holders := range [][]int{{4, 5}, {1, 2}, {3}} {
		virtual(t, func(t *testing.T, r *rig) {
			r.plant("n", "7", 0, holders...)
			r.remove(0, "n")
		})
	}
}
