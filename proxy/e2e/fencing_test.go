package e2e_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"redlockproxy/proxy/redistest"
)

func TestFencingNumbersRiseThroughBackendsThatMissedSome(t *testing.T) {
	backends := redistest.StartGroup(t, 5, redistest.Persistent())
	w := &world{t: t, backends: backends, addrs: backends.Addrs()}
	file := filepath.Join(t.TempDir(), "proxy.toml")
	// Long for a busy machine, and short because each refill waits for as long.
	if err := os.WriteFile(file, []byte("[server]\nanswer_within = \"1s\"\n[lane]\nvote = \"450ms\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.start("-config", file)
	last := int64(0)
	next := func() {
		t.Helper()
		n, isNumber := w.do("INCR", "fence").(int64)
		if !isNumber || n <= last {
			t.Fatalf("INCR: %d after %d", n, last)
		}
		last = n
	}
	for range 5 {
		next()
	}
	// Two others miss numbers each time, and vote with what they have when they are back.
	for _, missing := range [][2]int{{3, 4}, {0, 1}, {2, 3}, {4, 0}} {
		for _, n := range missing {
			backends[n].Kill()
		}
		next()
		next()
		for _, n := range missing {
			backends[n].RestartWithData()
		}
		w.awaitVotes(w.proxy, backends...)
		next()
	}
	if got := w.do("GET", "fence"); got == nil || got == "0" {
		t.Errorf("GET of the counter: %v", got)
	}
}

// Why the order is: take the lock, take a number, look whether the lock is still
// one's own, and only then use the number.
func TestLookingAfterTheNumberShowsThatTheLockIsLost(t *testing.T) {
	w := newWorld(t, redistest.Patient(t)...)
	w.lock(ok, "lock:order", "stale", "1000")
	redistest.Eventually(t, 10*time.Second, "somebody else has the lock", func() bool {
		return w.do("SET", "lock:order", "present", "NX", "PX", "60000") == ok
	})
	w.want(int64(1), "INCR", "lock:order:fence") // the present holder's
	w.want(int64(2), "INCR", "lock:order:fence") // the stale one's is newer
	w.want("present", "GET", "lock:order")       // and this tells it not to use that
	w.extend(int64(0), "lock:order", "stale", "60000")
	w.extend(int64(1), "lock:order", "present", "60000")
}
