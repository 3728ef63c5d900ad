package clients

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"redlockproxy/proxy/redistest"
)

func TestMain(m *testing.M) { os.Exit(redistest.Main(m)) }

// library is one client library and what is done with it. Keys that it uses
// begin with "lock:" or "fence:".
type library struct {
	// works takes, contends for, extends, releases and loses locks, and fails the
	// test unless all is as with one healthy Redis.
	works func(t *testing.T, addr string)
	// fails does the same things while most backends are down, and fails the test
	// unless each ends with an error that says UNAVAILABLE.
	fails func(t *testing.T, addr string)
}

// drive runs a library against one Redis, which shows that the scenario itself is
// right, and against the proxy while its backends go down one by one.
func drive(t *testing.T, l library) {
	t.Run("one Redis", func(t *testing.T) { l.works(t, redistest.Start(t).Addr()) })

	group := redistest.StartGroup(t, 5)
	proxy := redistest.StartProxy(t, group.Addrs(), redistest.Patient(t)...)
	redistest.Eventually(t, 5*time.Second, "the proxy's locks reach its backends", func() bool {
		reply, err := proxy.Do("SET", "probe", "x", "PX", "60000")
		return err == nil && reply == redistest.Status("OK") && group.Holding("probe") == len(group)
	})
	t.Run("five backends", func(t *testing.T) {
		l.works(t, proxy.Addr())
		wantNothingLeft(t, group)
	})
	t.Run("two of five stopped", func(t *testing.T) {
		group[1].Kill()
		group[4].Kill()
		l.works(t, proxy.Addr())
		wantNothingLeft(t, redistest.Group{group[0], group[2], group[3]})
	})
	t.Run("three of five stopped", func(t *testing.T) {
		group[2].Kill()
		l.fails(t, proxy.Addr())
		wantNothingLeft(t, redistest.Group{group[0], group[3]})
	})
}

// wantNothingLeft looks at each backend itself: locks that were released, lost
// or never granted must be gone. Fencing counters stay.
func wantNothingLeft(t *testing.T, group redistest.Group) {
	t.Helper()
	held := func(s *redistest.Server) []string {
		return slices.DeleteFunc(s.Keys(), func(key string) bool { return !strings.HasPrefix(key, "lock:") })
	}
	// A write whose reply nobody waited for may still come, with its undo behind it.
	redistest.Settles(t, 100*time.Millisecond, 2*time.Second, "no lock is left on the backends that run", func() bool {
		return !slices.ContainsFunc(group, func(s *redistest.Server) bool { return len(held(s)) > 0 })
	})
}

// scriptTime bounds a script; they take about two seconds. One that doesn't end
// has a client that waits for a reply, or for its connection to be closed.
const scriptTime = 20 * time.Second

// script runs a script of another language with the address and the scenario as
// its arguments; it says what went wrong and ends with an exit code other than 0.
func script(interpreter, file, scenario string) func(*testing.T, string) {
	return func(t *testing.T, addr string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), scriptTime)
		defer cancel()
		cmd := exec.CommandContext(ctx, interpreter, file, addr, scenario)
		cmd.WaitDelay = time.Second
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s %s: %v (did ../setup.sh run?)\n%s", file, scenario, err, out)
		}
	}
}

// wantUnavailable checks an error that a library gave while most backends were down.
func wantUnavailable(t *testing.T, what string, err error) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), "UNAVAILABLE") {
		t.Errorf("%s with three of five backends down: %v", what, err)
	}
}

// inTime fails the test if what ran since start was slower than an answer may be:
// a library that silently sends again, or waits, shows here.
func inTime(t *testing.T, what string, start time.Time) {
	t.Helper()
	if took := time.Since(start); took > 500*time.Millisecond {
		t.Errorf("%s took %s", what, took)
	}
}
