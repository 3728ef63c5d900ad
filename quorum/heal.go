package quorum

import (
	"slices"
	"time"
)

// A healing puts a lock back on backends that do not have it, after its holder
// prolonged it and a majority confirmed in the same step that it is the holder's (I14).
// They lost it, or never got it. With a majority that has it, those that could have
// voted for somebody else are fewer than a quorum, so nothing that was lost comes back.
type healing struct {
	g      *Group
	round  *round
	key    Key
	stored Stored
	ttl    time.Duration // what the others were given; 0 for no expiry
	sent   time.Time
	calls  uint64 // of the key's stripe, when the prolongation was sent
}

// heal is what a won commit has to put back; nil if it prolonged nothing, or if those
// that granted it do not agree on what the key holds.
func (t *transaction) heal(r *round, op Commit) *healing {
	if len(op.Writes) != 1 {
		return nil // a program that does more is no plain extension
	}
	w := op.Writes[0]
	owner := slices.ContainsFunc(op.Guards, func(g Guard) bool {
		return g.Key == w.Key && (g.Kind == ValueIs || g.Kind == StoredIs)
	})
	if !owner || w.Kind != Expire && w.Kind != Refresh && w.Kind != Persist {
		return nil
	}
	h := &healing{g: t.g, round: r, key: w.Key, ttl: w.TTL, sent: t.sent, calls: r.calls}
	agree := 0
	for i := range r.tally.N {
		a := r.answers[i]
		if a.Vote != Granted || a.Held[0].Kind != String {
			continue
		}
		if agree == 0 {
			h.stored = a.Held[0].Stored
		}
		if a.Held[0].Stored == h.stored {
			agree++
		}
	}
	if agree < t.g.Q() {
		return nil
	}
	return h
}

// vote takes one backend's answer to the prolongation, be it in time or late.
func (h *healing) vote(backend int, a Answer) {
	if a.Vote != Refused || len(a.Held) != 1 || a.Held[0].Kind != Nothing {
		return
	}
	ttl := h.ttl
	if ttl > 0 {
		if ttl = (ttl - time.Since(h.sent)).Truncate(time.Millisecond); ttl <= 0 {
			return
		}
	}
	stripe := &h.g.order[h.g.stripe(h.key)]
	stripe.mu.Lock()
	defer stripe.mu.Unlock()
	if stripe.calls != h.calls {
		return // something came after the prolongation, perhaps the lock's release
	}
	h.g.backends[backend].Send(&Call{
		Op:       Acquire{Key: h.key, Stored: h.stored, TTL: ttl},
		Deadline: time.Now().Add(h.g.cfg.VoteLimit),
		Round:    nobody{},
	})
}

// nobody waits for an answer.
type nobody struct{}

// Vote implements Voter.
func (nobody) Vote(int, Answer) {}
