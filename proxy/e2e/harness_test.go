package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"redlockproxy/proxy/redistest"
)

func TestMain(m *testing.M) { os.Exit(redistest.Main(m)) }

const (
	ok = redistest.Status("OK")

	// The two scripts that applications release and extend locks with.
	releaseScript = `if redis.call("get",KEYS[1]) == ARGV[1] then return redis.call("del",KEYS[1]) else return 0 end`
	extendScript  = `if redis.call("get",KEYS[1]) == ARGV[1] then return redis.call("pexpire",KEYS[1],ARGV[2]) else return 0 end`

	// answerTime is how soon every command must be answered, by an error too: the
	// proxy's own limit of 200 ms, and 100 ms for a busy machine.
	answerTime = 300 * time.Millisecond
)

// world is five backends, a relay in front of each if asked for, and a proxy.
type world struct {
	t        *testing.T
	backends redistest.Group
	relays   []*redistest.Relay
	addrs    []string // what the proxy is told: the backends' or the relays' addresses
	proxy    *redistest.Proxy
	untimed  bool // its limits are not the default ones
}

// newWorld starts all that and waits until all five backends vote.
func newWorld(t *testing.T, extraArgs ...string) *world {
	t.Helper()
	group := redistest.StartGroup(t, 5)
	w := &world{t: t, backends: group, addrs: group.Addrs()}
	w.start(extraArgs...)
	return w
}

func newRelayedWorld(t *testing.T, extraArgs ...string) *world {
	t.Helper()
	w := &world{t: t, backends: redistest.StartGroup(t, 5)}
	w.relays, w.addrs = redistest.NewRelays(t, w.backends.Addrs())
	w.start(extraArgs...)
	return w
}

// quickToStart makes arguments as redistest.Patient does, with the default limit for
// connecting: a start waits for it where a backend is silent.
func quickToStart(t *testing.T) []string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "proxy.toml")
	if err := os.WriteFile(file, []byte("[server]\nanswer_within = \"4s\"\n[lane]\nvote = \"1900ms\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return []string{"-config", file}
}

func (w *world) start(extraArgs ...string) {
	w.t.Helper()
	w.proxy = redistest.StartProxy(w.t, w.addrs, extraArgs...)
	w.untimed = slices.Contains(extraArgs, "-config")
	w.awaitVotes(w.proxy, w.backends...)
}

// awaitVotes waits until as many backends vote as are given, and locks taken at the
// proxy reach each of them.
func (w *world) awaitVotes(proxy *redistest.Proxy, backends ...*redistest.Server) {
	w.t.Helper()
	n := 0
	redistest.Eventually(w.t, 20*time.Second, "the backends vote, and the proxy's locks reach them", func() bool {
		n++
		if proxy.Voters() < len(backends) {
			return false
		}
		key := fmt.Sprintf("probe:%d", n)
		if reply, err := proxy.Do("SET", key, "x", "NX", "PX", "5000"); err != nil || reply != ok {
			return false
		}
		time.Sleep(2 * time.Millisecond) // the two votes that nobody waited for
		held := redistest.Group(backends).Holding(key)
		reply, err := proxy.Do("DEL", key)
		_, deleted := reply.(int64) // on a busy machine a vote can still be too late
		return err == nil && deleted && held == len(backends)
	})
}

// do sends one command to the proxy and checks that it is answered in time, unless
// the proxy was told to take more.
func (w *world) do(args ...string) any {
	w.t.Helper()
	start := time.Now()
	reply, err := w.proxy.Do(args...)
	if err != nil {
		w.t.Fatalf("%v: %v", args, err)
	}
	if took := time.Since(start); took > answerTime && !w.untimed {
		w.t.Errorf("%v took %s", args, took)
	}
	return reply
}

// want checks the reply to one command.
func (w *world) want(wanted any, args ...string) {
	w.t.Helper()
	if reply := w.do(args...); reply != wanted {
		w.t.Errorf("%v: %#v, wanted %#v", args, reply, wanted)
	}
}

// wantUnavailable checks that a command is refused for want of a majority.
func (w *world) wantUnavailable(args ...string) {
	w.t.Helper()
	reply := w.do(args...)
	if e, isError := reply.(redistest.Error); !isError || e.Code() != "UNAVAILABLE" {
		w.t.Errorf("%v: %#v, wanted an error that starts with UNAVAILABLE", args, reply)
	}
}

func (w *world) lock(wanted any, key, token, millis string) {
	w.t.Helper()
	w.want(wanted, "SET", key, token, "NX", "PX", millis)
}

func (w *world) release(wanted any, key, token string) {
	w.t.Helper()
	w.want(wanted, "EVAL", releaseScript, "1", key, token)
}

func (w *world) extend(wanted any, key, token, millis string) {
	w.t.Helper()
	w.want(wanted, "EVAL", extendScript, "1", key, token, millis)
}

// gone checks that no key is left on the backends, or comes back to them: what a
// refusal or a release has to clear may still be on its way. All of the backends
// must be running.
func (w *world) gone(backends redistest.Group, keys ...string) {
	w.t.Helper()
	w.goneWithin(2*time.Second, backends, keys...)
}

func (w *world) goneWithin(most time.Duration, backends redistest.Group, keys ...string) {
	w.t.Helper()
	redistest.Settles(w.t, 200*time.Millisecond, most, fmt.Sprintf("%v gone from the backends", keys), func() bool {
		return !slices.ContainsFunc(keys, func(key string) bool { return backends.Holding(key) > 0 })
	})
}

// holds tells whether what a backend holds under key is that token, whatever the
// proxy wrote behind it.
func holds(s *redistest.Server, key, token string) bool {
	return strings.HasPrefix(s.Get(key), token)
}

// median is the middle one of some durations, worst the longest.
func median(times []time.Duration) (middle, worst time.Duration) {
	sorted := slices.Sorted(slices.Values(times))
	return sorted[len(sorted)/2], sorted[len(sorted)-1]
}

// timed runs f n times and returns how long each took.
func timed(n int, f func(i int)) []time.Duration {
	times := make([]time.Duration, n)
	for i := range times {
		start := time.Now()
		f(i)
		times[i] = time.Since(start)
	}
	return times
}

// lockName names a lock of its own for each i.
func lockName(i int) string { return fmt.Sprintf("lock:%d", i) }
