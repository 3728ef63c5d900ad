package e2e_test

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"redlockproxy/proxy/redistest"
)

// rights are what the documents tell operators to give the proxy's user.
func rights(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("../../deploy/redis/rights.acl")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(text))
}

// limitedWorld is a world whose proxy logs in as a user with just the given rights.
func limitedWorld(t *testing.T, rights ...string) *world {
	t.Helper()
	user := append([]string{"--user", "redlock-proxy", "on", ">secret"}, rights...)
	w := &world{t: t, backends: redistest.StartGroup(t, 5, redistest.Args(user...))}
	w.relays, w.addrs = redistest.NewRelays(t, w.backends.Addrs())
	for i, a := range w.addrs {
		w.addrs[i] = "redis://redlock-proxy:secret@" + a
	}
	w.proxy = redistest.StartProxy(t, w.addrs, redistest.Patient(t)...)
	w.untimed = true
	w.awaitInfo("voters:5")
	return w
}

// awaitInfo waits until INFO of the proxy has all the texts.
func (w *world) awaitInfo(texts ...string) {
	w.t.Helper()
	redistest.Eventually(w.t, 10*time.Second, strings.Join(texts, " and "), func() bool {
		info, _ := w.do("INFO", "quorum").(string)
		return !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(info, text) })
	})
}

// useEverything does whatever makes the proxy send something to backends.
func (w *world) useEverything() {
	w.t.Helper()
	for _, b := range w.backends {
		b.MustDo("LPUSH", "lock:list", "x")
		b.MustDo("SCRIPT", "FLUSH")
	}
	w.lock(ok, "lock:a", "me", "30000")
	w.lock(nil, "lock:a", "you", "30000")
	w.want("me", "GET", "lock:a")
	w.extend(int64(1), "lock:a", "me", "40000")
	w.want(int64(1), "PERSIST", "lock:a")
	w.want(redistest.Status("list"), "TYPE", "lock:list")
	w.want(int64(3), "EVAL", "redis.call('set', KEYS[1], 'v'); redis.call('set', KEYS[2], 'v'); return 3", "2", "lock:c", "lock:d")
	for i, number := range []string{"41", "30", "20"} { // so that the backends disagree
		w.backends[i].MustDo("APPEND", "lock:fence", number)
	}
	w.want(int64(42), "INCR", "lock:fence")
	w.want(int64(5), "DBSIZE")
	w.do("SCAN", "0")
	w.release(int64(1), "lock:a", "me")
	for _, r := range w.relays {
		r.Disconnect()
	}
	w.awaitVotes(w.proxy, w.backends...)
}

func TestBackendUserNeedsJustTheRightsThatAreDocumented(t *testing.T) {
	list := rights(t)
	w := limitedWorld(t, list...)
	w.useEverything()
	w.backends[3].Restart()
	w.awaitInfo("voters:5", "refills=1")

	used := map[string]bool{}
	for i, b := range w.backends {
		text, _ := b.MustDo("INFO", "commandstats").(string)
		for line := range strings.Lines(text) {
			name, _, _ := strings.Cut(strings.TrimPrefix(line, "cmdstat_"), ":")
			used["+"+name] = true
		}
		if log, _ := b.MustDo("ACL", "LOG").([]any); len(log) > 0 {
			t.Errorf("backend %d refused %v", i, log)
		}
	}
	for _, right := range list {
		if strings.HasPrefix(right, "+") && !used[right] {
			t.Errorf("%s is documented, and nothing needed it", right)
		}
	}
}

// A user that may touch only the keys of locks needs the proxy's own key besides.
func TestRightsOnSomeKeysAreEnoughToBeRefilled(t *testing.T) {
	list := rights(t)
	all := slices.Index(list, "~*")
	if all < 0 {
		t.Fatalf("no ~* in %v", list)
	}
	w := limitedWorld(t, slices.Replace(list, all, all+1, "~lock:*", "~"+redistest.Marker)...)
	w.lock(ok, "lock:a", "me", "30000")
	w.want(int64(1), "INCR", "lock:fence")
	w.backends[3].Restart()
	w.awaitInfo("voters:5", "refills=1")
	if got := w.backends[3].Keys(); !slices.Equal(got, []string{"lock:a", "lock:fence"}) {
		t.Errorf("the backend that came back empty has %q", got)
	}
	if reply := w.do("SET", "other", "me", "NX", "PX", "1000"); !isUnavailable(reply) {
		t.Errorf("a key that its user must not touch: %v", reply)
	}
	for i, b := range w.backends {
		log, _ := b.MustDo("ACL", "LOG").([]any)
		for _, entry := range log {
			if fields, _ := entry.([]any); !slices.Contains(fields, any("other")) {
				t.Errorf("backend %d refused %v", i, entry)
			}
		}
	}
}

func isUnavailable(reply any) bool {
	e, isError := reply.(redistest.Error)
	return isError && e.Code() == "UNAVAILABLE"
}
