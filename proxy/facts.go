package proxy

import (
	"strings"
	"time"

	"redlockproxy/proxy/lane"
	"redlockproxy/proxy/look"
	"redlockproxy/proxy/metrics"
	"redlockproxy/proxy/status"
)

// healthSlots is how many slots of metrics.SlotTime the backends' states are
// remembered for: as many as the acquisitions are.
const healthSlots = 60

// facts are how the proxy is at the moment, for the status page.
func (s *Server) facts() status.Facts {
	now := time.Now()
	server := observed{s}.Server()
	f := status.Facts{
		Version: s.version, Group: s.cfg().Group.Name, Topology: s.topology, At: now, Uptime: now.Sub(s.started).Seconds(),
		Voters: s.voters(), Quorum: server.Quorum, Votes: s.votes(),
		SuccessRate: s.metrics.SuccessRate(), Operations: s.metrics.Operations(), Stale: s.metrics.Stales(),
		Clients: server.Clients, MaxClients: server.MaxClients, Commands: server.Commands, Connections: server.Connections,
		Limits: map[string]int64{}, LinesLost: server.LogLinesDropped,
		SlotSeconds: metrics.SlotTime.Seconds(),
	}
	for name, n := range server.Limits {
		if n > 0 {
			f.Limits[name] = n
		}
	}
	if s.single() {
		r := server.Replication
		f.Replication = &status.Replication{Replicas: r.Replicas, Lag: millis(r.Lag), Known: r.Known}
	}
	for _, l := range s.lanes {
		f.Backends = append(f.Backends, backendFacts(l, now))
	}
	f.History = s.history(now)
	return f
}

func backendFacts(l *lane.Lane, now time.Time) status.Backend {
	f := l.Facts()
	b := status.Backend{
		Name: l.Name(), State: f.State.String(), Reason: strings.TrimPrefix(f.Reason, "backend "+l.Name()+": "),
		Role: role(f.Greeting.Role), Version: f.Greeting.Version, RunID: shorten(f.Greeting.RunID, 8),
		Restarts: f.Restarts, Refills: f.Refills,
		Debts: f.Debts, DebtsLost: f.DebtsLost, Waiting: f.Waiting,
		Granted: f.Granted, Refused: f.Refused, Failed: f.Failed,
	}
	if !f.Since.IsZero() {
		b.Since = now.Sub(f.Since).Seconds()
	}
	if f.State == lane.Stalled {
		b.Reason = "it does not answer"
	}
	for _, w := range f.Warnings {
		b.Warnings = append(b.Warnings, string(w))
	}
	if f.State < lane.Stalled {
		return b // the rest would be of the past
	}
	b.RoundTrip = millis(f.RoundTrip)
	if f.DriftKnown {
		drift := millis(f.Drift)
		b.Drift = &drift
	}
	return b
}

// role is a role in INFO in this program's words.
func role(inInfo string) string {
	switch inInfo {
	case "master":
		return "primary"
	case "slave":
		return "replica"
	}
	return inInfo
}

// history is what happened within the last minutes.
func (s *Server) history(now time.Time) []status.Slot {
	acquisitions := s.metrics.History()
	slots := make([]status.Slot, len(acquisitions))
	for i, a := range acquisitions {
		slots[i] = status.Slot{Won: a.Won, Refused: a.Refused, Failed: a.Failed, Mean: millis(a.Mean), Longest: millis(a.Longest)}
	}
	s.health.Fill(now, slots, metrics.States)
	return slots
}

// noteHealth takes the backends' states into the history.
func (s *Server) noteHealth(now time.Time) {
	states := make([]int, len(s.lanes))
	voters := 0
	for i, l := range s.lanes {
		state := l.State()
		states[i] = int(state)
		if state == lane.Voter {
			voters++
		}
	}
	s.health.Note(now, voters, states)
}

// lookLimit is how long a look at what a backend holds may take: it is for people, and
// no reply waits for it.
const lookLimit = time.Second

// looker looks at the backends of these lanes.
func (s *Server) looker(configs []lane.Config) *look.Looker {
	cfg := lookConfig(configs)
	cfg.Votes = func(i int) bool { return s.lanes[i].State() == lane.Voter }
	return look.New(cfg)
}
