package admission_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"redlockproxy/quorum"
	"redlockproxy/quorum/admission"
	"redlockproxy/quorum/quorumtest"
)

// hide makes backends unreachable for one proxy's calls, for as long as a test lasts.
func (p *proxy) hide(indices ...int) {
	for _, i := range indices {
		p.links[i].Hold(time.Hour)
	}
}

// A first client has a bare majority; one of it comes back empty, or loses its keys
// without an end; a second client must not get that one and the minority.
func TestRestartedEmptyBackendDoesNotVoteUntilItIsRefilled(t *testing.T) {
	for _, c := range []struct {
		name   string
		forget func(r *rig)
		again  bool // by a proxy that knew nothing of the time before
	}{
		{"restart", func(r *rig) { r.crash(2) }, false},
		{"restart, and another proxy", func(r *rig) { r.crash(2) }, true},
		{"flush", func(r *rig) { r.fakes[2].Wipe() }, false},
		{"flush, and another proxy", func(r *rig) { r.fakes[2].Wipe() }, true},
		{"old dump", func(r *rig) { r.fakes[2].Restart(); r.fakes[2].Restore() }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			virtual(t, 5, func(t *testing.T, r *rig) {
				first := r.founded()
				first.wantLock("old", "x", 300*ms)
				r.rest()
				r.fakes[2].Save()
				r.fakes[3].SetMode(quorumtest.Down)
				r.fakes[4].SetMode(quorumtest.Down)
				first.wantLock("L", "a", 2*time.Second)
				r.rest()
				c.forget(r)
				r.fakes[3].Release()
				r.fakes[4].Release()
				second := first
				if c.again {
					first.stop()
					second = r.proxy()
					second.await("it knows the voters", func() bool { return second.voters() >= 4 })
				}
				second.wantNoLock("L", "b")
				took := second.await("it votes again", func() bool { return second.votes(2) })
				if took < 190*ms || took > 700*ms {
					t.Errorf("it voted again after %v; the quiet period is over 200 ms", took)
				}
				if got := r.holds(2, "L"); got != "a" {
					t.Errorf("it was refilled with %q", got)
				}
				r.fakes[0].SetMode(quorumtest.Down)
				r.fakes[1].SetMode(quorumtest.Down)
				second.wantNoLock("L", "c")
				time.Sleep(2 * time.Second)
				second.wantLock("L", "d", time.Second)
			})
		})
	}
}

// A3: a backend grants, forgets, and its grant is counted later, together with others
// that came meanwhile. Whoever refills it in between must not let it vote for another.
func TestLostVoteThatIsCountedLateIsRespected(t *testing.T) {
	virtual(t, 5, func(t *testing.T, r *rig) {
		slow, fast := r.founded(), r.proxy()
		fast.await("it knows the voters", func() bool { return fast.voters() == 5 })
		slow.hide(3, 4)
		fast.hide(1, 2)
		slow.links[1].Hold(100 * ms)
		slow.links[2].Hold(100 * ms)
		late := make(chan bool)
		go func() {
			won, _ := slow.acquire("L", "slow", 2*time.Second)
			late <- won
		}()
		time.Sleep(10 * ms) // the first backend's grant is in
		r.crash(0)
		won := false
		for range 9 {
			if won {
				break
			}
			time.Sleep(10 * ms)
			w, _ := fast.acquire("L", "fast", 2*time.Second)
			won = won || w
		}
		if first := <-late; first && won {
			t.Error("two holders: a lost vote was counted for one and given again to another")
		}
		time.Sleep(time.Second)
	})
}

// What the learner still has of before, and nobody else has, is gone; what others
// have is there with their time; what is newer stays out of everybody's way.
func TestOldDumpIsBroughtUpToDate(t *testing.T) {
	virtual(t, 5, func(t *testing.T, r *rig) {
		p := r.founded()
		for i := range 20 {
			p.wantLock(quorum.Key(fmt.Sprint("gone ", i)), "x", 3*time.Second)
			p.wantLock(quorum.Key(fmt.Sprint("kept ", i)), "x", 3*time.Second)
		}
		r.rest()
		r.fakes[1].Save()
		for i := range 20 {
			key := quorum.Key(fmt.Sprint("gone ", i))
			if n, err := p.Remove(context.Background(), []quorum.Key{key}); n != 1 || err != nil {
				t.Fatal(n, err)
			}
		}
		p.wantLock("gone 0", "y", 3*time.Second)
		r.rest()
		r.fakes[1].Restart()
		r.fakes[1].Restore()
		p.await("it is a learner", func() bool { return !p.votes(1) })
		p.await("it votes again", func() bool { return p.votes(1) })
		for i := range 20 {
			want := ""
			if i == 0 {
				want = "y"
			}
			if got := r.holds(1, quorum.Key(fmt.Sprint("gone ", i))); got != want {
				t.Errorf("gone %d is %q there, want %q", i, got, want)
			}
			if got := r.holds(1, quorum.Key(fmt.Sprint("kept ", i))); got != "x" {
				t.Errorf("kept %d is %q there", i, got)
			}
		}
	})
}

