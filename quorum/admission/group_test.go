package admission_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"redlockproxy/quorum/admission"
	"redlockproxy/quorum/quorumtest"
)

// A7: several proxies that start at once found one group, and none of them twice.
func TestSeveralProxiesFoundOneGroup(t *testing.T) {
	virtual(t, 5, func(t *testing.T, r *rig) {
		for range 3 {
			r.proxy()
		}
		for _, p := range r.proxies {
			p.await("all vote", func() bool { return p.voters() == 5 })
		}
		markers := map[string]bool{}
		for i := range r.fakes {
			held, _ := r.fakes[i].Peek(admission.MarkerKey)
			m, standing := defaults().Rule(i, 5).Judge(string(held.Stored), r.fakes[i].RunID())
			if standing != admission.Admitted {
				t.Errorf("backend %d: %q", i, held.Stored)
			}
			markers[m.Token] = true
		}
		if len(markers) != 5 {
			t.Errorf("%d tokens for 5 backends", len(markers))
		}
	})
}

// A7: a backend that can't be reached may know of a group; without it nobody can tell.
func TestGroupIsFoundedOnlyWithAllOfItsBackends(t *testing.T) {
	virtual(t, 5, func(t *testing.T, r *rig) {
		r.fakes[4].SetMode(quorumtest.Down)
		p := r.proxy()
		time.Sleep(time.Second)
		if p.voters() != 0 || p.keeper.Reason() == "" {
			t.Errorf("%d vote; reason %q", p.voters(), p.keeper.Reason())
		}
		p.wantNoLock("L", "a")
		r.fakes[4].Release()
		p.await("all vote", func() bool { return p.voters() == 5 })
		p.wantLock("L", "a", time.Second)
	})
}

func TestGroupIsFoundedByHandOnlyIfSoConfigured(t *testing.T) {
	virtual(t, 5, func(t *testing.T, r *rig) {
		p := r.proxy(func(c *admission.Config) { c.Auto = false })
		time.Sleep(5 * time.Second)
		if p.voters() != 0 || !strings.Contains(p.keeper.Reason(), "redlock-proxy init") {
			t.Errorf("%d vote; reason %q", p.voters(), p.keeper.Reason())
		}
		p.wantNoLock("L", "a")
		admitted, err := admission.Declare(context.Background(), p.members(), p.cfg)
		if err != nil || len(admitted) != 5 {
			t.Fatal(admitted, err)
		}
		p.await("all vote", func() bool { return p.voters() == 5 })
		p.wantLock("L", "a", time.Second)
		if again, err := admission.Declare(context.Background(), p.members(), p.cfg); err != nil || len(again) != 0 {
			t.Error("declared twice:", again, err)
		}
	})
}

func (p *proxy) members() []admission.Member {
	all := make([]admission.Member, len(p.gates))
	for i, g := range p.gates {
		all[i] = g
	}
	return all
}

// A8: three of five forget at once. What they had granted nobody knows, so everything is
// waited out, and the highest number that is left anywhere goes on.
func TestMajorityThatForgotWaitsOutItsLocks(t *testing.T) {
	for _, kept := range []bool{false, true} {
		virtual(t, 5, func(t *testing.T, r *rig) {
			p := r.founded()
			r.fakes[3].SetMode(quorumtest.Down)
			r.fakes[4].SetMode(quorumtest.Down)
			p.wantLock("L", "a", 2900*ms)
			for range 7 {
				if _, err := p.Increment(context.Background(), "f", 1); err != nil {
					t.Fatal(err)
				}
			}
			r.rest()
			r.fakes[0].Save()
			for i := range 3 {
				r.crash(i)
			}
			if kept {
				r.fakes[0].Restore()
			}
			r.fakes[3].Release()
			r.fakes[4].Release()
			lost := time.Now()
			for time.Since(lost) < 2850*ms {
				p.wantNoLock("L", "b")
				if _, err := p.Increment(context.Background(), "f", 1); err == nil {
					t.Fatal("a number although a majority has forgotten")
				}
				time.Sleep(100 * ms)
			}
			if !strings.Contains(p.keeper.Reason(), "2 of 5 backends have kept their memory") {
				t.Errorf("reason %q", p.keeper.Reason())
			}
			p.await("all vote", func() bool { return p.voters() == 5 })
			if reason := p.keeper.Reason(); reason != "" {
				t.Errorf("reason %q", reason)
			}
			p.wantLock("L", "b", time.Second)
			c, err := p.Increment(context.Background(), "f", 1)
			if err != nil || kept && c.Number <= 7 {
				t.Errorf("%d, %v", c.Number, err)
			}
		})
	}
}

