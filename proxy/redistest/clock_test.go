package redistest

import (
	"strconv"
	"testing"
	"time"
)

// ahead is how far a server's clock is ahead of the true time, to a few milliseconds.
func ahead(t *testing.T, s *Server) time.Duration {
	t.Helper()
	before := time.Now()
	reply := s.MustDo("TIME").([]any)
	seconds, err1 := strconv.ParseInt(reply[0].(string), 10, 64)
	micros, err2 := strconv.ParseInt(reply[1].(string), 10, 64)
	if err1 != nil || err2 != nil {
		t.Fatalf("TIME: %v", reply)
	}
	return time.Unix(seconds, micros*1000).Sub(before)
}

// near tells whether two times are the same but for what a busy machine adds.
func near(a, b time.Duration) bool { return (a - b).Abs() < 50*time.Millisecond }

func TestServersOwnClockIsRightAtFirst(t *testing.T) {
	s := Start(t, OwnClock())
	if got := ahead(t, s); !near(got, 0) {
		t.Errorf("ahead by %s", got)
	}
	if s.Info("monotonic_clock") == "" {
		t.Error("no word of a monotonic clock")
	}
}

func TestStepOfTheClockEndsAndProlongsKeys(t *testing.T) {
	s := Start(t, OwnClock(), Persistent())
	s.MustDo("SET", "short", "v", "PX", "10000")
	s.MustDo("SET", "long", "v", "PX", "7200000")
	step(t, s, time.Hour)
	if s.Get("short") != "" || s.Get("long") == "" {
		t.Errorf("after a step forward by an hour: %v", s.Keys())
	}
	if got := ahead(t, s); !near(got, time.Hour) {
		t.Errorf("ahead by %s", got)
	}
	s.RestartWithData()
	if got := ahead(t, s); !near(got, time.Hour) {
		t.Errorf("ahead by %s after a restart", got)
	}
	step(t, s, -2*time.Hour)
	if left := s.MustDo("PTTL", "long").(int64); left < 2*7200000-3600000-60000 {
		t.Errorf("after a step back by two hours a key has %d ms left", left)
	}
	if got := s.Clock().Offset(); !near(got, -time.Hour) {
		t.Errorf("offset %s", got)
	}
}

func step(t *testing.T, s *Server, d time.Duration) {
	t.Helper()
	if err := s.Clock().Step(d); err != nil {
		t.Fatal(err)
	}
}

func TestFastClockEndsKeysEarly(t *testing.T) {
	s := Start(t, OwnClock())
	if err := s.Clock().Rate(1.5); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	s.MustDo("SET", "k", "v", "PX", "600")
	Eventually(t, 2*time.Second, "the key ends", func() bool { return s.Get("k") == "" })
	if took := time.Since(start); took < 380*time.Millisecond || took > 550*time.Millisecond {
		t.Errorf("600 ms of a clock half as fast again took %s", took)
	}
	if err := s.Clock().Rate(1); err != nil {
		t.Fatal(err)
	}
	was := ahead(t, s)
	time.Sleep(200 * time.Millisecond) // only time can show a rate
	if is := ahead(t, s); !near(was, is) || was < 150*time.Millisecond {
		t.Errorf("ahead by %s, and after a while at the true rate by %s", was, is)
	}
}
