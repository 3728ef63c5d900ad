package proxy_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"redlockproxy/proxy"
	"redlockproxy/proxy/redistest"
)

func TestEmbeddedBackendsServeAFirstTry(t *testing.T) {
	cfg, addr := onSocket(t, settings(t, nil, "LANE_VOTE=1s", "SERVER_ANSWER_WITHIN=1s"))
	if !cfg.Embedded {
		t.Fatal("backends came from somewhere")
	}
	var out, errs logs
	stop := runInBackground(t, cfg, &out, &errs)
	c := dialSoon(t, addr)
	c.want(ok, "SET", "lock:job", "my-token", "NX", "PX", "30000")
	c.want(nil, "SET", "lock:job", "other", "NX", "PX", "30000")
	c.want(int64(1), "EVAL", release, "1", "lock:job", "my-token")
	c.want(int64(1), "INCR", "lock:job:fence")
	c.want("1", "GET", "lock:job:fence")
	if err := stop(); err != nil {
		t.Error(err)
	}
	for _, words := range []string{"five embedded backends", "redis-cli -s " + addr, "fail together"} {
		if !strings.Contains(out.String(), words) {
			t.Errorf("the notice does not say %q:\n%s", words, out.String())
		}
	}
	if listening := errs.find(message("listening")); len(listening) != 1 || listening[0]["quorum"] != float64(3) || listening[0]["topology"] != "redlock" {
		t.Errorf("%v", listening)
	}
}

// closable is a stream that notices being closed, as the process's own would.
type closable struct {
	logs
	closed bool
}

func (c *closable) Close() error {
	c.closed = true
	return nil
}

func TestStartThatFailsCanStillSayWhy(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, format := range []string{"json", "console"} {
		cfg := settings(t, nil, "LOG_FORMAT="+format)
		cfg.Server.Listen = taken.Addr().String()
		var errs closable
		err = proxy.Run(t.Context(), cfg, "test", io.Discard, &errs, os.ReadFile, proxy.Reload{})
		if err == nil || !strings.Contains(err.Error(), "server.listen") {
			t.Errorf("%v", err)
		}
		if errs.closed {
			t.Error("the stream that errors go to was closed")
		}
	}
}

// The log's reader may be stuck for good; the program ends all the same.
func TestLogThatNobodyReadsDoesNotKeepTheProgramFromEnding(t *testing.T) {
	cfg, addr := onSocket(t, settings(t, nil))
	log := &blocked{open: make(chan struct{})}
	stop := runInBackground(t, cfg, io.Discard, log)
	dialSoon(t, addr).want(pong, "PING")
	start := time.Now()
	if err := stop(); err != nil {
		t.Error(err)
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("it took %s", took)
	}
	log.unblock() // the goroutine that is left must not outlive the test
	redistest.Eventually(t, 5*time.Second, "the rest is written", func() bool { return len(log.find(message("stopped"))) == 1 })
}

func TestLibrarysWordsGoToTheLog(t *testing.T) {
	dead := redistest.Start(t)
	dead.Kill()
	cfg, addr := onSocket(t, settings(t, []string{dead.Addr()}, "LOG_LEVEL=debug"))
	var errs logs
	stop := runInBackground(t, cfg, io.Discard, &errs)
	dialSoon(t, addr)
	redistest.Eventually(t, 5*time.Second, "a line of the library", func() bool {
		return len(errs.find(func(l line) bool { return l["library"] == "go-redis" && l["level"] == "debug" })) > 0
	})
	if err := stop(); err != nil {
		t.Error(err)
	}
	if down := errs.find(func(l line) bool { return l["state"] == "down" && l["level"] == "warn" }); len(down) != 1 || down[0]["backend"] != dead.Addr() {
		t.Errorf("%v", down)
	}
}

func TestPingAsksTheServerOnThisMachine(t *testing.T) {
	w := newWorld(t, "SERVER_PASSWORD=S3cret")
	cfg := settings(t, nil, "SERVER_PASSWORD=S3cret")
	cfg.Server.Listen = w.addr
	if err := proxy.Ping(t.Context(), cfg.Server, os.ReadFile); err != nil {
		t.Error(err)
	}
	wrong := settings(t, nil, "SERVER_PASSWORD=0ther")
	wrong.Server.Listen = w.addr
	if err := proxy.Ping(t.Context(), wrong.Server, os.ReadFile); err == nil || strings.Contains(err.Error(), "0ther") || !strings.Contains(err.Error(), "password") {
		t.Errorf("%v", err)
	}
	none := settings(t, nil)
	none.Server.Listen = w.addr
	if err := proxy.Ping(t.Context(), none.Server, os.ReadFile); err == nil || !strings.Contains(err.Error(), "NOAUTH") {
		t.Errorf("%v", err)
	}
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	none.Server.Listen = silent.Addr().String()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := proxy.Ping(ctx, none.Server, os.ReadFile); err == nil {
		t.Error("a silent server is well")
	}
	_ = silent.Close()
	if err := proxy.Ping(t.Context(), none.Server, os.ReadFile); err == nil {
		t.Error("nobody is well")
	}
}

