package quorum

import (
	"context"
	"time"
)

// A Lock is something a client may hold: one key, with what was stored under it.
type Lock struct {
	Key    Key
	Stored Stored
	TTL    time.Duration // the client's own; 0 if the lock never expires

	padded bool
	since  stopwatch // started just before the backends were asked
}

// Validity is how long the lock may still be relied on; 0 or less if it is too late.
// now is what the clocks have just shown. A lock without ttl is always valid and has
// Validity NoTTL.
func (l Lock) Validity(now time.Time) time.Duration {
	if l.TTL == 0 {
		return NoTTL
	}
	return Validity(l.TTL, l.since.until(now), l.padded)
}

// Valid tells whether the lock may still be given to its client (I3).
func (l Lock) Valid(now time.Time) bool { return l.TTL == 0 || l.Validity(now) > 0 }

// Acquisition is how the attempt to get a lock ended.
type Acquisition struct {
	Won      bool
	Split    bool // not Won, because several wanted the key and none of them got a majority
	Late     bool // not Won, because the grants came when the lock's time was over
	Lock     Lock
	Tally    Tally // of the last attempt
	Attempts int
}

// Acquire tries to store value under an absent key for ttl (0: without expiry)
// on a majority of the backends. Not Won means that somebody else has the key, or
// that nobody got it in Attempts tries because several wanted it at once; then
// nothing that this call wrote is left. The error is an *UnavailableError, or says
// that no tag could be made.
func (g *Group) Acquire(ctx context.Context, key Key, value string, ttl time.Duration) (Acquisition, error) {
	limit := g.cfg.AnswerWithin
	if ttl > 0 {
		limit = min(limit, ttl) // a try that begins after the client's ttl is of no use to it
	}
	op := within(ctx, limit)
	watch := op.watch
	refused := false // by a majority, in an attempt before this one
	for attempt := 1; ; attempt++ {
		stored, err := Tagged(value, g.cfg.Random)
		if err != nil {
			return Acquisition{}, err
		}
		lock := Lock{Key: key, Stored: stored, TTL: ttl, padded: g.cfg.PadTTL, since: watch}
		r := g.run(op, Acquire{Key: key, Stored: stored, TTL: StoredTTL(ttl, g.cfg.PadTTL)}, acquireOver, key)
		a := Acquisition{Lock: lock, Tally: r.tally, Attempts: attempt}
		result := r.tally.Result()
		if result == Won && lock.Valid(r.ended) {
			r.settle(nil)
			a.Won = true
			return a, nil
		}
		r.each(func(backend int, answer Answer) { g.undo(backend, answer, lock) })
		switch {
		case result == Unavailable && r.split() && attempt < g.cfg.Attempts && g.pause(op):
			watch = startStopwatch()
			continue
		case result == Unavailable && !refused:
			return a, unavailable(r.tally)
		case result == Unavailable:
			// An attempt before this one was refused by a majority, and that stands. This
			// one may have had hardly any time left: contention is not an outage.
			a.Split = true
			return a, nil
		case result == Won, taken(r):
			a.Late = result == Won
			return a, nil
		case attempt >= g.cfg.Attempts, !g.pause(op):
			a.Split = true
			return a, nil
		}
		watch, refused = startStopwatch(), true
	}
}

// Undo takes back a lock that was won but can't be given to its client any more.
func (g *Group) Undo(lock Lock) {
	until := g.debtEnd(lock.TTL)
	for _, b := range g.backends {
		b.Owe(Debt{Key: lock.Key, Stored: lock.Stored, Until: until})
	}
}

// acquireOver ends a round of acquisition: at the Q-th grant; at the Q-th refusal
// if it is known by then whether one holder has a majority or none can; when
// neither is possible.
func acquireOver(r *round) bool {
	switch r.tally.Result() {
	case Won, Unavailable:
		return true
	case Lost:
		most := mostHeld(r)
		q := Majority(r.tally.N)
		return most >= q || most+r.pending() < q
	}
	return false
}

// taken tells whether a refused acquisition met one holder that has a majority.
// Without one the votes were split, and nobody has the key (I7).
func taken(r *round) bool { return mostHeld(r) >= Majority(r.tally.N) }

// mostHeld is the number of refusals that name the same holder.
func mostHeld(r *round) int {
	most := 0
	for i := range r.tally.N {
		if r.answers[i].Vote != Refused {
			continue
		}
		same := 0
		for j := range r.tally.N {
			if r.answers[j].Vote == Refused && sameHolder(r.answers[i], r.answers[j]) {
				same++
			}
		}
		most = max(most, same)
	}
	return most
}

// sameHolder tells whether two refusals may name the same holder; a backend that
// can't say what it holds may mean any.
func sameHolder(a, b Answer) bool {
	if len(a.Held) == 0 || len(b.Held) == 0 {
		return true
	}
	return a.Held[0].Kind == b.Held[0].Kind && a.Held[0].Stored == b.Held[0].Stored
}
