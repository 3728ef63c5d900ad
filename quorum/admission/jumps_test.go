package admission_test

import (
	"strings"
	"testing"
	"time"

	"redlockproxy/quorum/admission"
	"redlockproxy/quorum/quorumtest"
)

// A9: a jump takes the vote, and what the jump did to the locks is mended.
func TestBackendWhoseClockJumpedIsRefilled(t *testing.T) {
	for _, step := range []time.Duration{time.Hour, -time.Hour} {
		virtual(t, 5, func(t *testing.T, r *rig) {
			p := r.founded()
			other := r.proxy()
			other.await("it knows the voters", func() bool { return other.voters() == 5 })
			r.fakes[3].SetMode(quorumtest.Down)
			r.fakes[4].SetMode(quorumtest.Down)
			p.wantLock("L", "a", 60*time.Second)
			r.rest()
			r.fakes[2].StepClock(step)
			r.fakes[3].Release()
			r.fakes[4].Release()
			r.fakes[0].SetMode(quorumtest.Down)
			r.fakes[1].SetMode(quorumtest.Down)
			p.wantNoLock("L", "b")
			r.fakes[0].Release()
			r.fakes[1].Release()
			other.await("another proxy counts it no more", func() bool { return !other.votes(2) })
			if took := p.await("it votes again", func() bool { return p.votes(2) && other.votes(2) }); took < 1500*ms {
				t.Errorf("after %v; its clock was to be right for 2 s", took)
			}
			held, _ := r.fakes[2].Peek("L")
			if held.Stored.Value() != "a" || held.TTL < 50*time.Second || held.TTL > 65*time.Second {
				t.Errorf("it holds %q for %v", held.Stored, held.TTL)
			}
			if !p.heard(admission.ClockJumped) && !other.heard(admission.ClockJumped) {
				t.Error("nobody said so")
			}
		})
	}
}

// A9: clocks that all jump at once are right; it is the proxy's that is not.
func TestJumpOfOurOwnClockTakesNobodysVote(t *testing.T) {
	virtual(t, 5, func(t *testing.T, r *rig) {
		p := r.founded()
		p.wantLock("L", "a", 60*time.Second)
		for _, f := range r.fakes {
			f.StepClock(time.Second)
		}
		p.await("it is noticed", func() bool { return p.heard(admission.OwnClockJumped) })
		p.await("all vote", func() bool { return p.voters() == 5 })
		if p.heard(admission.ClockJumped) || p.heard(admission.Refilling) {
			t.Errorf("a vote was taken: %v", p.said())
		}
	})
}

// A9: two clocks of three that jump one after the other, before the first has cost its
// backend the vote for everybody, are not one jump of the proxy's own.
func TestJumpsOneAfterTheOtherAreNotOurOwnClocks(t *testing.T) {
	virtual(t, 3, func(t *testing.T, r *rig) {
		p := r.founded()
		r.rest()
		r.fakes[1].StepClock(-time.Second)
		p.await("the first is seen", func() bool { return p.gates[1].Look().Jumped })
		time.Sleep(150 * ms)
		r.fakes[2].StepClock(time.Hour)
		p.await("the second is seen", func() bool { return p.gates[2].Look().Jumped })
		p.await("both votes are taken", func() bool { return strings.Contains(r.marker(1)+r.marker(2), " learner ") })
		time.Sleep(time.Second)
		if p.heard(admission.OwnClockJumped) {
			t.Errorf("they were taken for the proxy's own: %v", p.said())
		}
		if strings.Contains(r.marker(2), " voter ") {
			t.Error("the second still has its vote")
		}
	})
}

// marker is the text of a backend's marker.
func (r *rig) marker(i int) string {
	held, _ := r.fakes[i].Peek(admission.MarkerKey)
	return string(held.Stored)
}

// A9: a majority of clocks that jump, while others that were looked at since did not, are
// not our own.
func TestJumpsThatOtherClocksDenyAreNotOurs(t *testing.T) {
	virtual(t, 5, func(t *testing.T, r *rig) {
		p := r.founded()
		time.Sleep(3 * time.Second) // or nothing is known of the others' clocks
		for _, f := range r.fakes[:3] {
			f.StepClock(time.Second)
		}
		p.await("their votes are taken", func() bool { return p.heard(admission.ClockJumped) && p.voters() == 2 })
		if p.heard(admission.OwnClockJumped) {
			t.Errorf("taken for ours: %v", p.said())
		}
	})
}

// A9: clocks that are set at the same time, each by another amount, are not our own.
func TestJumpsOfDifferentSizesAreNotOurs(t *testing.T) {
	virtual(t, 5, func(t *testing.T, r *rig) {
		p := r.founded()
		for i, f := range r.fakes {
			f.StepClock(time.Second + time.Duration(i)*100*ms)
		}
		p.await("their votes are taken", func() bool { return p.heard(admission.ClockJumped) && p.voters() == 0 })
		if p.heard(admission.OwnClockJumped) {
			t.Errorf("taken for ours: %v", p.said())
		}
	})
}

