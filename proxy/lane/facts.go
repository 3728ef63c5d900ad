package lane

import (
	"strings"
	"sync/atomic"
	"time"

	"redlockproxy/quorum"
)

// counts are what a lane counts. The lane's own goroutine does most of it.
type counts struct {
	votes      [quorum.Failed + 1]atomic.Int64 // by quorum.Vote
	restarts   atomic.Int64
	promotions atomic.Int64
	refills    atomic.Int64 // for whoever refills the backend
}

// Facts are what is to be known of a lane, for people and metrics. Counts begin with
// the lane.
type Facts struct {
	State  State
	Since  time.Time // when it got into this state; zero before the first attempt to connect
	Reason string    // why it has no vote or not all or, if it has one, why there are warnings

	Numbers bool // it votes about numbers, too

	Warnings []Warning // what does not take its vote and should be mended

	// Greeting is what the backend said when it was reached last; empty before that.
	Greeting Greeting

	Granted, Refused, Failed int64 // votes

	Waiting   int   // requests in the queue
	Debts     int   // removals kept or on their way
	DebtsLost int64 // removals given up

	RoundTrip  time.Duration // of the last look at the clock; 0 before the first
	Drift      time.Duration // see Lane.Drift
	DriftKnown bool

	Restarts   int64 // changes of the run_id at the address
	Promotions int64 // those, and changes from replica to primary
	Refills    int64 // times that the backend was brought up to date
}

// Facts is how the lane is at the moment.
func (l *Lane) Facts() Facts {
	f := Facts{
		State: l.State(), RoundTrip: time.Duration(l.roundTrip.Load()),
		Granted: l.counts.votes[quorum.Granted].Load(), Refused: l.counts.votes[quorum.Refused].Load(),
		Failed:   l.counts.votes[quorum.Failed].Load(),
		Restarts: l.counts.restarts.Load(), Promotions: l.counts.promotions.Load(), Refills: l.counts.refills.Load(),
	}
	busy := l.busySince.Load()
	f.Debts, f.DebtsLost = l.Debts()
	f.Drift, f.DriftKnown = l.Drift()
	f.Numbers = f.State == Voter && l.standing.numbers(l.cfg.Admission)
	l.mu.Lock()
	defer l.mu.Unlock()
	f.Waiting = len(l.queue)
	f.Greeting, f.Reason, f.Since = l.greeting, l.reason, l.since
	if f.State == Stalled && busy != 0 { // nobody has noted it, since the lane itself waits
		f.Since = time.Unix(0, min(busy+int64(l.cfg.Vote), time.Now().UnixNano()))
	}
	var concerns []string
	for _, w := range Warnings {
		if why := l.warnings[w]; why != "" && f.State != Down { // what holds for one that is gone, nobody knows
			f.Warnings, concerns = append(f.Warnings, w), append(concerns, why)
		}
	}
	if f.Reason == "" {
		f.Reason = strings.Join(concerns, "; ")
	}
	return f
}

// Promotions is how often another process was found at the address, or a replica
// there had become a primary. Any goroutine may ask.
func (l *Lane) Promotions() int64 { return l.counts.promotions.Load() }

// vote hands an answer to its round.
func (l *Lane) vote(call *quorum.Call, answer quorum.Answer) {
	l.counts.votes[answer.Vote].Add(1)
	call.Round.Vote(l.cfg.Index, answer)
}

// meet notes what a backend says of itself, and sees whether it is what it was when it
// was met last. A backend that hides its run_id is always the same one.
func (l *Lane) meet(g Greeting) {
	l.mu.Lock()
	was := l.greeting
	l.greeting = g
	l.mu.Unlock()
	switch {
	case was.RunID != "" && g.RunID != "" && g.RunID != was.RunID:
		l.counts.restarts.Add(1)
		l.counts.promotions.Add(1)
		l.clock.forget()
	case was.Role != "" && was.Role != primary && g.Role == primary:
		l.counts.promotions.Add(1)
	}
}

// primary is the role of a primary in INFO.
const primary = "master"

// Refilled counts a refill.
func (l *Lane) Refilled() { l.counts.refills.Add(1) }
