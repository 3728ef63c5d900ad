package metrics

import (
	"fmt"
	"math"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// group is a Source whose answers a test sets.
type group struct {
	backends []Backend
	server   Server
}

func (g *group) Backends() []Backend { return g.backends }
func (g *group) Server() Server      { return g.server }

func five() *group {
	g := &group{server: Server{Quorum: 3, Limits: map[string]int64{"max_clients": 2}}}
	for i := range 5 {
		g.backends = append(g.backends, Backend{Name: fmt.Sprint("b", i), State: voterState})
	}
	return g
}

func build(g *group, topology string) *Metrics {
	o := Options{Topology: topology, Version: "v1", Source: g}
	for _, b := range g.backends {
		o.Backends = append(o.Backends, b.Name)
	}
	return New(o)
}

func ask(t *testing.T, m *Metrics) string {
	t.Helper()
	r := httptest.NewRecorder()
	m.Handler().ServeHTTP(r, httptest.NewRequest("GET", "/metrics", nil))
	if r.Code != 200 {
		t.Fatalf("status %d: %s", r.Code, r.Body)
	}
	return r.Body.String()
}

func wantLines(t *testing.T, text string, lines ...string) {
	t.Helper()
	for _, l := range lines {
		if !strings.Contains(text, "\n"+l+"\n") {
			t.Errorf("a scrape does not have the line %s", l)
		}
	}
}

func TestScrapeShowsWhatTheSourceSays(t *testing.T) {
	g := five()
	g.backends[1] = Backend{
		Name: "b1", State: "learner", Granted: 10, Refused: 20, Failed: 30, Waiting: 4, Debts: 5, DebtsLost: 6,
		Restarts: 7, Refills: 8, LearnerSince: time.Now().Add(-time.Hour), Drift: -1500 * time.Microsecond, DriftKnown: true,
	}
	g.backends[2].Numbers, g.backends[3].Numbers = true, true
	g.server = Server{Quorum: 3, Clients: 1, MaxClients: 2, Connections: 3, Commands: 4, LogLinesDropped: 5, ReloadRefused: true, Limits: map[string]int64{"idle": 6}}
	text := ask(t, build(g, "redlock"))
	wantLines(t, text,
		`redlock_proxy_backends 5`, `redlock_proxy_quorum 3`, `redlock_proxy_voters 4`, `redlock_proxy_number_voters 2`, `lock_quorum_success_rate 1`,
		`redlock_proxy_backend_state{backend="b1",state="learner"} 1`, `redlock_proxy_backend_state{backend="b1",state="voter"} 0`,
		`redlock_proxy_backend_votes_total{backend="b1",vote="granted"} 10`, `redlock_proxy_backend_votes_total{backend="b1",vote="refused"} 20`,
		`redlock_proxy_backend_votes_total{backend="b1",vote="failed"} 30`, `redlock_proxy_backend_waiting{backend="b1"} 4`,
		`redlock_proxy_backend_debts{backend="b1"} 5`, `redlock_proxy_backend_debts_lost_total{backend="b1"} 6`,
		`redlock_proxy_backend_restarts_total{backend="b1"} 7`, `redlock_proxy_backend_refills_total{backend="b1"} 8`,
		`redis_clock_drift_ms{backend="b1"} -1.5`, `redis_clock_drift_ms{backend="b0"} NaN`, `redlock_proxy_backend_learner_seconds{backend="b0"} 0`,
		`redlock_proxy_clients 1`, `redlock_proxy_clients_max 2`, `redlock_proxy_connections_total 3`, `redlock_proxy_commands_total 4`,
		`redlock_proxy_log_lines_dropped_total 5`, `redlock_proxy_config_reload_refused 1`, `redlock_proxy_limits_hit_total{limit="idle"} 6`)
	if !strings.Contains(text, `redlock_proxy_backend_learner_seconds{backend="b1"} 36`) {
		t.Error("a learner of an hour is not shown as one")
	}
	if strings.Contains(text, "replication_lag_ms") {
		t.Error("a quorum has a replication lag")
	}
}

func TestSingleBackendHasAReplicationLagAndNoSuccessRate(t *testing.T) {
	g := &group{backends: []Backend{{Name: "b", State: voterState}}, server: Server{Quorum: 1}}
	m := build(g, "single")
	wantLines(t, ask(t, m), `replication_lag_ms NaN`, `redlock_proxy_replicas 0`)
	g.server.Replication = Replication{Replicas: 2, Lag: 1234 * time.Millisecond, Known: true}
	text := ask(t, m)
	wantLines(t, text, `replication_lag_ms 1234`, `redlock_proxy_replicas 2`)
	if strings.Contains(text, "lock_quorum_success_rate") {
		t.Error("a quorum of one has a success rate")
	}
}

func TestEveryPairOfOperationAndOutcomeThatHasAWordIsShownFromTheStart(t *testing.T) {
	m := build(five(), "redlock")
	text := ask(t, m)
	pairs := map[string]bool{}
	for op, w := range words {
		for how, word := range w.outcome {
			if word == "" {
				continue
			}
			line := fmt.Sprintf("redlock_proxy_operations_total{operation=%q,outcome=%q} ", w.operation, word)
			if pairs[line] {
				t.Errorf("two outcomes of %s are called %s", w.operation, word)
			}
			pairs[line] = true
			wantLines(t, text, line+"0")
			if Operation(op) != Acquire {
				m.Ended(Operation(op), Outcome(how))
			} else {
				m.Acquisition(Outcome(how), time.Now(), 3*time.Millisecond)
			}
		}
	}
	text = ask(t, m)
	for line := range pairs {
		wantLines(t, text, line+"1")
	}
	if n := strings.Count(text, "redlock_proxy_operations_total{"); n != len(pairs) {
		t.Errorf("%d series, wanted %d", n, len(pairs))
	}
	wantLines(t, text, `lock_acquisition_latency_ms_bucket{topology="redlock",le="2"} 0`,
		`lock_acquisition_latency_ms_bucket{topology="redlock",le="3"} 7`, `lock_acquisition_latency_ms_count{topology="redlock"} 7`)
	if got := m.Operations(); len(got) != int(operations) || got["acquire"]["split"] != 1 {
		t.Errorf("%v", got)
	}
}

func TestBucketsRise(t *testing.T) {
	for _, buckets := range [][]float64{latencyBuckets, roundTripBuckets} {
		for last := math.Inf(-1); len(buckets) > 0; last, buckets = buckets[0], buckets[1:] {
			if buckets[0] <= last {
				t.Errorf("%g comes after %g", buckets[0], last)
			}
		}
	}
}
