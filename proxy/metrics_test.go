package proxy_test

import (
	"bufio"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"redlockproxy/proxy/redistest"
)

// get asks the admin address for a path.
func (w *world) get(path string) *httptest.ResponseRecorder {
	w.t.Helper()
	r := httptest.NewRecorder()
	w.server.Admin().ServeHTTP(r, httptest.NewRequest(http.MethodGet, path, nil))
	return r
}

// scrape is every series with its value.
func (w *world) scrape() map[string]float64 {
	w.t.Helper()
	all := map[string]float64{}
	lines := bufio.NewScanner(w.get("/metrics").Body)
	for lines.Scan() {
		if text := lines.Text(); !strings.HasPrefix(text, "#") {
			i := strings.LastIndexByte(text, ' ')
			value, err := strconv.ParseFloat(text[i+1:], 64)
			if err != nil {
				w.t.Fatalf("%q: %v", text, err)
			}
			all[text[:i]] = value
		}
	}
	return all
}

func operation(name, outcome string) string {
	return fmt.Sprintf("redlock_proxy_operations_total{operation=%q,outcome=%q}", name, outcome)
}

// wantRise checks which series of a family rise by what f does, and by how much.
func (w *world) wantRise(family string, wanted map[string]float64, f func()) {
	w.t.Helper()
	before := w.scrape()
	f()
	after := w.scrape()
	for name, value := range after {
		if rise := value - before[name]; strings.HasPrefix(name, family) && rise != wanted[name] {
			w.t.Errorf("%s rose by %g, wanted %g", name, rise, wanted[name])
		}
	}
	for name := range wanted {
		if _, there := after[name]; !there {
			w.t.Errorf("there is no series %s", name)
		}
	}
}

func TestEachOperationIsCountedByWhatItDidAndHowItEnded(t *testing.T) {
	w := newWorld(t)
	c := w.client()
	for _, step := range []struct {
		operation, outcome string
		commands           [][]string
	}{
		{"acquire", "acquired", [][]string{{"SET", "a", "t", "NX", "PX", "60000"}}},
		{"acquire", "acquired", [][]string{{"SETNX", "lasting", "t"}}},
		{"acquire", "taken", [][]string{{"SET", "a", "u", "NX", "PX", "60000"}}},
		{"extend", "extended", [][]string{{"EVAL", extend, "1", "a", "t", "60000"}}},
		{"extend", "lost", [][]string{{"EVAL", extend, "1", "a", "u", "60000"}}},
		{"extend", "extended", [][]string{{"PEXPIRE", "a", "60000"}}},
		{"release", "not_yours", [][]string{{"EVAL", release, "1", "a", "u"}}},
		{"release", "released", [][]string{{"EVAL", release, "1", "a", "t"}}},
		{"release", "not_yours", [][]string{{"DEL", "a"}}},
		{"count", "counted", [][]string{{"INCR", "n"}}},
		{"count", "error", [][]string{{"INCR", "lasting"}}},
		{"read", "answered", [][]string{{"GET", "n"}}},
		{"write", "written", [][]string{{"SET", "w", "x", "PX", "60000"}}},
		{"write", "refused", [][]string{{"SET", "none", "x", "XX"}}},
		{"script", "run", [][]string{{"EVAL", "return redis.call('GET', KEYS[1])", "1", "w"}}},
		{"acquire", "acquired", [][]string{{"MULTI"}, {"SET", "m", "t", "NX", "PX", "60000"}, {"EXEC"}}},
	} {
		w.wantRise("redlock_proxy_operations_total", map[string]float64{operation(step.operation, step.outcome): 1}, func() {
			for _, args := range step.commands {
				c.do(args...)
			}
		})
	}
	w.wantRise("redlock_proxy_operations_total", map[string]float64{operation("script", "refused"): 1, operation("write", "written"): 1}, func() {
		c.want(ok, "WATCH", "w")
		w.client().want(ok, "SET", "w", "y")
		c.want(ok, "MULTI")
		c.want(queued, "GET", "w")
		c.want(nil, "EXEC")
	})
}

// A lock that nobody could get because others held it in parts is neither taken nor an
// outage.
func TestSplitVoteIsToldFromATakenLock(t *testing.T) {
	w := newWorld(t)
	for i, s := range w.backends[:4] {
		s.MustDo("SET", "split", []string{"x", "y"}[i%2])
	}
	w.wantRise("redlock_proxy_operations_total", map[string]float64{operation("acquire", "split"): 1}, func() {
		w.client().want(nil, "SET", "split", "t", "NX", "PX", "60000")
	})
	w.awaitLogged(1, func(l line) bool { return l["result"] == "split" })
	for i, s := range w.backends {
		if got, want := s.Get("split"), []string{"x", "y", "x", "y", ""}[i]; got != want {
			t.Errorf("backend %d holds %q, want %q", i, got, want)
		}
	}
}

func TestOutagesLowerTheSuccessRate(t *testing.T) {
	w := newWorld(t, "LANE_VOTE=100ms", "SERVER_ANSWER_WITHIN=200ms")
	c := w.client()
	for i := range 3 {
		c.do("SET", fmt.Sprint("k", i), "t", "NX", "PX", "60000")
	}
	c.do("SET", "k0", "t", "NX", "PX", "60000")
	won := w.scrape()[operation("acquire", "unavailable")]
	for _, s := range w.backends[:3] {
		s.Kill()
	}
	w.awaitLogged(3, func(l line) bool { return l["state"] == "down" })
	w.wantRise("redlock_proxy_operations_total", map[string]float64{
		operation("acquire", "unavailable"): 1, operation("release", "unavailable"): 1,
		operation("read", "unavailable"): 1, operation("count", "unavailable"): 1, operation("extend", "unavailable"): 1,
	}, func() {
		c.wantError("UNAVAILABLE ", "SET", "x", "t", "NX", "PX", "60000")
		c.wantError("UNAVAILABLE ", "EVAL", extend, "1", "k0", "t", "60000")
		c.wantError("UNAVAILABLE ", "EVAL", release, "1", "k0", "t")
		c.wantError("UNAVAILABLE ", "GET", "k0")
		c.wantError("UNAVAILABLE ", "INCR", "n")
	})
	all := w.scrape()
	if rate, wanted := all["lock_quorum_success_rate"], 4/5.0; won == 0 && rate != wanted {
		t.Errorf("success rate %g, wanted %g", rate, wanted)
	}
	if all["redlock_proxy_voters"] != 2 || all["redlock_proxy_quorum"] != 3 || all["redlock_proxy_backends"] != 5 {
		t.Errorf("%g voters of %g, %g needed", all["redlock_proxy_voters"], all["redlock_proxy_backends"], all["redlock_proxy_quorum"])
	}
	name := "unix:" + w.backends[0].Socket()
	if all[fmt.Sprintf("redlock_proxy_backend_state{backend=%q,state=%q}", name, "down")] != 1 ||
		all[fmt.Sprintf("redlock_proxy_backend_state{backend=%q,state=%q}", name, "voter")] != 0 {
		t.Error("a backend that is down is not shown as down")
	}
	if all[fmt.Sprintf("redlock_proxy_backend_votes_total{backend=%q,vote=%q}", name, "failed")] < 4 {
		t.Error("votes of a backend that is down are not counted as failed")
	}
}

func TestVotesAndRoundTripsAreCountedByBackend(t *testing.T) {
	w := newWorld(t)
	c := w.client()
	c.want(ok, "SET", "k", "t", "NX", "PX", "60000")
	w.onAll("k")
	c.want(nil, "SET", "k", "u", "NX", "PX", "60000")
	for i := range w.backends {
		name := "unix:" + w.backends[i].Socket()
		redistest.Eventually(t, 10*time.Second, "the last votes are in", func() bool {
			all := w.scrape()
			return all[fmt.Sprintf("redlock_proxy_backend_votes_total{backend=%q,vote=%q}", name, "granted")] == 1 &&
				all[fmt.Sprintf("redlock_proxy_backend_votes_total{backend=%q,vote=%q}", name, "refused")] == 1 &&
				all[fmt.Sprintf("redlock_proxy_backend_round_trip_seconds_count{backend=%q}", name)] == 2
		})
	}
	if n := w.scrape()[`lock_acquisition_latency_ms_count{topology="redlock"}`]; n != 2 {
		t.Errorf("%g latencies of 2 acquisitions", n)
	}
}

