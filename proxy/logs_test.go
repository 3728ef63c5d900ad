package proxy_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"redlockproxy/conf"
	"redlockproxy/proxy"
	"redlockproxy/proxy/redistest"
)

// fields are the names in a line, sorted.
func (l line) fields() string {
	return strings.Join(slices.Sorted(maps.Keys(l)), " ")
}

func (w *world) wantLine(kind, fields string, values line) {
	w.t.Helper()
	all := w.awaitLogged(1, message(kind))
	last := all[len(all)-1]
	if got := last.fields(); got != fields {
		w.t.Errorf("%s has the fields %s, wanted %s", kind, got, fields)
	}
	for name, wanted := range values {
		if got := fmt.Sprint(last[name]); got != fmt.Sprint(wanted) {
			w.t.Errorf("%s: %s is %.300s, wanted %.300v", kind, name, got, wanted)
		}
	}
}

// between tells whether a number in the last line of a kind is in a range.
func (w *world) between(kind, field string, least, most float64) {
	w.t.Helper()
	all := w.logs.find(message(kind))
	n, isNumber := all[len(all)-1][field].(float64)
	if !isNumber || n < least || n > most {
		w.t.Errorf("%s: %s is %v", kind, field, all[len(all)-1][field])
	}
}

func TestEachAcquisitionLeavesOneLine(t *testing.T) {
	w := newWorld(t)
	c := w.client()
	const (
		won  = "elapsed_ms level message nodes_reached resource result topology ttl_ms validity_ms"
		lost = "elapsed_ms level message nodes_reached resource result topology ttl_ms"
		both = `if redis.call('SET',KEYS[1],ARGV[1],'NX','PX',ARGV[2]) then return redis.call('INCR',KEYS[2]) end return false`
	)
	count := func(n int) {
		t.Helper()
		if all := w.logs.find(message("acquisition")); len(all) != n {
			t.Fatalf("%d lines, wanted %d", len(all), n)
		}
	}
	c.want(ok, "SET", "lock", "T0ken", "NX", "PX", "30000")
	w.onAll("lock")
	count(1)
	w.wantLine("acquisition", won, line{"topology": "redlock", "resource": "lock", "ttl_ms": 30000, "result": "acquired", "level": "info"})
	w.between("acquisition", "nodes_reached", 3, 5)
	// An answer may take the 10 s of these settings.
	w.between("acquisition", "validity_ms", 20000, 30000)
	w.between("acquisition", "elapsed_ms", 0.001, 10000)

	c.want(nil, "SET", "lock", "T0ken", "NX", "PX", "20000")
	count(2)
	w.wantLine("acquisition", lost, line{"resource": "lock", "ttl_ms": 20000, "result": "taken"})

	c.want(int64(1), "SETNX", "lasting", "T0ken")
	count(3)
	w.wantLine("acquisition", lost, line{"resource": "lasting", "ttl_ms": 0, "result": "acquired"})

	c.want(int64(1), "EVAL", both, "2", "numbered", "fence", "T0ken", "40000")
	count(4)
	w.wantLine("acquisition", "elapsed_ms fencing_token level message nodes_reached resource result topology ttl_ms validity_ms",
		line{"resource": "numbered", "ttl_ms": 40000, "fencing_token": 1, "result": "acquired"})
	c.want(nil, "EVAL", both, "2", "numbered", "fence", "T0ken", "40000")
	count(5)
	w.wantLine("acquisition", lost, line{"resource": "numbered", "result": "taken"})

	c.want(ok, "MULTI")
	c.want(queued, "SET", "in multi", "T0ken", "NX", "PX", "10000")
	c.want([]any{ok}, "EXEC")
	count(6)
	w.wantLine("acquisition", won, line{"resource": "in multi", "ttl_ms": 10000})

	long := strings.Repeat("k", 10_000)
	c.want(ok, "SET", long, "T0ken", "NX", "PX", "10000")
	count(7)
	w.wantLine("acquisition", won, line{"resource": long[:256] + "…"})

	c.want(ok, "SET", "plain", "T0ken", "PX", "10000")
	c.want("T0ken", "GET", "plain")
	count(7)
}

func TestOutageIsInTheAcquisitionLine(t *testing.T) {
	w := newWorld(t, "LANE_VOTE=100ms", "SERVER_ANSWER_WITHIN=200ms")
	for _, s := range w.backends[:3] {
		s.Kill()
	}
	w.awaitLogged(3, func(l line) bool { return l["state"] == "down" })
	w.client().wantError("UNAVAILABLE ", "SET", "lock", "T0ken", "NX", "PX", "30000")
	w.wantLine("acquisition", "elapsed_ms level message nodes_reached resource result topology ttl_ms", line{"resource": "lock", "ttl_ms": 30000, "result": "unavailable"})
	w.between("acquisition", "nodes_reached", 0, 2)
}