func TestCheckShowsWhatIsUnfit(t *testing.T) {
	group := redistest.StartGroup(t, 4)
	evicting := redistest.Start(t, redistest.Args("--maxmemory-policy", "allkeys-lru"))
	group[2].MustDo("REPLICAOF", "127.0.0.1", "1")
	group[3].Kill()
	backends := []string{group[0].Addr(), "unix:" + group[0].Socket(), group[2].Addr(), group[3].Addr(), evicting.Addr()}
	var table bytes.Buffer
	err := proxy.Check(t.Context(), settings(t, backends, "LANE_CONNECT=2s"), &table, os.ReadFile)
	if err == nil || err.Error() != "3 of 5 backends are unfit; 3 are needed for any decision" {
		t.Errorf("%v", err)
	}
	rows := strings.Split(strings.TrimSpace(table.String()), "\n")
	if len(rows) != 6 {
		t.Fatalf("table:\n%s", &table)
	}
	for i, wanted := range []string{"BACKEND", " fit ", "the same server as " + group[0].Addr(), "it is a replica", "connection refused", "maxmemory-policy is allkeys-lru"} {
		if !strings.Contains(rows[i], wanted) {
			t.Errorf("row %d does not say %q:\n%s", i, wanted, &table)
		}
	}
	table.Reset()
	if err := proxy.Check(t.Context(), settings(t, nil), &table, os.ReadFile); err != nil || !strings.Contains(table.String(), "No backends are named") {
		t.Errorf("%v, %s", err, &table)
	}
	table.Reset()
	if err := proxy.Init(t.Context(), settings(t, []string{group[0].Addr()}, "LANE_CONNECT=2s"), &table, os.ReadFile); err != nil || !strings.Contains(table.String(), "Nothing to declare") {
		t.Errorf("%v, %s", err, &table)
	}
}

// TestVoterThatIsFullKeepsNobodyFromInit has one that check calls unfit.
func TestVoterThatIsFullKeepsNobodyFromInit(t *testing.T) {
	w := newWorld(t)
	w.backends[4].MustDo("CONFIG", "SET", "maxmemory", "1")
	cfg := settings(t, sockets(w.backends), "LANE_CONNECT=2s")
	var table bytes.Buffer
	if err := proxy.Check(t.Context(), cfg, &table, os.ReadFile); err == nil || !strings.Contains(err.Error(), "1 of 5 backends are unfit") {
		t.Errorf("%v", err)
	}
	rows := strings.Split(strings.TrimSpace(table.String()), "\n")
	row := rows[len(rows)-1]
	for _, wanted := range []string{" unfit ", " ms ", "its memory is full"} {
		if !strings.Contains(row, wanted) {
			t.Errorf("its row does not say %q:\n%s", wanted, &table)
		}
	}
	table.Reset()
	if err := proxy.Init(t.Context(), cfg, &table, os.ReadFile); err != nil || !strings.Contains(table.String(), "Nothing to declare") {
		t.Errorf("%v, %s", err, &table)
	}
}

func TestOneBackendIsTheTopologySingle(t *testing.T) {
	w := &world{t: t, backends: redistest.StartGroup(t, 1)}
	w.start(sockets(w.backends), 1)
	c := w.client()
	c.want(ok, "SET", "lock", "t", "NX", "PX", "30000")
	w.wantLine("acquisition", "elapsed_ms level message replica_promoted resource result topology ttl_ms validity_ms", line{"topology": "single", "replica_promoted": false})
	c.want(nil, "SET", "lock", "u", "NX", "PX", "30000")
	c.want(int64(1), "EVAL", release, "1", "lock", "t")
	w.gone("lock")
}

func TestShutdownUndoesWhatWasNotTold(t *testing.T) {
	w := newRelayedWorld(t)
	for _, r := range w.relays {
		r.Delay(500*time.Millisecond, redistest.Replies)
	}
	c := w.client()
	c.sendAll([]string{"SET", "told", "t", "NX", "PX", "60000"}, []string{"SET", "told too", "t", "NX", "PX", "60000"})
	other := w.client()
	other.sendAll([]string{"SET", "hungup", "t", "NX", "PX", "60000"})
	w.onAny("told too")
	w.onAny("hungup")
	if err := other.Reset(); err != nil {
		t.Fatal(err)
	}
	w.server.Shutdown()
	c.want2(ok)
	c.want2(ok)
	w.onAll("told")
	w.gone("hungup")
}