// A5, and section by section: whichever backend forgets, before each increment, the
// numbers go on rising.
func TestCountersSurviveAnyMinoritysLossOfMemory(t *testing.T) {
	virtual(t, 5, func(t *testing.T, r *rig) {
		p := r.founded()
		last := int64(0)
		for round := range 10 {
			a, b := round%5, (round+2)%5
			r.crash(a)
			r.crash(b)
			for range 3 {
				if c, err := p.Increment(context.Background(), "f", 1); err == nil {
					if c.Number <= last {
						t.Fatalf("%d after %d", c.Number, last)
					}
					last = c.Number
				}
			}
			p.await("all vote", func() bool { return p.voters() == 5 })
			c, err := p.Increment(context.Background(), "f", 1)
			if err != nil || c.Number <= last {
				t.Fatalf("%d after %d, %v", c.Number, last, err)
			}
			last = c.Number
			for i := range r.fakes {
				if n, _ := strconv.ParseInt(r.holds(i, "f"), 10, 64); n < last-3 {
					t.Errorf("backend %d is at %d, the counter at %d", i, n, last)
				}
			}
		}
	})
}

// A6: two attempts at the same key are under way when a backend is refilled. It blocks
// the key, and holds what is agreed once one of them is gone.
func TestBlockEndsWhenTheContentionIsOver(t *testing.T) {
	for _, proxies := range []int{1, 3} { // of which one admits it, and all may have blocked the key
		virtual(t, 5, func(t *testing.T, r *rig) {
			p := r.founded()
			for range proxies - 1 {
				o := r.proxy()
				o.await("it knows the voters", func() bool { return o.voters() == 5 })
			}
			const tag = "~rl:AAAAAAAAAAAAAAAA"
			for i := range 4 {
				r.fakes[i].Plant("L", quorum.Stored([]string{"a", "a", "b", "b"}[i]+tag), 3*time.Second)
			}
			r.crash(4)
			p.await("it is a learner", func() bool { return !p.votes(4) })
			p.await("it votes again", func() bool { return p.votes(4) })
			if got := r.holds(4, "L"); got != "block" {
				t.Fatalf("it holds %q", got)
			}
			if _, err := p.Read(context.Background(), []quorum.Key{"L"}, false); err == nil {
				t.Error("a block was read as a value, or as nothing")
			}
			r.fakes[2].Remove("L")
			r.fakes[3].Remove("L")
			p.await("the block ends", func() bool { return r.holds(4, "L") == "a" })
			held, err := p.Read(context.Background(), []quorum.Key{"L"}, false)
			if err != nil || held[0].Value() != "a" {
				t.Errorf("%q, %v", held[0].Value(), err)
			}
		})
	}
}

// What was released while it was copied is nobody's, and goes; what is somebody's stays.
func TestCopyOfAReleasedLockGoes(t *testing.T) {
	virtual(t, 5, func(t *testing.T, r *rig) {
		p := r.founded()
		const tag = "~rl:AAAAAAAAAAAAAAAA"
		for i := range 4 {
			r.fakes[i].Plant("released", "a"+tag, 20*time.Second)
			r.fakes[i].Plant("held", "b"+tag, 20*time.Second)
			r.fakes[i].Plant("next", "c"+tag, 20*time.Second)
		}
		r.crash(4)
		p.await("all are copied", func() bool { return r.holds(4, "released") == "a" && r.holds(4, "next") == "c" })
		for i := range 4 {
			r.fakes[i].Remove("released")
			r.fakes[i].Plant("next", "d"+tag, 20*time.Second)
		}
		// A release that has reached the others may reach this one as late as its votes count.
		took := p.await("a copy goes", func() bool { return r.holds(4, "released") == "" || r.holds(4, "next") == "" })
		if took < p.cfg.Quiet {
			t.Errorf("a copy went after %v: before a release that was on its way must have come", took)
		}
		took += p.await("the copies go", func() bool { return r.holds(4, "released") == "" && r.holds(4, "next") == "" })
		if took > time.Second {
			t.Errorf("after %v", took)
		}
		time.Sleep(5 * time.Second)
		if got := r.holds(4, "held"); got != "b" {
			t.Errorf("the lock that is held is %q there", got)
		}
	})
}