func TestReleasesExtensionsAndCountersAreLoggedForDebugging(t *testing.T) {
	w := newWorld(t)
	c := w.client()
	const step = "elapsed_ms level message nodes_reached resource result topology"
	c.want(ok, "SET", "lock", "T0ken", "NX", "PX", "30000")
	c.want(int64(1), "EVAL", extend, "1", "lock", "T0ken", "40000")
	w.wantLine("extension", step, line{"level": "debug", "topology": "redlock", "resource": "lock", "result": "done"})
	c.want(int64(1), "PEXPIRE", "lock", "30000")
	if n := len(w.logs.find(message("extension"))); n != 2 {
		t.Errorf("%d extensions", n)
	}
	c.want(int64(1), "EVAL", release, "1", "lock", "T0ken")
	w.wantLine("release", step, line{"level": "debug", "resource": "lock", "result": "done"})
	c.want(ok, "SET", "lock", "T0ken", "NX", "PX", "30000")
	c.want(int64(1), "DEL", "lock")
	w.wantLine("release", "elapsed_ms level message resource result topology", line{"resource": "lock", "result": "done"})
	c.want(int64(0), "DEL", "lock")
	w.wantLine("release", "elapsed_ms level message resource result topology", line{"resource": "lock", "result": "refused"})
	c.want(int64(1), "INCR", "fence")
	w.wantLine("counter", "elapsed_ms fencing_token level message nodes_reached resource result topology", line{"resource": "fence", "fencing_token": 1, "result": "done"})
	c.want(int64(2), "EVAL", "return redis.call('INCR', KEYS[1])", "1", "fence")
	w.wantLine("counter", "elapsed_ms fencing_token level message nodes_reached resource result topology", line{"resource": "fence", "fencing_token": 2, "result": "done"})

	// A transaction is named by what it writes.
	c.want(ok, "SET", "lock", "T0ken", "NX", "PX", "30000")
	c.want(ok, "WATCH", "lock")
	c.want(ok, "MULTI")
	c.want(queued, "GET", "elsewhere")
	c.want(queued, "DEL", "lock")
	c.want([]any{nil, int64(1)}, "EXEC")
	w.wantLine("release", step, line{"resource": "lock", "result": "done"})
	c.want(ok, "MULTI")
	c.want(queued, "INCR", "other fence")
	c.want([]any{int64(1)}, "EXEC")
	w.wantLine("counter", "elapsed_ms fencing_token level message nodes_reached resource result topology", line{"resource": "other fence", "fencing_token": 1})

	quiet := join(t, w.backends, "LOG_LEVEL=info")
	c = quiet.client()
	c.want(int64(3), "INCR", "fence")
	c.want(int64(0), "DEL", "lock")
	if lines := quiet.logs.find(func(l line) bool { return l["level"] == "debug" }); len(lines) > 0 {
		t.Errorf("at level info: %v", lines)
	}
}

// canaries are what must never be seen: passwords, tokens, texts of scripts.
var canaries = []string{"Cl1entPassw0rd", "B4ckendPassw0rd", "Wr0ngPassw0rd", "T0kenCanary", "ScriptCanary", "V4lueCanary"}

func wantNoCanary(t *testing.T, where, text string) {
	t.Helper()
	for _, c := range canaries {
		if i := strings.Index(text, c); i >= 0 {
			t.Errorf("%s is in %s: …%s…", c, where, text[max(0, i-100):min(len(text), i+100)])
		}
	}
}

