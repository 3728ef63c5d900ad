package quorum_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"redlockproxy/quorum"
	"redlockproxy/quorum/quorumtest"
)

// The drift is taken off, never added; its factor is a share, its offset 2 ms.
func TestValidityTable(t *testing.T) {
	const most = 1<<63 - 1
	for _, c := range []struct{ ttl, elapsed, plain, padded time.Duration }{
		{1000 * ms, 0, 988 * ms, 1000 * ms},
		{1000 * ms, 500 * ms, 488 * ms, 500 * ms},
		{1000 * ms, 985 * ms, 3 * ms, 15 * ms},
		{1000 * ms, 988 * ms, 0, 12 * ms},
		{1000 * ms, 1000 * ms, -12 * ms, 0},
		{1000 * ms, 1001 * ms, -13 * ms, -ms},
		{ms, 0, -ms - ms/100, ms},
		{ms, ms - 1, -2*ms - ms/100 + 1, 1},
		{ms, ms, -2*ms - ms/100, 0},
		{0, 0, -2 * ms, 0},
		{36e6 * ms, 0, 35639998 * ms, 36e6 * ms},
		{most / 2, 0, most/2 - most/200 - 2*ms, most / 2},
	} {
		if got := quorum.Validity(c.ttl, c.elapsed, false); got != c.plain {
			t.Errorf("ttl %v, elapsed %v: %v, want %v", c.ttl, c.elapsed, got, c.plain)
		}
		if got := quorum.Validity(c.ttl, c.elapsed, true); got != c.padded {
			t.Errorf("padded ttl %v, elapsed %v: %v, want %v", c.ttl, c.elapsed, got, c.padded)
		}
	}
}

func TestStoredTTLIsWholeMillisecondsAndNeverShorter(t *testing.T) {
	for _, c := range []struct{ ttl, plain, padded time.Duration }{
		{0, 0, 0}, // no expiry stays none
		{ms, ms, 4 * ms},
		{1, ms, 3 * ms},
		{50 * ms, 50 * ms, 53 * ms},
		{1000 * ms, 1000 * ms, 1012 * ms},
		{1000*ms + 1, 1001 * ms, 1013 * ms},
		{time.Hour, time.Hour, time.Hour + 36*time.Second + 2*ms},
	} {
		if got := quorum.StoredTTL(c.ttl, false); got != c.plain {
			t.Errorf("%v: stored for %v, want %v", c.ttl, got, c.plain)
		}
		if got := quorum.StoredTTL(c.ttl, true); got != c.padded {
			t.Errorf("%v: padded to %v, want %v", c.ttl, got, c.padded)
		}
	}
}

// What was stored a moment ago comes back as the client gave it, and never as more.
func TestRemainingTakesThePadOff(t *testing.T) {
	for ttl := ms; ttl < 20*time.Second; ttl += 7 * ms {
		got := quorum.Remaining(quorum.StoredTTL(ttl, true))
		if got != ttl && got != ttl+ms {
			t.Errorf("%v, padded and read at once: %v", ttl, got)
		}
	}
	for _, c := range []struct{ reported, want time.Duration }{
		{0, 0}, {ms, 0}, {2 * ms, 0}, {3 * ms, ms}, {quorum.NoTTL, quorum.NoTTL},
		{1012 * ms, 1000 * ms}, {1000 * 24 * time.Hour, 86400000*ms*1000*100/101 - 2*ms},
	} {
		if got := quorum.Remaining(c.reported); got < c.want-ms || got > c.want+ms {
			t.Errorf("%v reported: %v, want %v", c.reported, got, c.want)
		}
	}
}

// Fast backends take 1 % off; what is left is more than what the client counts,
// counted from before the backends had the request.
func TestPaddedTTLOutlivesTheClientsOwn(t *testing.T) {
	for _, ttl := range []time.Duration{ms, 2 * ms, 50 * ms, 1000 * ms, 60 * time.Second} {
		virtual(t, func(t *testing.T, r *rig) {
			for _, f := range r.fakes {
				f.SetDelay(0, 0)
				f.SetClockRate(1.01)
			}
			began := time.Now()
			r.acquire("L", "a", ttl)
			time.Sleep(ttl - 1 - time.Since(began))
			synctest.Wait()
			r.expectAll("L", "a")
			time.Sleep(ttl/50 + 4*ms)
			r.expectAll("L", "")
		})
	}
}

func TestLockIsValidByTheClockThatSaysMore(t *testing.T) {
	for _, c := range []struct {
		monotonic, wall time.Duration
		valid           bool
	}{
		{20 * ms, 20 * ms, true},
		{20 * ms, 60 * time.Second, false}, // the machine was suspended
		{60 * time.Second, 20 * ms, false}, // the wall clock was put back
		{20 * ms, -time.Hour, true},
		{30 * time.Second, 0, false},
		{29 * time.Second, 0, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := quorum.StoppedLock(30*time.Second, c.monotonic, c.wall, true)
			if l.Valid(time.Now()) != c.valid {
				t.Errorf("monotonic %v, wall %v: valid %v, validity %v", c.monotonic, c.wall, l.Valid(time.Now()), l.Validity(time.Now()))
			}
		})
	}
}

