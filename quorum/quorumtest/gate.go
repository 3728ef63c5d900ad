package quorumtest

import (
	"context"
	"errors"
	"sync"
	"time"

	"redlockproxy/quorum"
	"redlockproxy/quorum/admission"
)

// Gate is one process's view of a Fake that must be admitted before it votes: calls go
// over a Link, each with a look at the marker behind it, as the last command of a
// pipeline is. It must be closed before its links are.
type Gate struct {
	fake  *Fake
	calls *Link
	aside *Link // for the keeper
	rule  admission.Rule
	began time.Time

	done chan struct{}
	stop context.CancelFunc

	mu       sync.Mutex
	text     string // the marker's, when it was last judged
	marker   admission.Marker
	standing admission.Standing
	clock    admission.Clock
	jumped   bool
	since    time.Time
	seen     time.Time
	runID    string
}

// lookEvery is how often an idle gate looks at the marker.
const lookEvery = 100 * time.Millisecond

// NewGate makes a gate before a fake.
func NewGate(fake *Fake, calls, aside *Link, rule admission.Rule) *Gate {
	ctx, stop := context.WithCancel(context.Background())
	g := &Gate{fake: fake, calls: calls, aside: aside, rule: rule, began: time.Now(), stop: stop, done: make(chan struct{})}
	go func() {
		defer close(g.done)
		ticker := time.NewTicker(lookEvery)
		defer ticker.Stop()
		for {
			g.Probe()
			select {
			case <-ticker.C:
			case <-ctx.Done():
				return
			}
		}
	}()
	return g
}

// Close ends the gate's looking at the marker.
func (g *Gate) Close() {
	g.stop()
	<-g.done
}

// Send implements quorum.Backend.
func (g *Gate) Send(call *quorum.Call) {
	g.pass(call.Op, call.Deadline, call.Round)
}

// Owe implements quorum.Backend.
func (g *Gate) Owe(debt quorum.Debt) { g.calls.Owe(debt) }

// Probe implements admission.Member.
func (g *Gate) Probe() { g.pass(quorum.Read{}, time.Now().Add(time.Hour), nil) }

// pass sends an operation with a look at the marker behind it. Both are done in one
// step: a loss of memory that came between them would only take a vote that way, and
// finds more to break by coming later.
func (g *Gate) pass(op quorum.Op, deadline time.Time, to quorum.Voter) {
	p := &passage{gate: g, to: to, before: g.token(op), sent: time.Since(g.began)}
	g.calls.Send(&quorum.Call{Op: withMarker{op}, Deadline: deadline, Round: p})
}

// withMarker is an operation whose answer, if there is one, ends with what the key of
// the marker holds.
type withMarker struct{ quorum.Op }

// token is what the backend votes about an operation by, "" for no vote.
func (g *Gate) token(op quorum.Op) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.standing == admission.Locking && admission.AboutNumbers(op) {
		return ""
	}
	return g.voteToken()
}

func (g *Gate) voteToken() string {
	if g.standing != admission.Admitted && g.standing != admission.Locking || g.jumped {
		return ""
	}
	return g.marker.Token
}

// saw takes what a look at the marker found, and returns the token with which the
// backend votes by now.
func (g *Gate) saw(text string, sent time.Duration) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	runID := g.fake.RunID()
	if runID != g.runID {
		g.runID, g.clock, g.jumped, g.text, g.since = runID, admission.Clock{}, false, "", time.Time{}
	}
	if text != g.text || text == "" {
		g.text = text
		g.marker, g.standing = g.rule.Judge(text, runID)
	}
	g.watch(now, sent)
	return g.voteToken()
}

// watch looks at the clock.
func (g *Gate) watch(now time.Time, sent time.Duration) {
	g.seen = g.began.Add(sent)
	if g.since.IsZero() {
		g.since = g.seen
	}
	g.jumped = !g.clock.Add(g.fake.Shows(now), sent, now.Sub(g.began)) || g.jumped
}

// Look implements admission.Member.
func (g *Gate) Look() admission.Look {
	g.mu.Lock()
	defer g.mu.Unlock()
	return admission.Look{
		Connected: g.runID != "" && g.fake.reachable(), RunID: g.runID, Marker: g.marker, Standing: g.standing, Jumped: g.jumped, ClockSince: g.since, ClockSeen: g.seen, Moved: g.clock.Moved(),
	}
}

// Reset implements admission.Member. Fakes drop no keys.
func (g *Gate) Reset() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.clock, g.jumped, g.since = admission.Clock{}, false, time.Time{}
}

// askWithin is how long Ask waits.
const askWithin = time.Second

// Ask implements admission.Member. What it gives up may run late all the same.
func (g *Gate) Ask(ctx context.Context, ops []quorum.Op) ([]quorum.Answer, error) {
	timer := time.NewTimer(askWithin)
	defer timer.Stop()
	sent := time.Since(g.began)
	answers := make(collector, len(ops))
	for _, op := range ops {
		g.aside.Send(&quorum.Call{Op: op, Deadline: time.Now().Add(time.Hour), Round: answers})
	}
	all := make([]quorum.Answer, 0, len(ops))
	for range ops {
		select {
		case a := <-answers:
			if a.Err != nil {
				return nil, a.Err
			}
			all = append(all, a)
		case <-timer.C:
			return nil, errLate
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	if g.fake.RunID() == g.runID {
		g.watch(now, sent)
	}
	return all, nil
}

var errLate = errors.New("fake: no answer in time")

// collector takes the answers to one Ask, in order: a link keeps it.
type collector chan quorum.Answer

// Vote implements quorum.Voter.
func (c collector) Vote(_ int, a quorum.Answer) { c <- a }

// passage is a call on its way, with the look at the marker behind it.
type passage struct {
	gate   *Gate
	to     quorum.Voter // nil for a look alone
	before string       // the token known when the call was sent
	sent   time.Duration
}

// Vote implements quorum.Voter.
func (p *passage) Vote(backend int, a quorum.Answer) {
	if a.Vote != quorum.Failed {
		last := len(a.Held) - 1
		after := p.gate.saw(string(a.Held[last].Stored), p.sent)
		if a.Held = a.Held[:last]; p.before == "" || after != p.before {
			a = quorum.Answer{Vote: quorum.Failed, Err: errNoVote}
		}
	}
	if p.to != nil {
		p.to.Vote(backend, a)
	}
}

var errNoVote = errors.New("fake: it has no vote")

var (
	_ quorum.Backend   = (*Gate)(nil)
	_ admission.Member = (*Gate)(nil)
)
