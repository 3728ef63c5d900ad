package proxy_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"redlockproxy/conf"
	"redlockproxy/proxy"
	"redlockproxy/proxy/redistest"
)

func TestMain(m *testing.M) {
	redis.SetLogger(silence{}) // as Run does, which has another place for it
	goleak.VerifyTestMain(suite{m})
}

// A suite fails also if it has run whole and did not need all of the table.
type suite struct{ *testing.M }

func (s suite) Run() int {
	code := s.M.Run()
	if code != 0 || flag.Lookup("test.run").Value.String() != "" || flag.Lookup("test.skip").Value.String() != "" || flag.Lookup("test.list").Value.String() != "" {
		return code
	}
	all, err := differences()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	for _, row := range all.unused() {
		fmt.Fprintf(os.Stderr, "testdata/differences.md: no test needed the row %s", row)
		code = 1
	}
	return code
}

type silence struct{}

func (silence) Printf(context.Context, string, ...any) {}

const (
	ok     = redistest.Status("OK")
	pong   = redistest.Status("PONG")
	queued = redistest.Status("QUEUED")

	release = `if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('del',KEYS[1]) else return 0 end`
	extend  = `if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('pexpire',KEYS[1],ARGV[2]) else return 0 end`

	// busy computes for as long as its limit in time lets it.
	busy = `local n = 0 for i = 1, 1e8 do n = n + i end return n`
)

// patient are settings with which a loaded machine is not taken for an outage.
// Tests of time limits set their own.
var patient = []string{
	"LANE_CONNECT=2s", "LANE_VOTE=5s", "LANE_STALL=10s", "SERVER_ANSWER_WITHIN=10s", "LOG_LEVEL=debug",
}

// A world is five backends and a proxy in this process, started as main does.
type world struct {
	t        *testing.T
	backends redistest.Group
	relays   []*redistest.Relay // in front of the backends, if asked for
	server   *proxy.Server
	addr     string
	logs     *logs
}

