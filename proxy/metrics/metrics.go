package metrics

import (
	"net/http"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
)

// Options say what is measured.
type Options struct {
	Topology string   // "single" or "redlock"
	Backends []string // their names, in the order of the group
	Version  string
	Source   Source
}

// Metrics are all numbers of one proxy. Its methods may be called from any goroutine.
type Metrics struct {
	registry *prometheus.Registry
	window   *window

	ended       [operations][outcomes]prometheus.Counter
	acquisition prometheus.Observer
	stale       prometheus.Counter
	roundTrips  []prometheus.Observer // by backend
}

// latencyBuckets are in milliseconds. A decision takes one round trip to the third
// fastest of five backends, and is given up after 200 ms by default.
var latencyBuckets = []float64{0.25, 0.5, 1, 2, 3, 5, 7.5, 10, 15, 25, 50, 75, 100, 150, 200, 250, 500, 1000}

// roundTripBuckets are in seconds.
var roundTripBuckets = []float64{
	0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5,
}

// scrapes is how many scrapes may be under way at once; more are answered with status
// 503. Each is built in memory.
const scrapes = 4

// New makes the metrics, all at zero.
func New(o Options) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry(), window: newWindow()}
	m.addOperations()
	latency := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "lock_acquisition_latency_ms",
		Help:    "Time from a command that acquires to its answer, whatever that is, in milliseconds.",
		Buckets: latencyBuckets,
	}, []string{"topology"})
	m.acquisition = latency.WithLabelValues(o.Topology)
	m.stale = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "stale_fencing_token_rejections_total",
		Help: "Scripts that refused to advance a stored number to their own because it was not higher.",
	})
	trips := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "redlock_proxy_backend_round_trip_seconds",
		Help:    "Time from sending a batch to a backend to its last reply, in seconds.",
		Buckets: roundTripBuckets,
	}, []string{"backend"})
	for _, name := range o.Backends {
		m.roundTrips = append(m.roundTrips, trips.WithLabelValues(name))
	}
	build := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "redlock_proxy_build_info",
		Help: "Always 1; what is running stands in the labels.",
	}, []string{"version", "goversion", "topology"})
	build.WithLabelValues(o.Version, runtime.Version(), o.Topology).Set(1)
	m.registry.MustRegister(latency, m.stale, trips, build, newCollector(o, m.window),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

func (m *Metrics) addOperations() {
	ended := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "redlock_proxy_operations_total",
		Help: "Decisions, by what was wanted and how it ended.",
	}, []string{"operation", "outcome"})
	for op, w := range words {
		for how, word := range w.outcome {
			if word != "" {
				m.ended[op][how] = ended.WithLabelValues(w.operation, word)
			}
		}
	}
	m.registry.MustRegister(ended)
}

// Handler answers scrapes.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		MaxRequestsInFlight: scrapes,
		DisableCompression:  true, // for a scrape over a local network it is only work
	})
}

// Ended counts an operation. An acquisition goes to Acquisition instead.
func (m *Metrics) Ended(op Operation, how Outcome) { m.ended[op][how].Inc() }

// Acquisition counts an attempt to get a lock, which took so long until it ended.
func (m *Metrics) Acquisition(how Outcome, ended time.Time, took time.Duration) {
	m.ended[Acquire][how].Inc()
	m.acquisition.Observe(float64(took.Nanoseconds()) / 1e6)
	m.window.note(ended, how, took)
}

// Stale counts a script that refused a number that is not higher than the one that is
// stored.
func (m *Metrics) Stale() { m.stale.Inc() }

// RoundTrip notes how long one batch to a backend took; backend counts from 0.
func (m *Metrics) RoundTrip(backend int, took time.Duration) {
	m.roundTrips[backend].Observe(took.Seconds())
}

// SuccessRate is the share of the acquisitions of the last five minutes that a quorum
// decided, for or against; 1 if there were none.
func (m *Metrics) SuccessRate() float64 { return m.window.successRate(time.Now()) }

// History is what came of the acquisitions of the last five minutes, by SlotTime, the
// oldest first.
func (m *Metrics) History() []Slot { return m.window.all(time.Now()) }

// Stales is how often Stale was called.
func (m *Metrics) Stales() int64 { return value(m.stale) }

// Operations are the counts of Ended and Acquisition, by operation and outcome in the
// words of the labels; pairs that never came are left out.
func (m *Metrics) Operations() map[string]map[string]int64 {
	all := make(map[string]map[string]int64, len(words))
	for op, w := range words {
		all[w.operation] = map[string]int64{}
		for how, c := range m.ended[op] {
			if c == nil {
				continue
			}
			if n := value(c); n > 0 {
				all[w.operation][w.outcome[how]] = n
			}
		}
	}
	return all
}

func value(c prometheus.Counter) int64 {
	var text dto.Metric
	if err := c.Write(&text); err != nil {
		return 0 // a counter of this package has nothing that could fail
	}
	return int64(text.GetCounter().GetValue())
}