// A9: a jump of our own that is just large enough is found at some backends, and can't
// be told at those that answer slowly. They do not deny it.
func TestSlowBackendsDoNotDenyAJumpOfOurOwn(t *testing.T) {
	virtual(t, 5, func(t *testing.T, r *rig) {
		p := r.founded()
		time.Sleep(3 * time.Second)
		r.fakes[3].SetDelay(ms, 12*ms)
		r.fakes[4].SetDelay(ms, 40*ms)
		r.rest()
		for _, f := range r.fakes {
			f.StepClock(-60 * ms)
		}
		p.await("it is noticed", func() bool { return p.heard(admission.OwnClockJumped) })
		// When they answer faster again, they show the same jump.
		r.fakes[3].SetDelay(ms, ms)
		r.fakes[4].SetDelay(ms, ms)
		time.Sleep(3 * time.Second)
		if p.heard(admission.ClockJumped) || p.voters() != 5 {
			t.Errorf("a vote was taken: %v", p.said())
		}
	})
}

// A9: a clock that is not watched for long says nothing about a jump of our own: not that
// of a backend on trial, and not that of one that has just come back.
func TestClocksNotYetKnownDoNotDenyAJumpOfOurOwn(t *testing.T) {
	for name, make := range map[string]func(r *rig, p *proxy){
		"on trial": func(r *rig, p *proxy) {
			r.fakes[4].SetClockRate(1.2)
			p.await("its vote is taken", func() bool { return p.heard(admission.ClockJumped) })
		},
		"just back": func(r *rig, p *proxy) {
			r.fakes[4].SetMode(quorumtest.Down)
			r.rest()
			r.fakes[4].SetMode(quorumtest.Up)
			r.crash(4)
			p.await("it is seen again", func() bool { return p.gates[4].Look().Connected && !p.votes(4) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			virtual(t, 5, func(t *testing.T, r *rig) {
				p := r.founded()
				time.Sleep(3 * time.Second)
				make(r, p)
				for range 20 { // whenever the looks come
					r.rest()
				}
				before := len(p.said())
				p.links[1].Hold(200 * ms) // it takes that long to be sure
				for _, f := range r.fakes {
					f.StepClock(time.Second)
				}
				p.await("it is noticed", func() bool { return p.heard(admission.OwnClockJumped) })
				time.Sleep(300 * ms)
				for _, e := range p.said()[before:] {
					if e.Kind == admission.ClockJumped && e.Backend != 4 {
						t.Errorf("a vote was taken: %v", e)
					}
				}
				if p.voters() < 4 {
					t.Errorf("%d vote: %v", p.voters(), p.said())
				}
			})
		})
	}
}

// A9: a clock that jumps while another proxy refills its backend is nobody's vote.
func TestClockThatJumpsDuringARefillEndsIt(t *testing.T) {
	virtual(t, 5, func(t *testing.T, r *rig) {
		p, other := r.founded(), r.proxy()
		other.await("it knows the voters", func() bool { return other.voters() == 5 })
		r.crash(2)
		other.await("it is refilled", func() bool { return strings.Contains(r.marker(2), " learner ") })
		time.Sleep(100 * ms)
		r.fakes[2].StepClock(time.Hour)
		for range 400 {
			time.Sleep(5 * ms)
			if strings.Contains(r.marker(2), " voter ") {
				t.Fatalf("it votes: %v; %v", p.said(), other.said())
			}
		}
		time.Sleep(10 * time.Second)
		p.await("it votes once its clock has been right", func() bool { return p.votes(2) && other.votes(2) })
	})
}

// A backend whose clock runs wrong jumps again and again, and stays out until it does not.
func TestBackendWhoseClockRunsWrongStaysOut(t *testing.T) {
	virtual(t, 5, func(t *testing.T, r *rig) {
		p := r.founded()
		r.fakes[2].SetClockRate(1.2)
		p.await("its vote is taken", func() bool { return p.heard(admission.ClockJumped) })
		for range 100 {
			time.Sleep(100 * ms)
			if held, _ := r.fakes[2].Peek(admission.MarkerKey); strings.Contains(string(held.Stored), " voter ") {
				t.Fatal("it votes with a clock that is a fifth too fast")
			}
		}
		// It is believed as soon as it has been right for as long as any.
		r.fakes[2].SetClockRate(1)
		took := p.await("it votes", func() bool { return p.votes(2) })
		if took < p.cfg.Steady-200*ms || took > p.cfg.Steady+time.Second {
			t.Errorf("it votes %v after its clock has been put right, want %v", took, p.cfg.Steady)
		}
	})
}
