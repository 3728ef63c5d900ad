package metrics

import (
	"math"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// A collector asks the Source at each scrape.
type collector struct {
	source Source
	window *window
	single bool
	rows   []row
}

// A row is one metric that is pulled.
type row struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	// each reports the metric's values at the moment.
	each func(s scrape, report func(value float64, labels ...string))
}

// A scrape is what the Source says, asked once for all rows.
type scrape struct {
	server   Server
	backends []Backend
	now      time.Time
	window   *window
}

// count is how many backends are so.
func (s scrape) count(is func(Backend) bool) float64 {
	n := 0
	for _, b := range s.backends {
		if is(b) {
			n++
		}
	}
	return float64(n)
}

func newCollector(o Options, w *window) *collector {
	c := &collector{source: o.Source, window: w, single: o.Topology == "single"}
	c.groupRows()
	c.backendRows()
	c.serverRows()
	return c
}

func (c *collector) add(kind prometheus.ValueType, name, help string, labels []string, each func(scrape, func(float64, ...string))) {
	c.rows = append(c.rows, row{prometheus.NewDesc(name, help, labels, nil), kind, each})
}

// gauge and counter add a metric of one value.
func (c *collector) gauge(name, help string, value func(scrape) float64) {
	c.add(prometheus.GaugeValue, name, help, nil, func(s scrape, report func(float64, ...string)) { report(value(s)) })
}

func (c *collector) counter(name, help string, value func(scrape) float64) {
	c.add(prometheus.CounterValue, name, help, nil, func(s scrape, report func(float64, ...string)) { report(value(s)) })
}

// ofBackends adds a metric with a value for each backend.
func (c *collector) ofBackends(kind prometheus.ValueType, name, help string, value func(Backend) float64) {
	c.add(kind, name, help, []string{"backend"}, func(s scrape, report func(float64, ...string)) {
		for _, b := range s.backends {
			report(value(b), b.Name)
		}
	})
}

func (c *collector) groupRows() {
	c.gauge("redlock_proxy_backends", "Backends of the group.", func(s scrape) float64 { return float64(len(s.backends)) })
	c.gauge("redlock_proxy_quorum", "Votes that a decision needs.", func(s scrape) float64 { return float64(s.server.Quorum) })
	c.gauge("redlock_proxy_voters", "Backends that can vote at the moment.", func(s scrape) float64 {
		return s.count(func(b Backend) bool { return b.State == voterState })
	})
	c.gauge("redlock_proxy_number_voters", "Backends that can vote about numbers at the moment, too, as for INCR.", func(s scrape) float64 {
		return s.count(func(b Backend) bool { return b.Numbers })
	})
	if !c.single {
		c.gauge("lock_quorum_success_rate",
			"Share of the acquisitions of the last five minutes that a quorum decided, for or against; 1 if there were none.",
			func(s scrape) float64 { return s.window.successRate(s.now) })
		return
	}
	c.gauge("replication_lag_ms", "How far the worst connected replica is behind, in milliseconds; NaN if none is connected.",
		func(s scrape) float64 {
			if !s.server.Replication.Known {
				return math.NaN()
			}
			return millis(s.server.Replication.Lag)
		})
	c.gauge("redlock_proxy_replicas", "Replicas that follow the backend.",
		func(s scrape) float64 { return float64(s.server.Replication.Replicas) })
}