// Whatever clients do, no series is added by it.
func TestNumberOfSeriesIsConstant(t *testing.T) {
	w := newWorld(t)
	before := w.scrape()
	c := w.client()
	for i := range 20 {
		c.do("SET", fmt.Sprint("k", i), "t", "NX", "PX", "60000")
		c.do("NOSUCH", fmt.Sprint("k", i))
		c.do("EVAL", release, "1", fmt.Sprint("k", i), "t")
		w.client().do("CLIENT", "SETNAME", fmt.Sprint("client", i))
	}
	for name := range w.scrape() {
		if _, there := before[name]; !there {
			t.Errorf("a new series: %s", name)
		}
	}
}

func TestLimitsThatClientsHitAreCounted(t *testing.T) {
	w := newWorld(t, "SERVER_MAX_CLIENTS=2")
	hit := func(limit string) string { return fmt.Sprintf("redlock_proxy_limits_hit_total{limit=%q}", limit) }
	w.wantRise("redlock_proxy_limits_hit_total", map[string]float64{hit("max_clients"): 1, hit("bulk_length"): 1}, func() {
		bad, good := w.client(), w.client()
		good.want(pong, "PING")
		refused := w.client()
		if reply, err := refused.Receive(); err != nil || !strings.Contains(fmt.Sprint(reply), "max number of clients") {
			t.Errorf("%v, %v", reply, err)
		}
		if err := bad.Write([]byte("*1\r\n$-5\r\n")); err != nil {
			t.Fatal(err)
		}
		_, _ = bad.Receive() // the protocol error
		bad.wantClosed()
	})
}

func TestFailedHandshakesAreCountedAndLogged(t *testing.T) {
	cert := redistest.NewAuthority(t).Issue("proxy")
	w := newWorld(t, "SERVER_TLS_CERT="+cert.Cert, "SERVER_TLS_KEY="+cert.Key)
	w.wantRise("redlock_proxy_limits_hit_total", map[string]float64{`redlock_proxy_limits_hit_total{limit="tls_handshake"}`: 1}, func() {
		probe, plain := w.client(), w.client()
		_ = probe.Close()
		if err := plain.Send("PING"); err != nil {
			t.Fatal(err)
		}
		w.awaitLogged(1, func(l line) bool { return l["message"] == "a client's TLS handshake failed" && l["level"] == "debug" })
	})
}

// The names that promtool complains of are those that were agreed on with others.
func TestPromtoolFindsNothingBeyondTheAgreedNames(t *testing.T) {
	w := &world{t: t, backends: redistest.StartGroup(t, 1)}
	w.start(sockets(w.backends), 1)
	w.client().do("SET", "k", "t", "NX", "PX", "60000")
	single := w.get("/metrics").Body.String()
	five := newWorld(t)
	five.client().do("SET", "k", "t", "NX", "PX", "60000")
	for topology, text := range map[string]string{"single": single, "redlock": five.get("/metrics").Body.String()} {
		cmd := exec.Command("promtool", "check", "metrics")
		cmd.Stdin = strings.NewReader(text)
		out, err := cmd.CombinedOutput()
		if _, ran := err.(*exec.ExitError); err != nil && !ran {
			t.Fatalf("promtool can't be run (Debian: apt-get install prometheus): %v", err)
		}
		wanted := map[string]bool{"lock_acquisition_latency_ms": true, "redis_clock_drift_ms": true}
		if topology == "single" {
			wanted["replication_lag_ms"] = true
		}
		for complaint := range strings.Lines(string(out)) {
			name, what, _ := strings.Cut(strings.TrimSpace(complaint), " ")
			if !wanted[name] || what != "metric names should not contain abbreviated units" {
				t.Errorf("%s: %s", topology, complaint)
			}
			delete(wanted, name)
		}
		if len(wanted) > 0 {
			t.Errorf("%s: promtool does not know %v: did it read anything?", topology, wanted)
		}
	}
}
