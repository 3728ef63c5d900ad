package quorumtest

import (
	"testing"
	"time"

	"redlockproxy/quorum"
)

func TestFrozenRunsLateAndInOrder(t *testing.T) {
	virtual(t, Options{}, func(t *testing.T, f *Fake) {
		f.SetMode(Frozen)
		first, second := send(f, lock), send(f, lock)
		f.Owe(debt(lock.Stored, time.Second))
		third := send(f, lock)
		first.none(t) // far beyond the deadline, and Until
		expectHeld(t, f, "k", false)
		f.Release()
		expect(t, first.one(t), quorum.Granted, false)
		expect(t, second.one(t), quorum.Refused, false)
		expect(t, third.one(t), quorum.Granted, false) // the debt ran before it
		if got, want := f.Counts(), (Counts{Acquire: 3, Debt: 1}); got != want {
			t.Errorf("carried out %+v, want %+v", got, want)
		}
	})
}

func TestStalledSendsNothingPastItsDeadline(t *testing.T) {
	virtual(t, Options{}, func(t *testing.T, f *Fake) {
		f.SetMode(Stalled)
		late := send(f, lock)
		f.Owe(debt(lock.Stored, time.Second))
		late.none(t)
		inTime := send(f, lock)
		f.Release()
		expect(t, late.one(t), quorum.Failed, true)
		expect(t, inTime.one(t), quorum.Granted, false)
		if got, want := f.Counts(), (Counts{Acquire: 1}); got != want || f.Debts() != 0 {
			t.Errorf("carried out %+v, %d debts left; want %+v, none", got, f.Debts(), want)
		}
	})
}

func TestDownFailsAtOnceAndKeepsDebts(t *testing.T) {
	virtual(t, Options{RequestDelay: time.Millisecond}, func(t *testing.T, f *Fake) {
		f.Plant("k", "mine", 0)
		f.SetMode(Down)
		v := send(f, lock).one(t)
		expect(t, v, quorum.Failed, true)
		if v.after != 0 {
			t.Errorf("answered after %v, want at once", v.after)
		}
		f.Owe(debt("other", time.Hour))
		f.Owe(debt("mine", time.Hour))
		f.Owe(debt("mine", time.Second))
		time.Sleep(time.Minute)
		f.Release()
		time.Sleep(time.Millisecond)
		expectHeld(t, f, "k", false)
		if got, want := f.Counts(), (Counts{Debt: 2}); got != want || f.Debts() != 0 {
			t.Errorf("carried out %+v, %d debts left; want %+v, none", got, f.Debts(), want)
		}
	})
}

func TestGoingDownFailsWhatIsOnItsWay(t *testing.T) {
	for _, restart := range []bool{false, true} {
		virtual(t, Options{RequestDelay: 5 * time.Millisecond, ReplyDelay: 5 * time.Millisecond}, func(t *testing.T, f *Fake) {
			executed := send(f, quorum.Increment{Key: "n", By: 1})
			time.Sleep(7 * time.Millisecond)
			underway := send(f, lock)
			f.Owe(debt(lock.Stored, time.Hour))
			if restart {
				f.Restart()
			} else {
				f.SetMode(Down)
			}
			for _, b := range []*ballot{executed, underway} {
				v := b.one(t)
				expect(t, v, quorum.Failed, false)
				if v.after > 7*time.Millisecond {
					t.Errorf("answered after %v, want as soon as the connection is lost", v.after)
				}
			}
			time.Sleep(time.Second)
			expectHeld(t, f, "n", true)
			expectHeld(t, f, "k", false)
			f.Release()
			time.Sleep(time.Second)
			if got, want := f.Counts(), (Counts{Increment: 1, Debt: 1}); got != want {
				t.Errorf("carried out %+v, want %+v", got, want)
			}
			expect(t, send(f, lock).one(t), quorum.Granted, false)
		})
	}
}

func TestSilentNeverRunsAndAnswersOnRelease(t *testing.T) {
	virtual(t, Options{}, func(t *testing.T, f *Fake) {
		f.Plant("d", "", 0)
		f.SetMode(Silent)
		b := send(f, lock)
		f.Owe(quorum.Debt{Key: "d", Stored: "", Until: time.Now().Add(time.Hour)})
		b.none(t)
		expectHeld(t, f, "d", true)
		f.Release()
		expect(t, b.one(t), quorum.Failed, false)
		expectHeld(t, f, "k", false)
		expectHeld(t, f, "d", false)
	})
}

func TestKeptDebtRunsBeforeYoungerCalls(t *testing.T) {
	virtual(t, Options{RequestDelay: 5 * time.Millisecond}, func(t *testing.T, f *Fake) {
		f.Plant("k", "mine", 0)
		f.SetMode(Silent)
		f.Owe(debt("mine", time.Hour))
		time.Sleep(6 * time.Millisecond)
		b := send(f, lock)
		f.Release()
		expect(t, b.one(t), quorum.Granted, false)
	})
}

func TestMuteRunsAndAnswersOnRelease(t *testing.T) {
	virtual(t, Options{}, func(t *testing.T, f *Fake) {
		f.SetMode(Mute)
		b := send(f, quorum.Increment{Key: "n", By: 1})
		b.none(t)
		expectHeld(t, f, "n", true)
		f.Release()
		expect(t, b.one(t), quorum.Failed, false)
		if h, _ := f.Peek("n"); h.Stored != "1" {
			t.Errorf("n holds %q, want 1", h.Stored)
		}
	})
}

func TestLostReplyRunsAndFails(t *testing.T) {
	virtual(t, Options{}, func(t *testing.T, f *Fake) {
		f.SetMode(LostReply)
		expect(t, send(f, lock).one(t), quorum.Failed, false)
		expectHeld(t, f, "k", true)
		f.Owe(debt(lock.Stored, time.Second))
		expectHeld(t, f, "k", false)
	})
}

func TestBrokenRunsNothing(t *testing.T) {
	virtual(t, Options{}, func(t *testing.T, f *Fake) {
		f.SetMode(Broken)
		f.Plant("k", "mine", 0)
		f.Owe(debt("mine", time.Hour))
		expect(t, send(f, lock).one(t), quorum.Failed, false)
		if got := f.Counts(); got != (Counts{}) || f.Debts() != 1 {
			t.Errorf("carried out %+v, %d debts kept; want nothing, 1", got, f.Debts())
		}
		f.Release()
		expectHeld(t, f, "k", false)
	})
}

func TestNextIsOverAfterItsCalls(t *testing.T) {
	virtual(t, Options{}, func(t *testing.T, f *Fake) {
		f.Next(LostReply, 2)
		for _, want := range []quorum.Vote{quorum.Failed, quorum.Failed, quorum.Refused} {
			expect(t, send(f, lock).one(t), want, false)
		}
		f.Next(Silent, 1)
		b := send(f, lock)
		expect(t, send(f, lock).one(t), quorum.Refused, false)
		b.none(t)
		f.Release()
		expect(t, b.one(t), quorum.Failed, false)
	})
}
