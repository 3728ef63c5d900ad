package e2e_test

import (
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"redlockproxy/proxy/redistest"
)

// What docs/moving.md and docs/operations.md tell operators to do.

// A library that talks to the backends itself writes plain values to them.
func TestLibrariesOnTheBackendsAndTheProxyExcludeEachOther(t *testing.T) {
	w := newWorld(t, redistest.Patient(t)...)
	for _, b := range w.backends[:3] {
		if got := b.MustDo("SET", "lock:library", "its-token", "NX", "PX", "30000"); got != ok {
			t.Fatal(got)
		}
	}
	w.lock(nil, "lock:library", "mine", "30000")
	w.release(int64(0), "lock:library", "mine")
	for _, b := range w.backends[:3] {
		if got := b.MustDo("EVAL", releaseScript, "1", "lock:library", "its-token"); got != int64(1) {
			t.Errorf("the library's release: %v", got)
		}
	}
	w.lock(ok, "lock:library", "mine", "30000")
	taken := 0
	redistest.Eventually(t, 5*time.Second, "all backends have the lock", func() bool { return w.backends.Holding("lock:library") == 5 })
	for _, b := range w.backends {
		if got := b.MustDo("SET", "lock:library", "its-token", "NX", "PX", "30000"); got == nil {
			taken++
		}
	}
	if taken != 5 {
		t.Errorf("the library finds the lock taken on %d backends of 5", taken)
	}
}

// carryOver runs the lines of docs/moving.md that carry over numbers.
func carryOver(t *testing.T, from, to *redistest.Proxy) (said string, err error) {
	t.Helper()
	text, err := os.ReadFile("../../docs/moving.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), "3. **Carry over the numbers.**")
	after, _, _ = strings.Cut(after, "\n4. ")
	var lines strings.Builder
	for line := range strings.Lines(after) {
		if code, is := strings.CutPrefix(line, "       "); is {
			lines.WriteString(code)
		}
	}
	_, old, _ := net.SplitHostPort(from.Addr())
	_, fresh, _ := net.SplitHostPort(to.Addr())
	cmd := exec.CommandContext(t.Context(), "sh", "-c", strings.NewReplacer("-p 6380", "-p "+old, "-p 6390", "-p "+fresh).Replace(lines.String()))
	cmd.Dir = t.TempDir()
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// The numbers of a single Redis go on where they were, also those that the proxy in
// front of it has written.
func TestNumbersThatAreCarriedOverGoOn(t *testing.T) {
	old := redistest.Start(t)
	old.MustDo("SET", "a:fence", "41")
	single := redistest.StartProxy(t, []string{old.Addr()}, redistest.Patient(t)...)
	single.MustDo("SET", "fence:report", "6") // of the README
	single.MustDo("SET", "seen:report", "5")
	w := newWorld(t, redistest.Patient(t)...)
	if said, err := carryOver(t, single, w.proxy); err != nil || said != "OK\nOK\nOK\n" {
		t.Errorf("%v\n%s", err, said)
	}
	w.want(int64(42), "INCR", "a:fence")
	w.want(int64(7), "INCR", "fence:report")
	w.want("5", "GET", "seen:report")

	// What can't be read is not carried over as the text of its error.
	old.MustDo("LPUSH", "fence:none", "x")
	if said, err := carryOver(t, single, w.proxy); err == nil {
		t.Errorf("a number that can't be read: %s", said)
	}
	w.want(nil, "GET", "fence:none")
	old.Kill()
	if said, err := carryOver(t, single, w.proxy); err == nil {
		t.Errorf("without the old Redis: %s", said)
	}
}

// One entry of the list changes, for one proxy after the other.
func TestReplacedBackendIsRefilledWhileBothListsAreInUse(t *testing.T) {
	patient := redistest.Patient(t)
	w := newWorld(t, patient...)
	w.lock(ok, "lock:before", "me", "60000")
	w.backends[2].Kill()

	fresh := redistest.Start(t)
	list := slices.Clone(w.addrs)
	list[2] = fresh.Addr()
	changed := &world{t: t, backends: w.backends, addrs: list, untimed: true}
	changed.proxy = redistest.StartProxy(t, list, patient...)
	changed.awaitInfo("voters:5", "refills=1")
	if !holds(fresh, "lock:before", "me") {
		t.Errorf("the new backend holds %q", fresh.Get("lock:before"))
	}
	w.awaitInfo("voters:4")
	changed.lock(nil, "lock:before", "you", "60000")
	changed.lock(ok, "lock:new", "you", "60000")
	w.lock(nil, "lock:new", "me", "60000")
	w.release(int64(1), "lock:before", "me")
	changed.lock(ok, "lock:before", "you", "60000")
}