func TestSecretsAreInNoLogErrorOrReport(t *testing.T) {
	group := redistest.StartGroup(t, 5, redistest.Password(canaries[1]))
	w := &world{t: t, backends: group}
	relays, addrs := redistest.NewRelays(t, group.Addrs())
	for i, a := range addrs {
		addrs[i] = "redis://:" + canaries[1] + "@" + a
	}
	w.start(addrs, 5, "SERVER_PASSWORD="+canaries[0], "LANE_VOTE=300ms", "SERVER_ANSWER_WITHIN=500ms", "LOG_LEVEL=trace")
	var said strings.Builder
	run := func(c *client) {
		for _, args := range [][]string{
			{"AUTH", canaries[2]}, {canaries[2]}, {"HELLO", "3", "AUTH", "default", canaries[2]}, {"AUTH", "u", canaries[0]}, {"AUTH", canaries[0]},
			{"SET", "k", "T0kenCanary", "NX", "PX", "60000"}, {"SET", "k", "T0kenCanary", "NX", "PX", "60000"}, {"SETNX", "lasting", "T0kenCanary"},
			{"SET", "k", "V4lueCanary"}, {"INCR", "k"}, {"SET", "k", "T0kenCanary", "PX"}, {"EVAL", "return ScriptCanary", "0"},
			{"EVAL", release + " -- ScriptCanary", "1", "k", "T0kenCanary"}, {"EVAL", extend + " -- ScriptCanary", "1", "k", "V4lueCanary", "60000"},
			{"SCRIPT", "LOAD", "return 'ScriptCanary'"}, {"EVAL", "ScriptCanary(", "0"}, {"MULTI"}, {"SET", "m", "T0kenCanary", "NX", "PX", "60000"}, {"INCR", "k"}, {"EXEC"},
			{"DEL", "k"}, {"CLIENT", "LIST"}, {"CLIENT", "INFO"}, {"INFO"}, {"CONFIG", "GET", "*"}, {"COMMAND", "COUNT"}, {"AUTH", canaries[2]},
		} {
			reply := render(c.do(args...))
			if name := args[0]; name == "INFO" || name == "CLIENT" || name == "CONFIG" || strings.HasPrefix(reply, "-") && name != "EVAL" && !slices.Contains(canaries, name) {
				fmt.Fprintf(&said, "%s: %s\n", name, reply)
			}
		}
	}
	run(w.client())
	for _, r := range relays[:3] {
		r.Refuse()
	}
	run(w.client())
	for _, r := range relays {
		r.Pass()
	}
	w.awaitLogged(8, func(l line) bool { return l["state"] == "voter" })
	w.server.Shutdown()
	wantNoCanary(t, "the log", w.logs.String())
	wantNoCanary(t, "a reply", said.String())

	for name, credentials := range map[string]string{"right": ":" + canaries[1], "wrong": "Wr0ngPassw0rd:" + canaries[2]} {
		cfg := settings(t, []string{"redis://" + credentials + "@" + group[0].Addr()}, "SERVER_PASSWORD="+canaries[0], "LANE_CONNECT=2s")
		var table bytes.Buffer
		err := proxy.Check(t.Context(), cfg, &table, os.ReadFile)
		if (err == nil) != (name == "right") {
			t.Errorf("%s password: %v", name, err)
		}
		wantNoCanary(t, "the table of check", table.String()+fmt.Sprint(err))
		wantNoCanary(t, "the configuration", fmt.Sprintf("%v %+v %#v %s", cfg, cfg, cfg, cfg))
	}
}

// A blocked writer takes nothing until it is opened.
type blocked struct {
	logs
	open chan struct{}
	once sync.Once
}

func (b *blocked) Write(p []byte) (int, error) {
	<-b.open
	return b.logs.Write(p)
}

func (b *blocked) unblock() { b.once.Do(func() { close(b.open) }) }

// runInBackground runs the proxy as main does and returns how to end it.
func runInBackground(t *testing.T, cfg conf.Config, out, errs io.Writer) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- proxy.Run(ctx, cfg, "test", out, errs, os.ReadFile, proxy.Reload{}) }()
	stop = sync.OnceValue(func() error {
		cancel()
		select {
		case err := <-ended:
			return err
		case <-time.After(20 * time.Second):
			t.Error("it does not end")
			return nil
		}
	})
	t.Cleanup(func() { _ = stop() })
	return stop
}

// onSocket makes a proxy listen at a unix socket, whose name is known before.
func onSocket(t *testing.T, cfg conf.Config) (conf.Config, string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "proxy") // shorter than the test's own
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	cfg.Server.Listen = "unix:" + dir + "/s"
	return cfg, dir + "/s"
}

func dialSoon(t *testing.T, addr string) *client {
	t.Helper()
	redistest.Eventually(t, 10*time.Second, "the proxy listens", func() bool {
		c, err := redistest.Dial(addr)
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	})
	return dial(t, addr)
}

func TestLogThatNobodyReadsHoldsUpNoReply(t *testing.T) {
	cfg, addr := onSocket(t, settings(t, sockets(redistest.StartGroup(t, 5)), patient...))
	log := &blocked{open: make(chan struct{})}
	defer log.unblock()
	stop := runInBackground(t, cfg, io.Discard, log)
	c := dialSoon(t, addr)
	const n = 11_000 // more than may wait
	sent := make(chan error, 1)
	go func() {
		var b []byte
		for i := range n {
			b = append(b, redistest.Encode("SETNX", fmt.Sprint("taken", i%50), "x")...)
		}
		sent <- c.Write(b)
	}()
	start := time.Now()
	for range n {
		c.receive()
	}
	if err := <-sent; err != nil {
		t.Error(err)
	}
	t.Logf("%d replies in %s", n, time.Since(start))
	log.unblock()
	redistest.Eventually(t, 10*time.Second, "drops are counted", func() bool {
		info, _ := c.do("INFO", "quorum").(string)
		return strings.Contains(info, "log_lines_dropped:") && !strings.Contains(info, "log_lines_dropped:0\r\n")
	})
	if err := stop(); err != nil {
		t.Error(err)
	}
	if stopped := log.find(message("stopped")); len(stopped) != 1 || stopped[0]["log_lines_dropped"] == float64(0) {
		t.Errorf("%v", stopped)
	}
}