// A8: while a proxy could not see the backends that had forgotten, another may have let
// them vote, and they may have forgotten again. Their locks are waited out, too.
func TestWaitBeginsAnewWhereItCouldNotBeSeen(t *testing.T) {
	for name, hide := range map[string]func(p *proxy, i int){
		"cut off":    func(p *proxy, i int) { p.r.fakes[i].SetMode(quorumtest.Down) },
		"no answers": func(p *proxy, i int) { p.links[i].Hold(300 * ms) },
	} {
		t.Run(name, func(t *testing.T) {
			virtual(t, 5, func(t *testing.T, r *rig) {
				p := r.founded()
				for i := range 3 {
					r.fakes[i].Wipe()
				}
				time.Sleep(2500 * ms) // of the three seconds of the longest lock
				for i := range 3 {
					hide(p, i)
				}
				time.Sleep(200 * ms)
				again := time.Now()
				for i := range 3 {
					r.fakes[i].Wipe() // with a lock that it gave in between
					r.fakes[i].Release()
				}
				for time.Since(again) < 2850*ms {
					if p.voters() > 2 {
						t.Fatalf("a backend votes %v after it forgot", time.Since(again))
					}
					time.Sleep(50 * ms)
				}
				p.await("all vote", func() bool { return p.voters() == 5 })
			})
		})
	}
}

// A8: who was cut off goes on waiting if nobody has let the backend vote meanwhile.
func TestWaitGoesOnOverABreakInWhichNothingHappened(t *testing.T) {
	virtual(t, 5, func(t *testing.T, r *rig) {
		p := r.founded()
		for i := range 3 {
			r.fakes[i].Wipe()
		}
		lost := time.Now()
		time.Sleep(2 * time.Second)
		r.fakes[0].SetMode(quorumtest.Down)
		time.Sleep(200 * ms)
		r.fakes[0].Release()
		p.await("it votes", func() bool { return p.votes(0) })
		if took := time.Since(lost); took < 3*time.Second || took > 3800*ms {
			t.Errorf("after %v", took)
		}
	})
}

// A8: locks do not wait for a backend that does not come back; numbers do.
func TestMajorityThatForgotCountsOnlyWhenAllCanBeAsked(t *testing.T) {
	virtual(t, 5, func(t *testing.T, r *rig) {
		p := r.founded()
		for range 7 {
			if _, err := p.Increment(context.Background(), "f", 1); err != nil {
				t.Fatal(err)
			}
		}
		r.rest()
		for i := range 3 {
			r.fakes[i].Save()
			r.crash(i)
		}
		r.fakes[2].SetMode(quorumtest.Down)
		p.wantNoLock("L", "a")
		p.await("locks are given again", func() bool {
			won, _ := p.acquire("L", "a", time.Second)
			return won
		})
		time.Sleep(3 * time.Second)
		p.wantLock("L", "b", time.Second)
		if c, err := p.Increment(context.Background(), "f", 1); err == nil {
			t.Fatalf("%d although a backend that may know more is away", c.Number)
		}
		r.fakes[2].Restart()
		r.fakes[2].Restore()
		p.await("all know the numbers", func() bool {
			for _, g := range p.gates {
				if !g.Look().Counts() {
					return false
				}
			}
			return true
		})
		if c, err := p.Increment(context.Background(), "f", 1); err != nil || c.Number <= 7 {
			t.Errorf("%d, %v", c.Number, err)
		}
		if reason := p.keeper.Reason(); reason != "" {
			t.Errorf("reason %q", reason)
		}
	})
}

// A7: a group that was seen to have voters is not new when all of them forget at once,
// though no backend has a marker.
func TestGroupThatLostAllItsMemoryIsNotNew(t *testing.T) {
	virtual(t, 5, func(t *testing.T, r *rig) {
		p := r.founded()
		p.wantLock("L", "a", 2900*ms)
		r.rest()
		for i := range r.fakes {
			r.crash(i)
		}
		for lost := time.Now(); time.Since(lost) < 2850*ms; time.Sleep(100 * ms) {
			p.wantNoLock("L", "b")
		}
		p.await("all vote", func() bool { return p.voters() == 5 })
		p.wantLock("L", "b", time.Second)
	})
}
