package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"redlockproxy/conf"
	"redlockproxy/proxy/lane"
	"redlockproxy/quorum"
	"redlockproxy/quorum/admission"
)

// clockSteady is how long a backend's clock that has jumped must be right before the
// backend is refilled and votes again.
const clockSteady = 5 * time.Second

// admitted tells whether backends must be admitted to vote. One Redis alone is trusted
// as it was before the proxy came, and the embedded ones live and end with this process.
func admitted(c conf.Config) bool { return !c.Embedded && len(c.Group.Backends) > 1 }

func admissionConfig(c conf.Config) admission.Config {
	return admission.Config{
		Group: c.Group.Name,
		Quiet: c.Server.AnswerWithin,
		Long:  quorum.StoredTTL(c.Group.MaxTTL, true),
		Auto:  c.Group.Init == "auto", Steady: clockSteady,
	}
}

// admissionRule is how the backend with that index is judged; nil for a group without
// admission.
func admissionRule(c conf.Config, i int) *admission.Rule {
	if !admitted(c) {
		return nil
	}
	rule := admissionConfig(c).Rule(i, len(c.Group.Backends))
	return &rule
}

// keep admits the backends until ctx ends.
func (s *Server) keep(ctx context.Context) {
	if !admitted(*s.cfg()) {
		return
	}
	members := make([]admission.Member, len(s.lanes))
	for i, l := range s.lanes {
		members[i] = l
	}
	c := admissionConfig(*s.cfg())
	c.Report = s.reportAdmission
	s.keeper = admission.NewKeeper(members, c)
	s.watches.Go(func() { s.keeper.Run(ctx) })
}

// reportAdmission logs what the keeper does.
func (s *Server) reportAdmission(e admission.Event) {
	line := s.log.Info()
	switch e.Kind {
	case admission.Failed, admission.ClockJumped, admission.KeysDropped, admission.WasReplica, admission.OwnClockJumped, admission.Refilling:
		line = s.log.Warn()
	case admission.Waiting:
		line = s.log.Error()
	}
	if e.Backend >= 0 {
		line = line.Str("backend", s.lanes[e.Backend].Name())
	}
	if e.Kind == admission.Readmitted {
		s.lanes[e.Backend].Refilled()
		line = line.Int("keys", e.Filled)
	}
	line.AnErr("reason", e.Err).Msg(e.Text)
}

// noQuorumBecause says why nothing can be decided, if it is a matter of admission.
func (s *Server) noQuorumBecause() string {
	if s.keeper == nil {
		return ""
	}
	return s.keeper.Reason()
}

// twins finds backends that are one and the same server.
type twins struct {
	mu   sync.Mutex
	runs map[int]string // the run_id last met, by the backend's index
}

// meet notes a backend's run_id and gives the index of another that has the same, or
// -1. Of two, the one that came second must not vote.
func (t *twins) meet(index int, runID string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.runs == nil {
		t.runs = map[int]string{}
	}
	delete(t.runs, index)
	for i, run := range t.runs {
		if run == runID {
			return i
		}
	}
	t.runs[index] = runID
	return -1
}

// mistaken is an error that names every backend that must not be in the list, as far
// as that could be seen by now: the program does not start with it. One that can't be
// reached may yet prove to be right.
func (s *Server) mistaken() error {
	var wrong []string
	for _, l := range s.lanes {
		if f := l.Facts(); f.State == lane.Unfit {
			wrong = append(wrong, fmt.Sprintf("backend %s: %s", l.Name(), f.Reason))
		}
	}
	if len(wrong) == 0 {
		return nil
	}
	return errors.New(strings.Join(wrong, "\n"))
}

// initWait is how long init waits for its connections to the backends.
const initWait = 5 * time.Second

// Init declares a group to be new, or to have lost nothing that matters: every backend
// that has no vote gets one.
func Init(ctx context.Context, cfg conf.Config, out io.Writer, readFile func(string) ([]byte, error)) error {
	// One that is full may be a voter, and then nothing is written to it here; if it is to
	// be declared itself, it says that it can't be.
	if err := check(ctx, cfg, out, readFile, false); err != nil {
		return err
	}
	if !admitted(cfg) {
		_, err := fmt.Fprintln(out, "Nothing to declare: a single backend needs no admission.")
		return err
	}
	lanes, err := openLanes(ctx, cfg, readFile)
	if err != nil {
		return err
	}
	members := make([]admission.Member, len(lanes))
	for i, l := range lanes {
		defer l.Close()
		members[i] = l
	}
	done, err := admission.Declare(ctx, members, admissionConfig(cfg))
	for _, i := range done {
		_, _ = fmt.Fprintf(out, "%s votes now\n", lanes[i].Name())
	}
	if err != nil {
		return err
	}
	text := fmt.Sprintf("%d backends were declared to have forgotten nothing that matters; all %d vote.", len(done), len(lanes))
	if len(done) == 0 {
		text = "Nothing to declare: enough backends vote, and the proxies refill the others by themselves."
	}
	_, err = fmt.Fprintln(out, text)
	return err
}

// openLanes connects to all backends, for a command that ends soon.
func openLanes(ctx context.Context, cfg conf.Config, readFile func(string) ([]byte, error)) ([]*lane.Lane, error) {
	s := quiet(cfg)
	configs, err := s.laneConfigs(readFile)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, initWait)
	defer cancel()
	for _, c := range configs {
		c.Votes, c.RoundTrip = nil, nil
		s.lanes = append(s.lanes, lane.Open(c))
	}
	s.awaitBackends(ctx)
	return s.lanes, nil
}
