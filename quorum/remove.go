package quorum

import (
	"context"
	"slices"
	"time"
)

// Remove deletes keys without any condition, as DEL does, and returns how many of
// them a majority held. Because a removal may run late, on a backend that was
// paused, it must not hurt whoever has the key by then (I5): it is a read, and then
// on each backend a removal guarded by what that backend itself reported.
func (g *Group) Remove(ctx context.Context, keys []Key) (int, error) {
	op := within(ctx, g.cfg.AnswerWithin)
	seen := g.run(op, Read{Keys: keys, Full: true}, readOver(keys, true), keys...)
	removals := make([]*removal, len(keys))
	for i, key := range keys {
		rm, err := g.newRemoval(op, seen, i, key)
		if err != nil {
			seen.settle(nil)
			return 0, err
		}
		removals[i] = rm
	}
	for _, rm := range removals {
		rm.sendAll(seen)
	}
	seen.settle(func(backend int, a Answer) {
		for _, rm := range removals {
			rm.late(backend, a)
		}
	})
	count := 0
	var unknown error
	for _, rm := range removals {
		gone, err := rm.wait()
		if err != nil {
			unknown = err // the others are seen to all the same
		} else if gone {
			count++
		}
	}
	if unknown != nil {
		return 0, unknown
	}
	return count, nil
}

// A removal is the second half of Remove for one key.
type removal struct {
	g      *Group
	key    Key
	index  int               // of the key in what was read
	held   [MaxBackends]Held // what each backend was told to remove
	ballot ballot
	round  *round
	end    time.Time // of the whole operation
}

func (g *Group) newRemoval(op limited, seen *round, i int, key Key) (*removal, error) {
	rm := &removal{g: g, key: key, index: i, ballot: newBallot(seen, i), round: g.newRound(op, nil, enough)}
	if !rm.ballot.decided() && !rm.ballot.counter(true) {
		return nil, unavailable(rm.ballot.tally())
	}
	rm.end = op.end
	for b := range g.N() {
		switch a := seen.answers[b]; {
		case a.Vote == Failed:
			rm.round.preset(b, Failed)
		case a.Vote == Granted && a.Held[i].Kind == Nothing:
			rm.round.preset(b, Granted)
		}
	}
	rm.round.begin()
	return rm, nil
}

// sendAll asks the backends whose reports came in time for the removal, and owes it
// to those that failed.
func (rm *removal) sendAll(seen *round) {
	unlock := rm.g.lockOrder([]Key{rm.key})
	defer unlock()
	for b := range rm.g.N() {
		switch a := seen.answers[b]; {
		case a.Vote == Failed:
			rm.oweAgreed(b)
		case a.Vote == Granted && a.Held[rm.index].Kind != Nothing:
			rm.send(b, a.Held[rm.index])
		case a.Vote == Pending && rm.agreed() && rm.ballot.best.Stored.HasTag():
			// It most likely holds what a majority has. Asked now, it is free for whoever
			// takes the key next; asked after its report, it would refuse that one.
			rm.send(b, rm.ballot.best)
		}
	}
}

// late takes a report that came after the reading was decided. It is not to be
// trusted: on a backend that was paused it may speak of the next owner's lock. Only
// what some backend reported in time is removed.
func (rm *removal) late(b int, a Answer) {
	switch {
	case rm.held[b].Kind != Nothing: // it was asked already
	case a.Vote != Granted:
		rm.round.Vote(b, Answer{Vote: Failed})
		rm.oweAgreed(b)
	case a.Held[rm.index].Kind == Nothing:
		rm.round.Vote(b, Answer{Vote: Granted})
	case rm.reported(a.Held[rm.index]):
		rm.send(b, a.Held[rm.index])
	default:
		rm.round.Vote(b, Answer{Vote: Refused})
	}
}

// reported tells whether a backend said in time that it holds the same string.
func (rm *removal) reported(h Held) bool {
	return h.Kind == String && slices.ContainsFunc(rm.ballot.held, func(o Held) bool { return sameThing(h, o) })
}

// send asks one backend to remove what it said it holds.
func (rm *removal) send(b int, h Held) {
	guard := Guard{Kind: StoredIs, Key: rm.key, Text: string(h.Stored)}
	if h.Kind == Other {
		guard = Guard{Kind: TypeIs, Key: rm.key, Text: h.Type}
	}
	rm.held[b] = h // before its vote, which is when it is looked at
	rm.g.backends[b].Send(&Call{
		Op:       Commit{Guards: []Guard{guard}, Writes: []Write{{Kind: Delete, Key: rm.key}}},
		Deadline: rm.end,
		Round:    rm.round,
	})
}

// wait returns when a majority has answered. A refusal is as good as a grant: the key
// changed since it was read, so what was to be removed is gone.
func (rm *removal) wait() (gone bool, err error) {
	rm.round.wait(time.Now(), rm.g.cfg.VoteLimit)
	rm.round.each(func(b int, a Answer) {
		if a.Vote == Failed && rm.held[b].Kind == String {
			rm.owe(b, rm.held[b].Stored)
		}
	})
	if rm.round.tally.Reached() < rm.g.Q() {
		return false, unavailable(rm.round.tally)
	}
	if rm.agreed() { // also that there is nothing, whatever a minority has left
		return rm.ballot.best.Kind != Nothing, nil
	}
	return rm.ballot.counter(true), nil
}

// oweAgreed takes care of a backend that did not say what it holds: it loses what a
// majority has.
func (rm *removal) oweAgreed(b int) {
	if rm.agreed() && rm.ballot.best.Kind == String {
		rm.owe(b, rm.ballot.best.Stored)
	}
}

// owe leaves out what has no tag: a counter may be at the same number again by the
// time that a debt is paid.
func (rm *removal) owe(b int, stored Stored) {
	if !stored.HasTag() {
		return
	}
	rm.g.backends[b].Owe(Debt{Key: rm.key, Stored: stored, Until: rm.g.debtEnd(0)})
}

func (rm *removal) agreed() bool { return rm.ballot.most >= rm.g.Q() }
