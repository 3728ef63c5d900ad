package e2e_test

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"redlockproxy/proxy/look"
	"redlockproxy/proxy/redistest"
)

// ttls are the times to live of a key on all backends, in milliseconds: -1 for none, -2
// where there is no key.
func (w *world) ttls(key string) []int64 {
	w.t.Helper()
	all := make([]int64, len(w.backends))
	for i, s := range w.backends {
		all[i] = s.MustDo("PTTL", key).(int64)
	}
	return all
}

// awaitTTLs waits until the times to live of a key on all backends are between two.
func (w *world) awaitTTLs(key string, least, most int64) {
	w.t.Helper()
	redistest.Eventually(w.t, 5*time.Second, key+" has the wanted ttl on all backends", func() bool {
		return !slices.ContainsFunc(w.ttls(key), func(ttl int64) bool { return ttl < least || ttl > most })
	})
}

// A lock that is taken without a ttl, or gets it by a second command, is for ever if its
// client dies in between: the same on all backends, as on one Redis. The log says so to
// who reads it, and whoever gives it a ttl later gives it to all.
func TestLockOfAClientThatDiedBeforeItsExpireIsForEverUntilSomebodyElsesExpire(t *testing.T) {
	t.Parallel() // it waits most of the time, and allows for much
	for name, taking := range map[string]struct {
		command []string
		reply   any
	}{
		"SETNX":          {[]string{"SETNX", "lock", "T0ken"}, int64(1)},
		"SET NX":         {[]string{"SET", "lock", "T0ken", "NX"}, ok},
		"SET NX KEEPTTL": {[]string{"SET", "lock", "T0ken", "NX", "KEEPTTL"}, ok},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, redistest.Patient(t)...)
			c := w.proxy.Client()
			if reply, err := c.Do(taking.command...); err != nil || reply != taking.reply {
				t.Fatalf("%v, %v", reply, err)
			}
			if err := c.Reset(); err != nil {
				t.Fatal(err)
			}
			w.awaitTTLs("lock", -1, -1)
			w.want(int64(-1), "PTTL", "lock")
			w.lock(nil, "lock", "b", "5000")
			redistest.Eventually(t, 5*time.Second, "the log warns", func() bool {
				return strings.Contains(w.proxy.Output(), "a lock without a time to live")
			})
			if strings.Contains(w.proxy.Output(), "T0ken") {
				t.Error("the token is in the log")
			}

			w.want(int64(1), "PEXPIRE", "lock", "5000")
			w.awaitTTLs("lock", 1, 5052) // one per cent and 2 ms are added
			w.want(int64(1), "DEL", "lock")
			w.gone(w.backends, "lock")

			// Without a majority nothing stays, not even on those that took it.
			for _, s := range w.backends[:3] {
				s.Pause()
			}
			w.wantUnavailable(taking.command...)
			for _, s := range w.backends[:3] {
				s.Resume()
			}
			w.goneWithin(5*time.Second, w.backends, "lock")
		})
	}
}

// Who extends a lock for ever is seen: when it was taken and how often it has been
// extended in the log, how many extensions there are in the metrics, and by which hash of
// its token it is held, on which backends and for how long, at the admin address.
func TestLockThatIsExtendedForEverIsSeen(t *testing.T) {
	w := newWorld(t, append(redistest.Patient(t), "-admin", "127.0.0.1:0", "-log-level", "debug")...)
	const extensions = 10
	w.lock(ok, "lock:stuck", "T0ken", "60000")
	before := w.holder("lock:stuck")
	for range extensions {
		w.extend(int64(1), "lock:stuck", "T0ken", "60000")
		w.lock(nil, "lock:stuck", "Other", "60000")
	}
	if after := w.holder("lock:stuck"); after != before || before == "" {
		t.Errorf("held by %q, and by %q before it was extended", after, before)
	}

	taken, last := time.Time{}, time.Time{}
	extended := 0
	redistest.Eventually(t, 5*time.Second, "all extensions are logged", func() bool {
		extended = 0
		for _, line := range w.proxy.Logs() {
			at, _ := time.Parse(time.RFC3339, line["time"].(string))
			switch {
			case line["resource"] != "lock:stuck":
			case line["message"] == "acquisition" && line["result"] == "acquired":
				taken = at
			case line["message"] == "extension" && line["result"] == "done":
				last = at
				extended++
			}
		}
		return extended >= extensions
	})
	if extended != extensions || taken.IsZero() || last.Before(taken) {
		t.Errorf("taken at %s, extended %d times, the last time at %s", taken, extended, last)
	}
	if text := w.get("/metrics"); !strings.Contains(text, `redlock_proxy_operations_total{operation="extend",outcome="extended"} 10`) {
		t.Error("the metrics do not show 10 extensions")
	}
	if text := w.proxy.Output() + w.get("/locks.json?part=lock") + w.get("/metrics"); strings.Contains(text, "T0ken") {
		t.Error("the token is shown")
	}
}

// get is what the admin address serves at a path.
func (w *world) get(path string) string {
	w.t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * time.Second}
	reply, err := client.Get("http://" + w.proxy.Admin() + path)
	if err != nil {
		w.t.Fatal(err)
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	if err != nil || reply.StatusCode != http.StatusOK {
		w.t.Fatalf("%s: %s, %v", path, reply.Status, err)
	}
	return string(text)
}

// holder is the hash of the token by which a lock is held on a majority, as the admin
// address shows it.
func (w *world) holder(key string) string {
	w.t.Helper()
	w.get("/locks.json?part=another") // or the answer could be the one of a moment ago
	var found look.Locks
	if err := json.Unmarshal([]byte(w.get("/locks.json?part="+key)), &found); err != nil {
		w.t.Fatal(err)
	}
	for _, k := range found.Keys {
		if k.Name == key && k.Answer == look.Taken && k.Holders >= 3 && k.Validity > 50_000 {
			return k.Token
		}
	}
	return ""
}
