package quorum

import (
	"errors"
	"sync"
	"time"
)

// A round is one call on its way to all backends, and the gathering of their
// votes. Its owner waits until the votes decide or the time for them is over;
// votes that come later, the stragglers, are handed to what the owner leaves
// behind with settle, so that nothing a backend did is ever overlooked (I5).
type round struct {
	decided chan struct{}
	timers  *timers
	op      limited // the operation that the round is part of
	asks    Op      // what the backends are asked
	calls   uint64  // of the first key's stripe, when it was sent

	mu      sync.Mutex
	over    func(*round) bool // called with mu held at each vote: is it decided?
	closed  bool
	tally   Tally
	answers [MaxBackends]Answer

	timedOut   bool      // closed by wait, with votes missing
	ended      time.Time // when wait was over
	settled    bool
	late       func(backend int, answer Answer)
	stragglers []straggler
}

type straggler struct {
	backend int
	answer  Answer
}

// newRound prepares a round over n backends that ends when over says so, or when
// all votes are in. over may look at tally and answers and nothing else.
func (g *Group) newRound(op limited, asks Op, over func(*round) bool) *round {
	return &round{decided: make(chan struct{}), timers: &g.timers, op: op, asks: asks, over: over, tally: Tally{N: g.N()}}
}

// byTally ends a round as soon as its Result is certain.
func byTally(r *round) bool { return r.tally.Result() != Undecided }

// preset casts a vote that is known before the round begins.
func (r *round) preset(backend int, vote Vote) {
	r.answers[backend].Vote = vote
	r.tally.Add(vote)
}

// begin ends the round at once if the preset votes decide it already.
func (r *round) begin() {
	if r.over(r) || r.pending() == 0 {
		r.closed = true
		close(r.decided)
	}
}

// Vote implements Voter.
func (r *round) Vote(backend int, answer Answer) {
	r.mu.Lock()
	if r.closed {
		late := r.late
		if !r.settled {
			r.stragglers = append(r.stragglers, straggler{backend, answer})
		}
		r.mu.Unlock()
		if late != nil {
			late(backend, answer)
		}
		return
	}
	if r.unknowing(answer) {
		answer = Answer{Vote: Failed, Unsent: true, Err: errBlock}
	}
	r.answers[backend] = answer
	r.tally.Add(answer.Vote)
	if r.over(r) || r.pending() == 0 {
		r.closed = true
		close(r.decided)
	}
	r.mu.Unlock()
}

func (r *round) pending() int {
	return r.tally.N - r.tally.Granted - r.tally.Refused - r.tally.Failed
}

// wait returns when the round is decided, when limit has passed since began, or when
// ctx is done. After it, the round's tally and answers do not change any more; a vote
// that is missing counts as failed in the tally and stays Pending in answers. Where the
// operation has taken too long for any vote to count, all count as failed (I13).
func (r *round) wait(began time.Time, limit time.Duration) {
	now := time.Now()
	timer := r.timers.get(min(began.Add(limit).Sub(now), r.op.end.Sub(now)))
	select {
	case <-r.decided:
	case <-timer.C:
	case <-r.op.Done():
	}
	r.timers.put(timer)
	r.mu.Lock()
	if !r.closed {
		r.closed, r.timedOut = true, true
	}
	r.tally.Failed += r.pending()
	if r.ended = time.Now(); r.op.stale(r.ended) {
		r.discount()
	}
	r.mu.Unlock()
}

// discount makes every vote a failed one: what was asked for may have been done.
func (r *round) discount() {
	r.timedOut = true
	r.tally = Tally{N: r.tally.N, Failed: r.tally.N}
	for i := range r.tally.N {
		if a := &r.answers[i]; a.Vote == Granted || a.Vote == Refused {
			*a = Answer{Vote: Failed, Err: errStale}
		}
	}
}

// unknowing tells whether a refusal is none, because a block is in the way: the backend
// has lost what the key held. That there is something it does know.
func (r *round) unknowing(a Answer) bool {
	if a.Vote != Refused || len(a.Held) != 1 || !a.Held[0].Stored.IsBlock() {
		return false
	}
	switch op := r.asks.(type) {
	case Acquire:
		return false
	case Commit:
		return a.FailedGuard < len(op.Guards) && op.Guards[a.FailedGuard].Kind != Absent
	}
	return true
}

// errBlock is why a backend has no vote about one key.
var errBlock = errors.New("it has lost what the key holds")

// errStale is why votes fail that came in time, where the operation did not end in time.
var errStale = errors.New("the operation took too long for its votes to count")

// split tells whether a round came to nothing because backends that do answer, a
// majority of all, said different things. That is no outage: a key that expires a
// moment sooner on one than on another is enough, and a moment later they agree. A
// round that had to wait for somebody to the end is not tried again: there is no time.
func (r *round) split() bool {
	failed := 0
	for i := range r.tally.N {
		if r.answers[i].Vote == Failed {
			failed++
		}
	}
	return !r.timedOut && failed <= r.tally.N-Majority(r.tally.N)
}

// settle says what is to be done with stragglers; nil for nothing. It must be
// called once, after wait. late is called for each vote that was still missing
// when the round ended, as it comes.
func (r *round) settle(late func(backend int, answer Answer)) {
	r.mu.Lock()
	early := r.stragglers
	r.stragglers, r.late, r.settled = nil, late, true
	r.mu.Unlock()
	if late == nil {
		return
	}
	for _, s := range early {
		late(s.backend, s.answer)
	}
}

// each calls f for every backend whose answer came in time, and leaves f behind
// for the stragglers.
func (r *round) each(f func(backend int, answer Answer)) {
	for i := range r.tally.N {
		if r.answers[i].Vote != Pending {
			f(i, r.answers[i])
		}
	}
	r.settle(f)
}
