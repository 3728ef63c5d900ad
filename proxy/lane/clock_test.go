package lane

import (
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"redlockproxy/proxy/redistest"
)

// looks feeds a clock with one look each second, by a backend whose clock is what told
// says at a time since the start, over round trips of that length.
func looks(c *clock, from, to time.Duration, start time.Time, trip time.Duration, told func(time.Duration) time.Duration) {
	for at := from; at <= to; at += time.Second {
		c.note(at, at+trip, start.Add(told(at+trip/2)))
	}
}

// latest is the drift at the time of the last look.
func latest(c *clock) (time.Duration, bool) {
	if len(c.looks) == 0 {
		return c.drift(0)
	}
	return c.drift(c.looks[len(c.looks)-1].at)
}

func TestClockThatKeepsPaceDoesNotDrift(t *testing.T) {
	for name, ahead := range map[string]time.Duration{"same time": 0, "a year ahead": 365 * 24 * time.Hour, "an hour behind": -time.Hour} {
		var c clock
		if _, known := latest(&c); known {
			t.Errorf("%s: a drift before the first look", name)
		}
		looks(&c, 0, 10*time.Minute, time.Now(), 10*time.Millisecond, func(d time.Duration) time.Duration { return ahead + d })
		if d, known := latest(&c); !known || d != 0 {
			t.Errorf("%s: %s, %t", name, d, known)
		}
	}
}

func TestClockThatIsSetDriftsForAsLongAsTheWindow(t *testing.T) {
	for _, jump := range []time.Duration{30 * time.Second, -30 * time.Second, 60 * time.Millisecond} {
		var c clock
		start := time.Now()
		told := func(d time.Duration) time.Duration {
			if d >= 10*time.Second {
				d += jump
			}
			return d
		}
		looks(&c, 0, 9*time.Second, start, 2*time.Millisecond, told)
		if d, _ := latest(&c); d != 0 {
			t.Errorf("%s before it was set", d)
		}
		looks(&c, 10*time.Second, clockWindow, start, 2*time.Millisecond, told)
		if d, _ := latest(&c); (d - jump).Abs() > 2*time.Millisecond {
			t.Errorf("%s, wanted %s", d, jump)
		}
		looks(&c, clockWindow+time.Second, clockWindow+time.Minute, start, 2*time.Millisecond, told)
		if d, _ := latest(&c); d != 0 {
			t.Errorf("%s, although nothing has moved for the whole window", d)
		}
	}
}

func TestClockThatRunsFastDriftsByItsRate(t *testing.T) {
	var c clock
	looks(&c, 0, 20*time.Minute, time.Now(), 0, func(d time.Duration) time.Duration { return d + d/100 })
	if d, _ := latest(&c); (d - clockWindow/100).Abs() > 20*time.Millisecond {
		t.Errorf("%s in five minutes at a rate of 1 %%", d)
	}
	if n := len(c.looks); n > int(clockWindow/probeEvery)+1 {
		t.Errorf("%d looks are kept", n)
	}
}

func TestDriftOfABackendThatIsGoneIsForgottenAfterTheWindow(t *testing.T) {
	var c clock
	start := time.Now()
	looks(&c, 0, 20*time.Second, start, 0, func(d time.Duration) time.Duration { return 2 * d })
	if d, known := c.drift(20*time.Second + clockWindow - time.Second); !known || d == 0 {
		t.Errorf("%s, %t within the window", d, known)
	}
	if d, known := c.drift(20*time.Second + clockWindow + time.Second); known || d != 0 {
		t.Errorf("%s, %t long after the last look", d, known)
	}
}

// An answer that takes long may be from its beginning or its end.
func TestSlowRoundTripIsNoDrift(t *testing.T) {
	var c clock
	start := time.Now()
	even := func(d time.Duration) time.Duration { return d }
	looks(&c, 0, 9*time.Second, start, time.Millisecond, even)
	c.note(10*time.Second, 12*time.Second, start.Add(12*time.Second))
	if d, _ := latest(&c); d != 0 {
		t.Errorf("%s", d)
	}
	c.note(13*time.Second, 15*time.Second, start.Add(17*time.Second))
	if d, _ := latest(&c); (d - 2*time.Second).Abs() > 2*time.Millisecond {
		t.Errorf("%s of at least 2 s", d)
	}
}

func TestLaneMeasuresTheBackendsClock(t *testing.T) {
	server := miniredis.RunT(t)
	l := open(t, testConfig(redis.Options{Addr: server.Addr()}))
	eventually(t, "the clock is known", func() bool { _, known := l.Drift(); return known })
	if d, _ := l.Drift(); d.Abs() > time.Second {
		t.Errorf("%s", d)
	}
	// By a clock that does not stand still while the machine is suspended.
	l.clock.mu.Lock()
	if ago := sinceBoot() - l.clock.looks[0].at; ago < 0 || ago > time.Minute {
		t.Errorf("the first look was %s ago", ago)
	}
	l.clock.mu.Unlock()
	server.SetTime(time.Now().Add(time.Hour))
	eventually(t, "the jump is seen", func() bool { d, _ := l.Drift(); return d > 59*time.Minute })
	if f := l.Facts(); !f.DriftKnown || f.Drift < 59*time.Minute || f.RoundTrip <= 0 {
		t.Errorf("%+v", f)
	}
}

func TestRestartIsSeenAndForgetsTheOldClock(t *testing.T) {
	server := redistest.Start(t)
	l := open(t, tcp(server.Addr()))
	eventually(t, "the clock is known", func() bool { _, known := l.Drift(); return known })
	before := l.Facts()
	if before.Restarts != 0 || before.Promotions != 0 || before.Greeting.Role != "master" || before.Greeting.RunID == "" {
		t.Errorf("%+v", before)
	}
	server.Restart()
	eventually(t, "the restart is seen", func() bool { return l.Facts().Restarts == 1 && l.State() == Voter })
	after := l.Facts()
	if after.Promotions != 1 || after.Greeting.RunID == before.Greeting.RunID {
		t.Errorf("%+v", after)
	}
	l.clock.mu.Lock()
	defer l.clock.mu.Unlock()
	if n := len(l.clock.looks); n > 0 && sinceBoot()-l.clock.looks[0].at > time.Since(after.Since)+time.Second {
		t.Errorf("the oldest of %d looks is from before the restart", n)
	}
}

// A connection that is lost and made again is no restart.
func TestLostConnectionIsNoRestart(t *testing.T) {
	server := redistest.Start(t)
	relay := redistest.NewRelay(t, server.Addr())
	l := open(t, tcp(relay.Addr()))
	accepted := relay.Accepted()
	relay.Disconnect()
	eventually(t, "it is connected again", func() bool { return relay.Accepted() > accepted && l.State() == Voter })
	if f := l.Facts(); f.Restarts != 0 || f.Promotions != 0 {
		t.Errorf("%+v", f)
	}
}

func TestReplicaThatBecomesAPrimaryWasPromoted(t *testing.T) {
	primary := redistest.Start(t)
	replica := redistest.Start(t)
	host, port := "127.0.0.1", primary.Addr()[len("127.0.0.1:"):]
	replica.MustDo("REPLICAOF", host, port)
	l := Open(tcp(replica.Addr()))
	t.Cleanup(l.Close)
	eventually(t, "it is unfit", func() bool { return l.State() == Unfit })
	replica.MustDo("REPLICAOF", "NO", "ONE")
	eventually(t, "it votes", func() bool { return l.State() == Voter })
	if f := l.Facts(); f.Promotions != 1 || f.Restarts != 0 {
		t.Errorf("%+v", f)
	}
}
