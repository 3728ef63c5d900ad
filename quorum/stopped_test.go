package quorum_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"redlockproxy/quorum"
)

// stopper stops its caller, as the process may be stopped, before it hands a call on.
type stopper struct {
	quorum.Backend
	stop time.Duration
}

func (s *stopper) Send(call *quorum.Call) {
	s.Backend.Send(call)
	time.Sleep(s.stop)
}

// I13: the votes are all there when the process goes on, and it is too late for them.
func TestVotesOfAStoppedOperationDoNotCount(t *testing.T) {
	for _, stop := range []time.Duration{0, 150 * ms, 250 * ms} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, 5)
			defer r.Close()
			backends := make([]quorum.Backend, 5)
			for i, f := range r.fakes {
				backends[i] = f
			}
			last := &stopper{Backend: r.fakes[4], stop: stop}
			backends[4] = last
			g := newGroup(t, 1, backends)
			late := stop > 200*ms

			a, err := g.Acquire(context.Background(), "L", "a", time.Minute)
			if a.Won == late || (err != nil) != late {
				t.Errorf("stopped for %v: won %v, %v", stop, a.Won, err)
			}
			c, err := g.Increment(context.Background(), "f", 1)
			if (err != nil) != late {
				t.Errorf("stopped for %v: %d, %v", stop, c.Number, err)
			}
			_, err = g.Read(context.Background(), []quorum.Key{"L"}, false)
			if (err != nil) != late {
				t.Errorf("stopped for %v: reading: %v", stop, err)
			}
			if late {
				expectUnavailable(t, "stopped", err)
				last.stop = 0
				r.rest()
				r.expectAll("L", "") // what came too late is undone
			}
		})
	}
}

// I15: a block is something, and nobody knows what.
func TestBlockIsNoAnswer(t *testing.T) {
	block := func() quorum.Stored {
		b, err := quorum.NewBlock(newRandom(1))
		if err != nil || !b.IsBlock() || b.Value() != string(b) {
			t.Fatalf("%q, %v", b, err)
		}
		return b
	}
	virtual(t, func(t *testing.T, r *rig) {
		r.plant("L", "a"+tag, time.Minute, 1, 2, 3)
		r.plant("L", block(), time.Minute, 4, 5)
		reply, err := extend(r.Group, "L", "a", time.Minute)
		expectReply(t, "extension with two blocks", reply, err, 1)
		r.refused("L", "b", time.Minute)
		held, err := get(r.Group, "L", true)
		if err != nil || held.Value() != "a" {
			t.Errorf("%q, %v", held.Value(), err)
		}
		reply, err = release(r.Group, "L", "a")
		expectReply(t, "release with two blocks", reply, err, 1)
	})
	virtual(t, func(t *testing.T, r *rig) {
		r.plant("L", "a"+tag, time.Minute, 1, 2)
		r.plant("L", block(), time.Minute, 3)
		r.plant("L", block(), time.Minute, 4)
		r.plant("L", block(), time.Minute, 5)
		// Two and a block may be a majority: nobody may be told that it is not his.
		_, err := release(r.Group, "L", "a")
		expectUnavailable(t, "release", err)
		_, err = extend(r.Group, "L", "a", time.Minute)
		expectUnavailable(t, "extension", err)
		_, err = get(r.Group, "L", false)
		expectUnavailable(t, "reading", err)
		_, err = r.Increment(context.Background(), "L", 1)
		expectUnavailable(t, "counting", err)
		r.refused("L", "b", time.Minute)
		r.rest()
		for i := range 3 {
			if held, _ := r.fakes[2+i].Peek("L"); !held.Stored.IsBlock() {
				t.Errorf("backend %d holds %q", 3+i, held.Stored)
			}
		}
	})
}
