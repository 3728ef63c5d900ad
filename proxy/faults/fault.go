package faults

import (
	"fmt"
	"slices"
	"time"

	"redlockproxy/proxy/redistest"
)

// Kind is what goes wrong.
type Kind string

// The faults of a backend that keeps its memory.
const (
	Kill   Kind = "kill"       // SIGKILL, and a restart with all its data at the end
	Freeze Kind = "freeze"     // SIGSTOP, and SIGCONT at the end
	Back   Kind = "clock back" // its clock is set back by up to half a second
	Rate   Kind = "clock rate" // its clock runs Amount times as fast as time
)

// The faults of a backend that loses memory.
const (
	Wipe    Kind = "wipe"          // SIGKILL, and an empty restart at the end
	Tear    Kind = "tear"          // SIGKILL, and a restart without the end of its file
	Flush   Kind = "flush"         // FLUSHALL
	Forward Kind = "clock forward" // its clock is set forward by a fifth of a second and up to two ttls
)

// The faults of one proxy's link to one backend. What a link holds is delivered at the
// end; what it drops never is.
const (
	HoldAll      Kind = "hold"
	HoldRequests Kind = "hold requests"
	HoldReplies  Kind = "hold replies"
	DropAll      Kind = "drop"
	DropRequests Kind = "drop requests"
	DropReplies  Kind = "drop replies"
	Slow         Kind = "slow"       // up to 60 ms each way, and as much by chance
	LoseReply    Kind = "lose reply" // requests pass, and then the connection breaks
	Reset        Kind = "reset"      // connections are reset once
	Refuse       Kind = "refuse"     // connections end and none is accepted
)

// The faults of a proxy.
const (
	KillProxy   Kind = "kill proxy" // SIGKILL, and another is started at the end
	FreezeProxy Kind = "freeze proxy"
)

var (
	linkFaults  = []Kind{HoldAll, HoldRequests, HoldReplies, DropAll, DropRequests, DropReplies, Slow, LoseReply, Reset, Refuse}
	proxyFaults = []Kind{KillProxy, FreezeProxy, FreezeProxy}
)

// Kinds are all that there are.
func Kinds() []Kind {
	return slices.Concat([]Kind{Kill, Freeze, Back, Rate, Wipe, Tear, Flush, Forward, FreezeProxy, KillProxy}, linkFaults)
}

// none is in place of a backend's or a proxy's number where there is none.
const none = -1

// tornBytes is the most that a Tear cuts off: some dozens of commands.
const tornBytes = 2000

// Fault is something that goes wrong for a while.
type Fault struct {
	Kind           Kind
	Backend, Proxy int // their numbers, or -1
	Begin, End     time.Duration
	Amount         float64 // the rate of a clock; of other faults how bad it is, 0 to 1
}

func (f Fault) String() string {
	return fmt.Sprintf("%9.3f %9.3f %-14s backend %2d proxy %2d amount %.3f",
		f.Begin.Seconds()*1000, f.End.Seconds()*1000, f.Kind, f.Backend, f.Proxy, f.Amount)
}

// begin lets the fault begin.
func (w *world) begin(f Fault) {
	w.tb.Helper()
	switch {
	case f.Backend == none:
		w.beginProxy(f)
	case f.Proxy == none:
		w.beginBackend(f)
	default:
		w.beginLink(f, w.proxies[f.Proxy].relays[f.Backend])
	}
}

func (w *world) beginBackend(f Fault) {
	w.tb.Helper()
	s := w.backends[f.Backend]
	switch f.Kind {
	case Kill, Wipe, Tear:
		s.Kill()
	case Freeze:
		s.Pause()
	case Flush:
		s.MustDo("FLUSHALL")
	case Back:
		w.check(s.Clock().Step(-f.Step(w.plan)))
	case Forward:
		w.check(s.Clock().Step(f.Step(w.plan)))
	case Rate:
		w.check(s.Clock().Rate(f.Amount))
	}
}

// Step is how far a clock is set.
func (f Fault) Step(p Plan) time.Duration {
	if f.Kind == Back {
		return time.Duration(f.Amount * float64(500*time.Millisecond))
	}
	return seen + time.Duration(2*f.Amount*float64(p.TTL))
}

func (w *world) beginLink(f Fault, r *redistest.Relay) {
	switch f.Kind {
	case HoldAll:
		r.Hold()
	case HoldRequests:
		r.Hold(redistest.Requests)
	case HoldReplies:
		r.Hold(redistest.Replies)
	case DropAll:
		r.BlackHole()
	case DropRequests:
		r.BlackHole(redistest.Requests)
	case DropReplies:
		r.BlackHole(redistest.Replies)
	case Slow:
		d := time.Duration(f.Amount * float64(60*time.Millisecond))
		r.Jitter(d, d)
	case LoseReply:
		r.ForwardThenClose("EVALSHA") // releases, extensions and undos
	case Reset:
		r.Reset()
	case Refuse:
		r.Refuse()
	}
}

func (w *world) beginProxy(f Fault) {
	w.tb.Helper()
	p := w.proxies[f.Proxy]
	switch f.Kind {
	case KillProxy:
		p.process().Kill()
	case FreezeProxy:
		p.process().Pause()
	}
}

// end lets the fault be over.
func (w *world) end(f Fault) {
	w.tb.Helper()
	switch f.Kind {
	case Kill:
		w.backends[f.Backend].RestartWithData()
	case Wipe:
		w.backends[f.Backend].Restart()
	case Tear:
		w.backends[f.Backend].RestartTorn(1 + int64(f.Amount*tornBytes))
	case Freeze:
		w.backends[f.Backend].Resume()
	case Rate:
		w.check(w.backends[f.Backend].Clock().Rate(1))
	case Flush, Back, Forward: // nothing can take them back
	case KillProxy:
		w.startProxy(f.Proxy)
	case FreezeProxy:
		w.proxies[f.Proxy].process().Resume()
	default:
		w.proxies[f.Proxy].relays[f.Backend].Pass()
	}
}
