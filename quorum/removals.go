package quorum

import (
	"slices"
	"sync"
	"time"
)

// removals are what the deletions of one commit removed, by the word of the backends
// that granted it: the exact stored values, so that a removal that runs late hits
// nothing else. They are owed to every backend that failed. Grants and failures come
// in any order: where most backends are down, the failures are first.
type removals struct {
	g     *Group
	op    Commit
	round *round
	until time.Time // a straggler's grant after it was for something that nobody asked to remove

	mu      sync.Mutex
	removed [][]Debt // of each write, at most one a backend
	failed  []int
}

// newRemovals is nil if the operation deletes nothing.
func (t *transaction) newRemovals(r *round, op Commit) *removals {
	if !slices.ContainsFunc(op.Writes, func(w Write) bool { return w.Kind == Delete }) {
		return nil
	}
	return &removals{g: t.g, op: op, round: r, until: t.sent.Add(t.g.cfg.VoteLimit), removed: make([][]Debt, len(op.Writes))}
}

// vote takes one backend's answer into account, be it in time or a straggler's.
func (rm *removals) vote(backend int, a Answer) {
	rm.mu.Lock()
	defer rm.mu.Unlock()
	switch {
	case a.Vote == Failed:
		rm.failed = append(rm.failed, backend)
		for _, d := range slices.Concat(rm.removed...) {
			rm.g.backends[backend].Owe(d)
		}
	case a.Vote == Granted && rm.trusted(backend):
		rm.granted(a)
	}
}

// trusted tells whether a grant is for what was meant: it came in time, or so soon
// after the result that it can't be for the next owner's lock.
func (rm *removals) trusted(backend int) bool {
	return rm.round.answers[backend].Vote != Pending || !time.Now().After(rm.until)
}

// granted notes what the backend removed.
func (rm *removals) granted(a Answer) {
	for i, w := range rm.op.Writes {
		// A plain number is a counter, which may be at the same one again by the time
		// that a debt is paid. Only what has a tag is surely what was meant.
		if w.Kind != Delete || a.Held[i].Kind != String || !a.Held[i].Stored.HasTag() {
			continue
		}
		d := Debt{Key: w.Key, Stored: a.Held[i].Stored}
		if slices.ContainsFunc(rm.removed[i], func(o Debt) bool { return o.Stored == d.Stored }) {
			continue
		}
		d.Until = rm.g.debtEnd(0)
		rm.removed[i] = append(rm.removed[i], d)
		for _, backend := range rm.failed {
			rm.g.backends[backend].Owe(d)
		}
	}
}