// settings makes a checked configuration of lines such as LANE_VOTE=1s, as the
// environment would.
func settings(t *testing.T, backends []string, lines ...string) conf.Config {
	t.Helper()
	var environ []string
	for _, l := range lines {
		environ = append(environ, "REDLOCK_PROXY_"+l)
	}
	args := []string{"serve", "-listen", "127.0.0.1:0", "-admin", ""}
	if len(backends) > 0 {
		args = append(args, "-backends", strings.Join(backends, ","))
	}
	cfg, _, err := conf.Load(args, environ, os.ReadFile)
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// newWorld starts five backends and a proxy, and waits until all vote.
func newWorld(t *testing.T, lines ...string) *world {
	t.Helper()
	return join(t, redistest.StartGroup(t, 5), lines...)
}

// join starts a proxy in front of backends that run already.
func join(t *testing.T, backends redistest.Group, lines ...string) *world {
	t.Helper()
	w := &world{t: t, backends: backends}
	w.start(sockets(backends), 5, lines...)
	return w
}

// newRelayedWorld is newWorld with a relay in front of each backend.
func newRelayedWorld(t *testing.T, lines ...string) *world {
	t.Helper()
	w := &world{t: t, backends: redistest.StartGroup(t, 5)}
	relays, addrs := redistest.NewRelays(t, w.backends.Addrs())
	w.relays = relays
	w.start(addrs, 5, lines...)
	return w
}

func sockets(g redistest.Group) []string {
	var all []string
	for _, s := range g {
		all = append(all, "unix:"+s.Socket())
	}
	return all
}

func (w *world) start(backends []string, voters int, lines ...string) {
	w.t.Helper()
	cfg := settings(w.t, backends, append(slices.Clone(patient), lines...)...)
	level, err := zerolog.ParseLevel(cfg.Log.Level)
	if err != nil {
		w.t.Fatal(err)
	}
	w.logs = &logs{}
	w.server, err = proxy.New(cfg, "test", zerolog.New(w.logs).Level(level), os.ReadFile)
	if err != nil {
		w.t.Fatal(err)
	}
	addr, err := w.server.Listen(os.ReadFile)
	if err != nil {
		w.t.Fatal(err)
	}
	w.addr = addr.String()
	w.t.Cleanup(w.server.Shutdown)
	w.t.Cleanup(func() {
		if w.t.Failed() {
			w.t.Logf("the proxy's log begins with:\n%.6000s", w.logs)
		}
	})
	w.awaitLogged(voters, func(l line) bool { return l["state"] == "voter" })
}

// awaitLogged waits until the log has that many lines of a kind.
func (w *world) awaitLogged(n int, kind func(line) bool) []line {
	w.t.Helper()
	var found []line
	redistest.Eventually(w.t, 10*time.Second, "log lines", func() bool {
		found = w.logs.find(kind)
		return len(found) >= n
	})
	return found
}

// client connects to the proxy.
func (w *world) client() *client { return dial(w.t, w.addr) }

// keysLeft are the keys that any backend holds.
func (w *world) keysLeft() []string {
	w.t.Helper()
	all := map[string]bool{}
	for _, s := range w.backends {
		for _, k := range s.Keys() {
			all[k] = true
		}
	}
	var names []string
	for k := range all {
		names = append(names, k)
	}
	slices.Sort(names)
	return names
}

// gone checks that no backend holds any of the keys, now and for a moment.
func (w *world) gone(keys ...string) {
	w.t.Helper()
	redistest.Settles(w.t, 100*time.Millisecond, 5*time.Second, fmt.Sprintf("%q gone from all backends", keys), func() bool {
		return !slices.ContainsFunc(keys, func(k string) bool { return w.backends.Holding(k) > 0 })
	})
}

// onAll waits until every backend holds the key.
func (w *world) onAll(key string) {
	w.t.Helper()
	redistest.Eventually(w.t, 5*time.Second, key+" on all backends", func() bool { return w.backends.Holding(key) == len(w.backends) })
}

// onAny waits until a backend holds the key: a request is under way, and no majority
// has answered it, if the answers are slow.
func (w *world) onAny(key string) {
	w.t.Helper()
	redistest.Eventually(w.t, 5*time.Second, key+" on a backend", func() bool { return w.backends.Holding(key) > 0 })
}

// A client is a raw connection whose commands must be answered.
type client struct {
	*redistest.Client
	t *testing.T
}

func dial(t *testing.T, addr string) *client {
	t.Helper()
	c, err := redistest.Dial(addr)
	if err != nil {
		t.Fatal(err)
	}
	c.Timeout = 15 * time.Second
	t.Cleanup(func() { _ = c.Close() })
	return &client{Client: c, t: t}
}

func (c *client) do(args ...string) any {
	c.t.Helper()
	reply, err := c.Do(args...)
	if err != nil {
		c.t.Fatalf("%.100q: %v", args, err)
	}
	return reply
}

func (c *client) receive() any {
	c.t.Helper()
	reply, err := c.Receive()
	if err != nil {
		c.t.Fatal(err)
	}
	return reply
}

func (c *client) want(wanted any, args ...string) {
	c.t.Helper()
	if got := c.do(args...); !same(got, wanted) {
		c.t.Errorf("%s: %s, wanted %s", spell(args), render(got), render(wanted))
	}
}

// wantError checks for an error reply that begins with a text.
func (c *client) wantError(begin string, args ...string) {
	c.t.Helper()
	got := c.do(args...)
	if e, isError := got.(redistest.Error); !isError || !strings.HasPrefix(string(e), begin) {
		c.t.Errorf("%s: %s, wanted an error that begins with %q", spell(args), render(got), begin)
	}
}

// wantClosed checks that the other side ends the connection.
func (c *client) wantClosed() {
	c.t.Helper()
	if reply, err := c.Receive(); err == nil {
		c.t.Errorf("%v came over a connection that should have ended", reply)
	}
}

// sendAll writes all commands at once.
func (c *client) sendAll(commands ...[]string) {
	c.t.Helper()
	var b []byte
	for _, args := range commands {
		b = append(b, redistest.Encode(args...)...)
	}
	if err := c.Write(b); err != nil {
		c.t.Fatal(err)
	}
}

// same compares replies.
func same(a, b any) bool { return fmt.Sprintf("%#v", a) == fmt.Sprintf("%#v", b) }

// logs collects the lines of a log.
type logs struct {
	mu  sync.Mutex
	all bytes.Buffer
}

// line is one line of the log.
type line map[string]any

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(p)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.String()
}

func (l *logs) find(kind func(line) bool) []line {
	var found []line
	for text := range strings.Lines(l.String()) {
		var fields line
		if err := json.Unmarshal([]byte(text), &fields); err == nil && kind(fields) {
			found = append(found, fields)
		}
	}
	return found
}

// message selects the lines with that message.
func message(text string) func(line) bool {
	return func(l line) bool { return l["message"] == text }
}
