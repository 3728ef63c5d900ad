package quorumtest

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"redlockproxy/quorum"
)

// ballot is a round that writes down what it is told and when.
type ballot struct {
	began   time.Time
	answers chan vote
}

type vote struct {
	backend int
	answer  quorum.Answer
	after   time.Duration
}

// send sends an operation that may be sent within the next second.
func send(f *Fake, op quorum.Op) *ballot {
	b := &ballot{time.Now(), make(chan vote, 8)}
	f.Send(&quorum.Call{Op: op, Deadline: b.began.Add(time.Second), Round: b})
	return b
}

func (b *ballot) Vote(backend int, answer quorum.Answer) {
	b.answers <- vote{backend, answer, time.Since(b.began)}
}

// one waits for the answer and checks that nothing follows it.
func (b *ballot) one(t *testing.T) vote {
	t.Helper()
	v := <-b.answers
	synctest.Wait()
	if len(b.answers) > 0 {
		t.Errorf("a call was answered twice: %+v, %+v", v, <-b.answers)
	}
	return v
}

// none checks that there is no answer within a minute.
func (b *ballot) none(t *testing.T) {
	t.Helper()
	time.Sleep(time.Minute)
	if len(b.answers) > 0 {
		t.Errorf("unexpected answer %+v", <-b.answers)
	}
}

// virtual runs a test of one fake in virtual time.
func virtual(t *testing.T, opts Options, test func(t *testing.T, f *Fake)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := New(3, opts)
		defer f.Close()
		test(t, f)
	})
}

func expect(t *testing.T, v vote, want quorum.Vote, unsent bool) {
	t.Helper()
	if v.backend != 3 || v.answer.Vote != want || v.answer.Unsent != unsent {
		t.Errorf("backend %d: vote %d, unsent %v, error %v; want backend 3: vote %d, unsent %v",
			v.backend, v.answer.Vote, v.answer.Unsent, v.answer.Err, want, unsent)
	}
	if (v.answer.Err != nil) != (want == quorum.Failed) {
		t.Errorf("vote %d came with the error %v", want, v.answer.Err)
	}
}

func expectHeld(t *testing.T, f *Fake, key quorum.Key, want bool) {
	t.Helper()
	synctest.Wait()
	if h, ok := f.Peek(key); ok != want {
		t.Errorf("%s: exists %v, want %v: %+v", key, ok, want, h)
	}
}

var lock = quorum.Acquire{Key: "k", Stored: "v~rl:AAAAAAAAAAAAAAAA", TTL: 10 * time.Second}

func debt(stored quorum.Stored, within time.Duration) quorum.Debt {
	return quorum.Debt{Key: "k", Stored: stored, Until: time.Now().Add(within)}
}

func TestDelaysAddUp(t *testing.T) {
	virtual(t, Options{RequestDelay: 3 * time.Millisecond, ReplyDelay: 4 * time.Millisecond}, func(t *testing.T, f *Fake) {
		b := send(f, lock)
		time.Sleep(3*time.Millisecond - 1)
		expectHeld(t, f, "k", false)
		time.Sleep(time.Nanosecond)
		expectHeld(t, f, "k", true)
		v := b.one(t)
		expect(t, v, quorum.Granted, false)
		if v.after != 7*time.Millisecond {
			t.Errorf("answered after %v, want 7ms", v.after)
		}
	})
}

func TestJitterKeepsOrderAndRepeats(t *testing.T) {
	run := func() (after []time.Duration) {
		opts := Options{RequestDelay: time.Millisecond, Jitter: 5 * time.Millisecond, Seed: 7}
		virtual(t, opts, func(t *testing.T, f *Fake) {
			round := &ballot{time.Now(), make(chan vote, 50)}
			for range 50 {
				op := quorum.Increment{Key: "n", By: 1}
				f.Send(&quorum.Call{Op: op, Deadline: time.Now().Add(time.Second), Round: round})
			}
			for i := range 50 {
				v := <-round.answers
				if v.answer.Number != int64(i+1) {
					t.Errorf("answer %d has the number %d", i, v.answer.Number)
				}
				if v.after < time.Millisecond || v.after > 11*time.Millisecond {
					t.Errorf("answered after %v, want 1ms to 11ms", v.after)
				}
				after = append(after, v.after)
			}
		})
		return after
	}
	first, second := run(), run()
	if !slices.Equal(first, second) {
		t.Errorf("same seed, other delays:\n%v\n%v", first, second)
	}
	if first[0] == time.Millisecond && first[49] == time.Millisecond {
		t.Error("no jitter")
	}
}

func TestWipeForgetsAndRestartRemembers(t *testing.T) {
	virtual(t, Options{}, func(t *testing.T, f *Fake) {
		f.Plant("k", "v", 0)
		f.PlantOther("l", "list")
		f.Restart()
		expectHeld(t, f, "k", true)
		expectHeld(t, f, "l", true)
		f.Wipe()
		if all := f.Snapshot(); len(all) != 0 {
			t.Errorf("still holds %v", all)
		}
	})
}

func TestPassedDeadlineIsNotSent(t *testing.T) {
	virtual(t, Options{RequestDelay: time.Minute}, func(t *testing.T, f *Fake) {
		at := func(deadline time.Time) *ballot {
			b := &ballot{time.Now(), make(chan vote, 2)}
			f.Send(&quorum.Call{Op: lock, Deadline: deadline, Round: b})
			return b
		}
		expect(t, at(time.Now().Add(-1)).one(t), quorum.Failed, true)
		expect(t, at(time.Now()).one(t), quorum.Granted, false) // sent in time, arrives when it may
	})
}