func (c *collector) backendRows() {
	c.add(prometheus.GaugeValue, "redlock_proxy_backend_state", "1 for the state that the backend is in, 0 for the others.",
		[]string{"backend", "state"}, func(s scrape, report func(float64, ...string)) {
			for _, b := range s.backends {
				for _, state := range States {
					report(flag(b.State == state), b.Name, state)
				}
			}
		})
	c.add(prometheus.CounterValue, "redlock_proxy_backend_votes_total",
		"Votes by backend and kind. Failed means that there was no usable answer, or none that may be counted.",
		[]string{"backend", "vote"}, func(s scrape, report func(float64, ...string)) {
			for _, b := range s.backends {
				report(float64(b.Granted), b.Name, "granted")
				report(float64(b.Refused), b.Name, "refused")
				report(float64(b.Failed), b.Name, "failed")
			}
		})
	c.ofBackends(prometheus.GaugeValue, "redis_clock_drift_ms",
		"How far the backend's clock has moved against the proxy's within five minutes, in milliseconds; NaN while unknown, as after five minutes without an answer.",
		func(b Backend) float64 {
			if !b.DriftKnown {
				return math.NaN()
			}
			return millis(b.Drift)
		})
	c.ofBackends(prometheus.GaugeValue, "redlock_proxy_backend_waiting", "Requests that wait for the backend.",
		func(b Backend) float64 { return float64(b.Waiting) })
	c.ofBackends(prometheus.GaugeValue, "redlock_proxy_backend_debts", "Removals that are owed to the backend.",
		func(b Backend) float64 { return float64(b.Debts) })
	c.ofBackends(prometheus.CounterValue, "redlock_proxy_backend_debts_lost_total",
		"Removals that were given up because too many were owed; the leftovers end with their ttl.",
		func(b Backend) float64 { return float64(b.DebtsLost) })
	c.ofBackends(prometheus.CounterValue, "redlock_proxy_backend_restarts_total", "Times that another process was found at the backend's address.",
		func(b Backend) float64 { return float64(b.Restarts) })
	c.ofBackends(prometheus.CounterValue, "redlock_proxy_backend_refills_total", "Times that the backend was brought up to date after a loss of memory.",
		func(b Backend) float64 { return float64(b.Refills) })
	c.add(prometheus.GaugeValue, "redlock_proxy_backend_warning", "1 for what does not take the backend's vote and should be mended.",
		[]string{"backend", "warning"}, func(s scrape, report func(float64, ...string)) {
			for _, b := range s.backends {
				for _, w := range Warnings {
					report(flag(slices.Contains(b.Warnings, w)), b.Name, w)
				}
			}
		})
	c.add(prometheus.GaugeValue, "redlock_proxy_backend_learner_seconds", "How long the backend has been a learner, which gets every write and has no vote, in seconds; 0 in every other state.",
		[]string{"backend"}, func(s scrape, report func(float64, ...string)) {
			for _, b := range s.backends {
				seconds := 0.0
				if !b.LearnerSince.IsZero() {
					seconds = max(0, s.now.Sub(b.LearnerSince).Seconds())
				}
				report(seconds, b.Name)
			}
		})
}

func (c *collector) serverRows() {
	c.gauge("redlock_proxy_clients", "Clients that are connected.", func(s scrape) float64 { return float64(s.server.Clients) })
	c.gauge("redlock_proxy_clients_max", "Clients that may be connected at once.", func(s scrape) float64 { return float64(s.server.MaxClients) })
	c.counter("redlock_proxy_connections_total", "Clients that were accepted.", func(s scrape) float64 { return float64(s.server.Connections) })
	c.counter("redlock_proxy_commands_total", "Commands that came, those without keys included.", func(s scrape) float64 { return float64(s.server.Commands) })
	c.counter("redlock_proxy_log_lines_dropped_total", "Log lines that were not written because nobody read them fast enough.",
		func(s scrape) float64 { return float64(s.server.LogLinesDropped) })
	c.gauge("redlock_proxy_config_reload_refused", "1 if the last reload was refused, so that what is in force is not what the file says.",
		func(s scrape) float64 { return flag(s.server.ReloadRefused) })
	c.add(prometheus.CounterValue, "redlock_proxy_limits_hit_total", "Clients that were turned away or cut off, by the limit that they hit.",
		[]string{"limit"}, func(s scrape, report func(float64, ...string)) {
			for name, n := range s.server.Limits {
				report(float64(n), name)
			}
		})
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(to chan<- *prometheus.Desc) {
	for _, r := range c.rows {
		to <- r.desc
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(to chan<- prometheus.Metric) {
	s := scrape{server: c.source.Server(), backends: c.source.Backends(), now: time.Now(), window: c.window}
	for _, r := range c.rows {
		r.each(s, func(value float64, labels ...string) {
			to <- prometheus.MustNewConstMetric(r.desc, r.kind, value, labels...)
		})
	}
}

func flag(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func millis(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }
