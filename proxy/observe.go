package proxy

import (
	"sync/atomic"
	"time"

	"redlockproxy/proxy/guard"
	"redlockproxy/proxy/lane"
	"redlockproxy/proxy/metrics"
	"redlockproxy/quorum"
)

// observed is what others want to know of the server: a metrics.Source.
type observed struct{ s *Server }

var _ metrics.Source = observed{}

// Backends implements metrics.Source.
func (o observed) Backends() []metrics.Backend {
	all := make([]metrics.Backend, len(o.s.lanes))
	for i, l := range o.s.lanes {
		f := l.Facts()
		all[i] = metrics.Backend{
			Name: l.Name(), State: f.State.String(), Numbers: f.Numbers,
			Granted: f.Granted, Refused: f.Refused, Failed: f.Failed,
			Waiting: f.Waiting, Debts: f.Debts, DebtsLost: f.DebtsLost,
			Restarts: f.Restarts, Refills: f.Refills, Drift: f.Drift, DriftKnown: f.DriftKnown,
		}
		for _, w := range f.Warnings {
			all[i].Warnings = append(all[i].Warnings, string(w))
		}
		if f.State == lane.Learner {
			all[i].LearnerSince = f.Since
		}
	}
	return all
}

// Server implements metrics.Source.
func (o observed) Server() metrics.Server {
	s := o.s
	now := metrics.Server{
		Quorum:  quorum.Majority(len(s.lanes)),
		Clients: s.clients.count(), MaxClients: s.cfg().Server.MaxClients,
		Connections: s.stats.connections.Load(), Commands: s.stats.commands.Load(),
		Limits:          make(map[string]int64, len(s.stats.limits)),
		LogLinesDropped: s.droppedLines(),
		ReloadRefused:   s.stats.reloadRefused.Load(),
	}
	if s.lag != nil {
		lag := s.lag.Lag()
		now.Replication = metrics.Replication{Replicas: lag.Replicas, Lag: lag.Worst, Known: lag.Known}
	}
	for name, n := range s.stats.limits {
		now.Limits[name] = n.Load()
	}
	return now
}

// limitClients is the limit on the number of clients, beside the causes of package
// guard for cutting one off.
const limitClients = "max_clients"

// newLimits makes a counter for every limit that a client can hit.
func newLimits() map[string]*atomic.Int64 {
	limits := map[string]*atomic.Int64{limitClients: {}}
	for _, c := range guard.Causes() {
		limits[string(c)] = &atomic.Int64{}
	}
	return limits
}

// hit counts a limit that a client has hit.
func (s *Server) hit(limit string) {
	if n, known := s.stats.limits[limit]; known {
		n.Add(1)
	}
}

// single tells whether there is one backend, which decides alone.
func (s *Server) single() bool { return s.topology == single }

// The topologies.
const (
	single  = "single"
	redlock = "redlock"
)

// promoted tells whether the one backend behind the address has changed, or has become
// a primary, since this was asked last.
func (s *Server) promoted() bool {
	n := s.lanes[0].Promotions()
	return s.stats.promotions.Swap(n) != n
}

// roundTrip is what a lane tells of its batches.
func (s *Server) roundTrip(backend int) func(time.Duration) {
	return func(took time.Duration) { s.metrics.RoundTrip(backend, took) }
}