// The grants were in time; the machine slept before the client could be told.
func TestSuspendedMachineDoesNotStretchALock(t *testing.T) {
	virtual(t, func(t *testing.T, r *rig) {
		l := r.acquire("L", "a", 30*time.Second)
		if !l.Valid(time.Now()) {
			t.Fatalf("not valid at first: %v", l.Validity(time.Now()))
		}
		if l = quorum.AfterSuspend(l, time.Minute); l.Valid(time.Now()) || l.Validity(time.Now()) > 0 {
			t.Errorf("valid after a minute of sleep: %v", l.Validity(time.Now()))
		}
		r.Undo(l)
		r.rest()
		r.expectAll("L", "")
	})
}

func TestLockWithoutTTLIsAlwaysValid(t *testing.T) {
	virtual(t, func(t *testing.T, r *rig) {
		l := r.acquire("L", "a", 0)
		if l = quorum.AfterSuspend(l, 1000*time.Hour); !l.Valid(time.Now()) || l.Validity(time.Now()) != quorum.NoTTL {
			t.Errorf("valid %v, validity %v", l.Valid(time.Now()), l.Validity(time.Now()))
		}
		if h, _ := r.fakes[0].Peek("L"); h.TTL != quorum.NoTTL {
			t.Errorf("stored for %v, want for ever", h.TTL)
		}
	})
}

// Without padding a lock of 50 ms is over 2.5 ms early.
func TestGrantsThatComeTooLateAreNoLock(t *testing.T) {
	for _, c := range []struct {
		reply  time.Duration
		padded bool
		won    bool
	}{
		{47 * ms, false, true}, {48 * ms, false, false}, {49 * ms, false, false},
		{47 * ms, true, true}, {49 * ms, true, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, 5, func(cfg *quorum.Config) { cfg.PadTTL = c.padded })
			defer r.Close()
			for _, f := range r.fakes {
				f.SetDelay(0, c.reply)
			}
			a, err := r.Acquire(context.Background(), "L", "a", 50*ms)
			if err != nil || a.Won != c.won || a.Tally.Granted < 3 || a.Attempts != 1 {
				t.Errorf("replies after %v: won %v, %+v, %d attempts, error %v", c.reply, a.Won, a.Tally, a.Attempts, err)
			}
			if !c.won {
				time.Sleep(c.reply) // the stragglers, and what they owe
				synctest.Wait()
				r.expectAll("L", "")
			}
		})
	}
}

// The time of an attempt that was lost is not the next one's.
func TestElapsedCountsFromTheAttemptThatWon(t *testing.T) {
	virtual(t, func(t *testing.T, r *rig) {
		r.plant("L", "x"+tag, 20*ms, 1, 2)
		r.plant("L", "y"+tag, 20*ms, 3, 4)
		a, err := r.Acquire(context.Background(), "L", "a", 10*time.Second)
		if err != nil || !a.Won || a.Attempts != 2 {
			t.Fatalf("won %v in %d attempts, error %v; want the second", a.Won, a.Attempts, err)
		}
		if got, want := a.Lock.Validity(time.Now()), 10*time.Second-2*oneWay; got != want {
			t.Errorf("validity %v, want %v", got, want)
		}
	})
}

// A lock of a millisecond is either good or gone; it never holds up its client.
func TestShortTTLsWorkOrFailAtOnce(t *testing.T) {
	for _, c := range []struct {
		ttl time.Duration
		won bool
	}{{ms, false}, {2 * ms, false}, {3 * ms, true}, {5 * ms, true}, {20 * ms, true}, {100 * ms, true}} {
		virtual(t, func(t *testing.T, r *rig) {
			var a quorum.Acquisition
			if d := took(func() { a, _ = r.Acquire(context.Background(), "L", "a", c.ttl) }); d > 2*oneWay {
				t.Errorf("ttl %v: answered after %v", c.ttl, d)
			}
			if a.Won != c.won || c.won && !a.Lock.Valid(time.Now()) {
				t.Errorf("ttl %v: won %v, validity %v", c.ttl, a.Won, a.Lock.Validity(time.Now()))
			}
			if !c.won {
				r.rest()
				r.expectAll("L", "")
			}
		})
	}
}

func TestLongTTLsDoNotStretchTheTimeLimits(t *testing.T) {
	virtual(t, func(t *testing.T, r *rig) {
		r.set(quorumtest.Frozen, 5)
		if d := took(func() { r.acquire("L", "a", 10*time.Hour) }); d != 2*oneWay {
			t.Errorf("one backend frozen: answered after %v", d)
		}
		r.set(quorumtest.Frozen, 3, 4)
		d := took(func() {
			_, err := r.Acquire(context.Background(), "M", "a", 10*time.Hour)
			expectUnavailable(t, "three frozen", err)
		})
		if d != 100*ms {
			t.Errorf("three backends frozen: answered after %v, want at the limit of a vote", d)
		}
		r.heal()
		r.expectAll("M", "")
	})
}
