package quorum

import "context"

// Remove deletes keys without any condition, as DEL does, and returns how many of
// them a majority held. Because a removal may run late, on a backend that was
// paused, it must not hurt whoever has the key by then (I5): it is a read, and then
// on each backend a removal guarded by what that backend itself reported.
func (g *Group) Remove(ctx context.Context, keys []Key) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, g.cfg.AnswerWithin)
	defer cancel()
	seen := g.run(ctx, Read{Keys: keys, Full: true}, readOver(keys, true), keys...)
	removals := make([]*removal, len(keys))
	for i, key := range keys {
		rm, err := g.newRemoval(seen, i, key)
		if err != nil {
			seen.settle(nil)
			return 0, err
		}
		removals[i] = rm
	}
	for _, rm := range removals {
		rm.send(ctx)
	}
	owe := func(backend int, a Answer) {
		for i, rm := range removals {
			rm.oweUnread(backend, i, a)
		}
	}
	for b := range g.N() {
		if a := seen.answers[b]; a.Vote == Failed {
			owe(b, a)
		}
	}
	seen.settle(owe)
	count := 0
	for _, rm := range removals {
		gone, err := rm.wait(ctx)
		if err != nil {
			return 0, err
		}
		if gone {
			count++
		}
	}
	return count, nil
}

// A removal is the second half of Remove for one key.
type removal struct {
	g      *Group
	key    Key
	held   [MaxBackends]Held
	ballot ballot
	round  *round
}

func (g *Group) newRemoval(seen *round, i int, key Key) (*removal, error) {
	rm := &removal{g: g, key: key, ballot: newBallot(seen, i), round: newRound(g.N(), reachedMajority)}
	if !rm.ballot.decided() && !rm.ballot.counter(true) {
		return nil, unavailable(seen.tally)
	}
	for b := range g.N() {
		switch a := seen.answers[b]; {
		case a.Vote != Granted:
			rm.round.preset(b, Failed) // oweUnread sees to it
		case a.Held[i].Kind == Nothing:
			rm.round.preset(b, Granted)
		default:
			rm.held[b] = a.Held[i]
		}
	}
	rm.round.begin()
	return rm, nil
}

// reachedMajority ends a round in which a refusal is as good as a grant: the key
// changed since it was read, so what was to be removed is gone.
func reachedMajority(r *round) bool {
	return r.tally.Reached() >= Majority(r.tally.N)
}

func (rm *removal) send(ctx context.Context) {
	unlock := rm.g.lockOrder([]Key{rm.key})
	defer unlock()
	for b, backend := range rm.g.backends {
		h := rm.held[b]
		if h.Kind == Nothing {
			continue
		}
		guard := Guard{Kind: StoredIs, Key: rm.key, Text: string(h.Stored)}
		if h.Kind == Other {
			guard = Guard{Kind: TypeIs, Key: rm.key, Text: h.Type}
		}
		end, _ := ctx.Deadline()
		backend.Send(&Call{
			Op:       Commit{Guards: []Guard{guard}, Writes: []Write{{Kind: Delete, Key: rm.key}}},
			Deadline: end,
			Round:    rm.round,
		})
	}
}

func (rm *removal) wait(ctx context.Context) (gone bool, err error) {
	rm.round.wait(ctx, rm.g.cfg.VoteLimit)
	rm.round.each(func(b int, a Answer) {
		if a.Vote == Failed && rm.held[b].Kind == String {
			rm.owe(b, rm.held[b].Stored)
		}
	})
	if !reachedMajority(rm.round) {
		return false, unavailable(rm.round.tally)
	}
	return rm.agreed() && rm.ballot.best.Kind != Nothing || rm.ballot.counter(true), nil
}

// oweUnread takes care of a backend whose answer to the reading failed or came
// late: it loses what it said it holds or, if it said nothing, what a majority has.
func (rm *removal) oweUnread(backend, i int, a Answer) {
	switch {
	case a.Vote == Granted && a.Held[i].Kind == String:
		rm.owe(backend, a.Held[i].Stored)
	case a.Vote == Failed && rm.agreed() && rm.ballot.best.Kind == String:
		rm.owe(backend, rm.ballot.best.Stored)
	}
}

func (rm *removal) owe(backend int, stored Stored) {
	rm.g.backends[backend].Owe(Debt{Key: rm.key, Stored: stored, Until: rm.g.debtEnd(0)})
}

func (rm *removal) agreed() bool { return rm.ballot.most >= rm.g.Q() }