func TestBoundsHold(t *testing.T) {
	virtual(t, Options{MaxCalls: 2, MaxDebts: 2}, func(t *testing.T, f *Fake) {
		f.SetMode(Frozen)
		for range 3 {
			f.Owe(debt("x", time.Hour))
		}
		kept := []*ballot{send(f, lock), send(f, lock)}
		expect(t, send(f, lock).one(t), quorum.Failed, true)
		f.Release()
		expect(t, kept[0].one(t), quorum.Granted, false)
		expect(t, kept[1].one(t), quorum.Refused, false)
		if got, want := f.Counts(), (Counts{Acquire: 2, Debt: 2, DebtsLost: 1}); got != want {
			t.Errorf("carried out %+v, want %+v", got, want)
		}
		f.SetMode(Down)
		f.Owe(debt("x", time.Second))
		f.Owe(debt("x", time.Second))
		time.Sleep(2 * time.Second)
		f.Owe(debt("x", time.Hour)) // the others have made room
		if f.Debts() != 1 || f.Counts().DebtsLost != 1 {
			t.Errorf("%d debts kept, %d lost; want 1, 1", f.Debts(), f.Counts().DebtsLost)
		}
	})
}

func TestCloseFailsWhatIsOnItsWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := New(3, Options{RequestDelay: time.Hour})
		b := send(f, lock)
		f.Close()
		f.Close()
		expect(t, b.one(t), quorum.Failed, false)
		expect(t, send(f, lock).one(t), quorum.Failed, true)
		f.Owe(debt("x", time.Hour))
		f.Release()
	})
}

func TestKeyLivesThroughItsLastMillisecond(t *testing.T) {
	virtual(t, Options{}, func(t *testing.T, f *Fake) {
		f.Plant("k", "v", 5*time.Millisecond)
		time.Sleep(6*time.Millisecond - 1)
		if h, ok := f.Peek("k"); !ok || h.TTL != 0 {
			t.Errorf("after almost 6ms: %+v, exists %v; want it there with nothing left", h, ok)
		}
		time.Sleep(time.Nanosecond)
		expectHeld(t, f, "k", false)
	})
}

func TestClockStepsAndRuns(t *testing.T) {
	left := func(f *Fake) time.Duration {
		h, _ := f.Peek("k")
		return h.TTL
	}
	virtual(t, Options{}, func(t *testing.T, f *Fake) {
		f.Plant("k", "v", 100*time.Second)
		f.StepClock(30 * time.Second)
		if got := left(f); got != 70*time.Second {
			t.Errorf("after a step of 30s: %v left of 100s", got)
		}
		f.SetClockRate(2)
		time.Sleep(10 * time.Second)
		if got := left(f); got != 50*time.Second {
			t.Errorf("after 10s at double speed: %v left of 70s", got)
		}
		f.SetClockRate(0)
		time.Sleep(time.Hour)
		if got := left(f); got != 50*time.Second {
			t.Errorf("with a standing clock: %v left of 50s", got)
		}
		f.StepClock(-time.Second)
		if got := left(f); got != 51*time.Second {
			t.Errorf("after a step back of 1s: %v left of 50s", got)
		}
	})
}

func TestVoterMaySendAgain(t *testing.T) {
	virtual(t, Options{}, func(t *testing.T, f *Fake) {
		for _, mode := range []Mode{Up, Down} {
			f.SetMode(mode)
			b := &ballot{time.Now(), make(chan vote, 2)}
			f.Send(&quorum.Call{Op: lock, Deadline: time.Now().Add(1), Round: again{f, b}})
			if v := b.one(t); v.answer.Vote == quorum.Granted {
				t.Errorf("mode %d: the second acquire was granted too", mode)
			}
		}
	})
}

// again is a round that sends its operation once more before it is done.
type again struct {
	f    *Fake
	then quorum.Voter
}

func (a again) Vote(int, quorum.Answer) {
	a.f.Send(&quorum.Call{Op: lock, Deadline: time.Now().Add(1), Round: a.then})
}

func TestImpossibleCallsFail(t *testing.T) {
	ops := []quorum.Op{
		nil,
		quorum.Acquire{Key: "k", TTL: -time.Millisecond},
		quorum.Acquire{Key: "k", TTL: time.Microsecond},
		quorum.Increment{Key: "k"},
		quorum.Commit{Guards: []quorum.Guard{{Key: "k"}}},
		quorum.Commit{Guards: []quorum.Guard{{Kind: quorum.Lower, Key: "k", Text: "x"}}},
		quorum.Commit{Writes: []quorum.Write{{Key: "k"}}},
		quorum.Commit{Writes: []quorum.Write{{Kind: quorum.Put, Key: "k", TTL: -time.Second}}},
		quorum.Commit{Writes: []quorum.Write{{Kind: quorum.Expire, Key: "k", TTL: time.Nanosecond}}},
		quorum.Commit{Writes: []quorum.Write{{Kind: quorum.Raise, Key: "k", Stored: "x"}}},
	}
	virtual(t, Options{}, func(t *testing.T, f *Fake) {
		for _, op := range ops {
			expect(t, send(f, op).one(t), quorum.Failed, false)
		}
		if all := f.Snapshot(); len(all) != 0 {
			t.Errorf("holds %v afterwards", all)
		}
	})
}
