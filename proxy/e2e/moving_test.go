package e2e_test

import (
	"slices"
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

// The numbers of a single Redis go on where they were, also those that the proxy in
// front of it has written.
func TestNumbersThatAreCarriedOverGoOn(t *testing.T) {
	old := redistest.Start(t)
	old.MustDo("SET", "a:fence", "41")
	single := redistest.StartProxy(t, []string{old.Addr()}, redistest.Patient(t)...)
	single.MustDo("SET", "b:fence", "6")
	w := newWorld(t, redistest.Patient(t)...)
	found, _ := single.MustDo("SCAN", "0", "MATCH", "*:fence", "COUNT", "100").([]any)
	if len(found) != 2 {
		t.Fatalf("SCAN: %v", found)
	}
	names, _ := found[1].([]any)
	if len(names) != 2 {
		t.Fatalf("the old proxy finds %v", names)
	}
	for _, name := range names {
		key, _ := name.(string)
		number, _ := single.MustDo("GET", key).(string)
		w.want(ok, "SET", key, number)
	}
	w.want(int64(42), "INCR", "a:fence")
	w.want(int64(7), "INCR", "b:fence")
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
