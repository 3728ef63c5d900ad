package quorum

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"time"
)

// Holding is what the group holds under one key, by agreement of a majority.
type Holding struct {
	Kind   HeldKind
	Stored Stored        // for a String
	Type   string        // for Other, as TYPE names it
	TTL    time.Duration // validity left, or NoTTL; only from a full read
}

// Value is the client value of a String.
func (h Holding) Value() string { return h.Stored.Value() }

// Read finds out what a majority holds under each key. With full, remaining times
// and the names of other types are known too. The error is an *UnavailableError if
// for one of the keys no majority agrees and the missing votes could make one.
func (g *Group) Read(ctx context.Context, keys []Key, full bool) ([]Holding, error) {
	op := within(ctx, g.cfg.AnswerWithin)
	holdings, split, err := g.readAgain(op, keys, full)
	if len(split) > 0 && !full {
		// Whether these are counters, their expiry says. The first round has waited
		// for all that could make them agree; this one waits for a majority.
		holdings, split, err = g.read(op, keys, true, func(r *round) bool {
			return readOver(keys, true)(r) || allCounted(keys, r)
		})
	}
	if err != nil {
		return nil, err
	}
	for _, i := range split {
		if err := g.equalize(op, keys[i], holdings[i].Stored); err != nil {
			return nil, err
		}
	}
	return holdings, nil
}

// readAgain reads, and tries again while backends that do answer disagree.
func (g *Group) readAgain(ctx limited, keys []Key, full bool) (holdings []Holding, split []int, err error) {
	for attempt := 1; ; attempt++ {
		holdings, split, err = g.read(ctx, keys, full, readOver(keys, full))
		var short *UnavailableError
		if !errors.As(err, &short) || !short.split || attempt >= g.cfg.Attempts || !g.pause(ctx) {
			return holdings, split, err
		}
	}
}

// read is one round of reading. For the keys listed in split, which hold counters
// that differ, the highest number is in the holding and is not on a majority yet.
func (g *Group) read(ctx limited, keys []Key, full bool, over func(*round) bool) (holdings []Holding, split []int, err error) {
	r := g.run(ctx, Read{Keys: keys, Full: full}, over, keys...)
	r.settle(nil)
	holdings = make([]Holding, len(keys))
	for i := range keys {
		b := newBallot(r, i)
		switch {
		case b.most >= Majority(r.tally.N):
			holdings[i] = b.holding(full)
		case b.counter(full):
			split = append(split, i)
			holdings[i] = Holding{Kind: String, Stored: b.highest(), TTL: NoTTL}
		case b.most+b.open >= Majority(r.tally.N):
			return nil, nil, &UnavailableError{Tally: b.tally(), split: r.split()}
		}
	}
	return holdings, split, nil
}

// readOver ends a round of reading when the votes still to come change nothing: all
// keys are decided, or one of them never will be.
func readOver(keys []Key, full bool) func(*round) bool {
	return func(r *round) bool {
		decided := true
		for i := range keys {
			b := newBallot(r, i)
			if b.hopeless(r.pending(), full) {
				return true
			}
			decided = decided && b.decided()
		}
		return decided
	}
}

// allCounted tells whether each key is decided or a counter of which a majority has
// told its numbers. The highest of any majority is a true answer (I11).
func allCounted(keys []Key, r *round) bool {
	for i := range keys {
		if b := newBallot(r, i); !b.decided() && !b.counter(true) {
			return false
		}
	}
	return true
}

// A ballot is what the backends of a round of reading say about one key.
type ballot struct {
	n    int
	held []Held // by backends that answered
	open int    // backends that did not, or not yet, or can't tell because of a block
	best Held
	most int // how many hold best
}