// A6: the proxy that blocked the key is not the one that admits the backend.
func TestBlockOfASlowerProxyEndsToo(t *testing.T) {
	virtual(t, 5, func(t *testing.T, r *rig) {
		p, other := r.founded(), r.proxy()
		other.await("it knows the voters", func() bool { return other.voters() == 5 })
		const tag = "~rl:AAAAAAAAAAAAAAAA"
		for i := range 4 {
			r.fakes[i].Plant("L", quorum.Stored([]string{"a", "a", "b", "b"}[i]+tag), 5*time.Second)
		}
		r.crash(4)
		for _, l := range other.aside {
			l.Hold(30 * ms)
		}
		for r.holds(4, "L") != "block" {
			time.Sleep(ms / 2)
		}
		p.aside[4].Hold(time.Second)
		other.await("the other admits it", func() bool { return other.heard(admission.Readmitted) })
		r.fakes[2].Remove("L")
		r.fakes[3].Remove("L")
		p.await("the block ends", func() bool { return r.holds(4, "L") == "a" })
	})
}

// A source that forgets while it is read from is none, and the refill begins again.
func TestRefillTrustsNoSourceThatForgetsMeanwhile(t *testing.T) {
	virtual(t, 5, func(t *testing.T, r *rig) {
		p := r.founded()
		r.fakes[4].SetMode(quorumtest.Down)
		p.wantLock("L", "a", 3*time.Second)
		r.rest()
		r.crash(0)
		p.await("its refill begins", func() bool { return p.heard(admission.Refilling) })
		time.Sleep(100 * ms) // in the quiet period: the sources are known
		r.fakes[1].Wipe()
		time.Sleep(400 * ms)
		if p.votes(0) {
			t.Error("it was refilled from two others")
		}
		r.fakes[4].Release()
		p.await("all vote", func() bool { return p.voters() == 5 })
		for i := range 4 {
			if got := r.holds(i, "L"); got != "a" {
				t.Errorf("backend %d holds %q", i, got)
			}
		}
	})
}

// A9: a source whose clock jumps just before it is read has lost locks, and its marker
// does not tell.
func TestRefillTrustsNoSourceWhoseClockJumps(t *testing.T) {
	virtual(t, 3, func(t *testing.T, r *rig) {
		p := r.founded()
		r.fakes[2].SetMode(quorumtest.Down)
		p.wantLock("L", "a", 3*time.Second)
		r.rest()
		r.fakes[2].Release()
		p.await("all vote", func() bool { return p.voters() == 3 })
		r.crash(0)
		p.await("its refill begins", func() bool { return p.heard(admission.Refilling) })
		time.Sleep(230 * ms) // the quiet period is nearly over
		r.fakes[1].StepClock(time.Hour)
		for range 50 {
			time.Sleep(10 * ms)
			if p.votes(0) && r.holds(0, "L") != "a" {
				t.Fatalf("it votes, and holds %q", r.holds(0, "L"))
			}
		}
	})
}

// A3: a proxy that counts votes for longer makes the markers say so, and everybody who
// refills waits for as long.
func TestLongerRoundsLengthenTheQuietPeriod(t *testing.T) {
	virtual(t, 5, func(t *testing.T, r *rig) {
		p := r.founded()
		patient := r.proxy(func(c *admission.Config) { c.Quiet = time.Second })
		patient.await("it has votes", func() bool { return patient.voters() == 5 })
		p.await("so has the other", func() bool { return p.voters() == 5 })
		patient.stop()
		r.crash(0)
		p.await("it is a learner", func() bool { return !p.votes(0) })
		if took := p.await("it votes again", func() bool { return p.votes(0) }); took < 950*ms {
			t.Errorf("it voted again after %v, and a vote may be counted for 1 s", took)
		}
	})
}
