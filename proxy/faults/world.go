package faults

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"redlockproxy/proxy/faults/history"
	"redlockproxy/proxy/redistest"
)

// healTime is how long proxies and backends may take to find together again after the
// last fault: a backend that forgot needs more than a second, and one whose clock was
// set has to show a while that it is right.
const healTime = 20 * time.Second

// world is the processes of one history.
type world struct {
	tb       testing.TB
	plan     Plan
	backends redistest.Group
	config   string // the path of the proxies' configuration file
	proxies  []*node
}

// node is a proxy, whose process may be replaced, and its links to the backends.
type node struct {
	relays  []*redistest.Relay
	addrs   []string // the relays'
	current atomic.Pointer[redistest.Proxy]
}

func (n *node) process() *redistest.Proxy { return n.current.Load() }

// newWorld starts everything and waits until all backends vote.
func newWorld(tb testing.TB, plan Plan) *world {
	tb.Helper()
	w := &world{tb: tb, plan: plan}
	w.backends = redistest.StartGroup(tb, Backends, redistest.Persistent(), redistest.OwnClock())
	w.config = filepath.Join(tb.TempDir(), "proxy.toml")
	// The cap on ttls is what a group that has lost too much has to wait out.
	settings := fmt.Sprintf(Profiled+"[group]\nmax_ttl = %q\n", max(plan.TTL, time.Second))
	w.check(os.WriteFile(w.config, []byte(settings), 0o600))
	for i := range plan.Proxies {
		n := &node{}
		n.relays, n.addrs = redistest.NewRelays(tb, w.backends.Addrs())
		w.proxies = append(w.proxies, n)
		w.startProxy(i)
	}
	w.awaitVoters()
	return w
}

func (w *world) startProxy(i int) {
	w.tb.Helper()
	n := w.proxies[i]
	n.current.Store(w.newProxy(n))
}

func (w *world) newProxy(n *node) *redistest.Proxy {
	w.tb.Helper()
	return redistest.StartProxy(w.tb, n.addrs, append(ProfiledArgs(), "-config", w.config)...)
}

func (w *world) check(err error) {
	w.tb.Helper()
	if err != nil {
		w.tb.Fatal(err)
	}
}

// awaitVoters waits until every proxy counts on every backend.
func (w *world) awaitVoters() {
	w.tb.Helper()
	for i, n := range w.proxies {
		redistest.Eventually(w.tb, healTime, fmt.Sprintf("proxy %d counts on all backends", i), func() bool {
			return n.process().Voters() == Backends
		})
	}
}

// event is the beginning or the end of a fault.
type event struct {
	at  time.Duration
	do  func(Fault)
	who Fault
}

// leftovers are the locks that backends hold now.
func (w *world) leftovers() (left []history.Leftover) {
	w.tb.Helper()
	for i, s := range w.backends {
		for _, key := range s.Keys() {
			if !strings.HasPrefix(key, lockPrefix) {
				continue
			}
			token, _, tagged := strings.Cut(s.Get(key), tokenEnd)
			if tagged {
				left = append(left, history.Leftover{Backend: i, Key: key, Token: token + tokenEnd})
			}
		}
	}
	return left
}