func newBallot(r *round, key int) ballot {
	b := ballot{n: r.tally.N, held: make([]Held, 0, MaxBackends)}
	for i := range r.tally.N {
		if a := r.answers[i]; a.Vote == Granted && !a.Held[key].Stored.IsBlock() {
			b.held = append(b.held, a.Held[key])
		} else {
			b.open++
		}
	}
	for _, h := range b.held {
		same := 0
		for _, o := range b.held {
			if sameThing(h, o) {
				same++
			}
		}
		if same > b.most {
			b.best, b.most = h, same
		}
	}
	return b
}

// sameThing compares what two backends hold, tag included (I8).
func sameThing(a, b Held) bool {
	return a.Kind == b.Kind && a.Stored == b.Stored && a.Type == b.Type
}

// tally puts the ballot into votes, for an error: those who say the same as most grant
// it, those who say something else refuse it.
func (b ballot) tally() Tally {
	return Tally{N: b.n, Granted: b.most, Refused: len(b.held) - b.most, Failed: b.open}
}

// decided tells whether the votes that are still open can't change the outcome.
func (b ballot) decided() bool {
	q := Majority(b.n)
	return b.most >= q || b.most+b.open < q
}

// hopeless tells whether the outcome is certain to be unavailable, whatever the
// pending votes bring: no majority for anything, none for there being no majority,
// and no majority of numbers.
func (b ballot) hopeless(pending int, full bool) bool {
	q := Majority(b.n)
	failed := b.open - pending
	return b.most+pending < q && max(b.most, min(pending, 1))+failed >= q &&
		!(len(b.held)+pending >= q && b.numbers(full))
}

// holding is the agreement itself. Its remaining time is the Q-th largest among
// those who hold it: so long, a majority holds it.
func (b ballot) holding(full bool) Holding {
	h := Holding{Kind: b.best.Kind, Stored: b.best.Stored, Type: b.best.Type}
	if !full || h.Kind == Nothing {
		return h
	}
	left := make([]time.Duration, 0, MaxBackends)
	for _, o := range b.held {
		if sameThing(b.best, o) {
			left = append(left, o.TTL)
		}
	}
	slices.SortFunc(left, func(x, y time.Duration) int { return cmp.Compare(lifetime(y), lifetime(x)) })
	h.TTL = Remaining(left[Majority(b.n)-1])
	return h
}

// lifetime orders remaining times: never is the longest.
func lifetime(ttl time.Duration) time.Duration {
	if ttl == NoTTL {
		return 1<<63 - 1
	}
	return ttl
}

// counter tells whether the backends that answered are a majority and hold the
// numbers of one counter: plain integers, at least one of them without the tag of
// a lock's value, and none that expires. A number with an expiry may be the lock
// of a client that uses a process number for its token; raising the others to it
// would make that client a holder.
func (b ballot) counter(full bool) bool {
	plain := func(h Held) bool { return h.Kind == String && !h.Stored.HasTag() }
	return len(b.held) >= Majority(b.n) && b.numbers(full) && slices.ContainsFunc(b.held, plain)
}

// numbers tells whether all that is held could belong to a counter.
func (b ballot) numbers(full bool) bool {
	for _, h := range b.held {
		if _, ok := h.number(); !ok || h.Kind == String && full && h.TTL != NoTTL {
			return false
		}
	}
	return true
}

// highest is the largest number among those of a counter.
func (b ballot) highest() Stored {
	m := int64(0)
	first := true
	for _, h := range b.held {
		if n, ok := h.number(); ok && h.Kind == String && (first || n > m) {
			m, first = n, false
		}
	}
	return Stored(strconv.FormatInt(m, 10))
}

// number is the integer that a backend holds; an absent key counts as 0, as it
// does for INCR. ok is false for anything that Redis would not increment.
func (h Held) number() (n int64, ok bool) {
	switch h.Kind {
	case Nothing:
		return 0, true
	case String:
		return ParseNumber(h.Stored.Value())
	}
	return 0, false
}

// ParseNumber reads a decimal integer in the one form that Redis accepts: no
// sign but a minus, no leading zeros, no blanks, 64 bits.
func ParseNumber(s string) (int64, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil && strconv.FormatInt(n, 10) == s
}
