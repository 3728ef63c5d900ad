package quorum

import (
	"context"
	"math/bits"
	"slices"
	"time"
)

// A walk goes through the keys of one backend after the other. What a majority holds is
// on at least one of any N-Q+1 backends, so that many have to be gone through to the
// end; where one can't be, the next takes its place. Of the names that come up, those
// are given on which the backends agree that there is something (I8).
//
// All that a walk needs to know stands in its Place, so any group over the same
// backends can go on with it. A name comes up on several backends, so it may be given
// several times; within one step it is given once.

// A Place is where a walk is. The zero value is its start, and its end.
type Place struct {
	Backend int    // whose keys are being gone through
	Missed  uint8  // backends that could not be gone through, as bits
	Cursor  uint64 // of that backend
}

const (
	placeBackendBits = 3 // MaxBackends fits
	placeMissedBits  = MaxBackends
	placeBits        = placeBackendBits + placeMissedBits

	// maxCursor bounds the cursors that backends may have. Redis's are smaller than its
	// table of keys.
	maxCursor = 1<<(63-placeBits) - 1
)

// Number is the place as one number, below 2^63.
func (p Place) Number() uint64 {
	return p.Cursor<<placeBits | uint64(p.Missed)<<placeBackendBits | uint64(p.Backend)
}

// Place is the place that a number stands for; false if no walk of this group can be
// there.
func (g *Group) Place(n uint64) (Place, bool) {
	p := Place{
		Backend: int(n % (1 << placeBackendBits)),
		Missed:  uint8(n >> placeBackendBits % (1 << placeMissedBits)),
		Cursor:  n >> placeBits,
	}
	ok := p.Backend < g.N() && p.Missed>>p.Backend == 0 && p.Cursor <= maxCursor && !g.walked(p)
	return p, ok
}

// walked tells whether enough backends have been gone through.
func (g *Group) walked(p Place) bool {
	return p.Backend-p.missed() >= g.N()-g.Q()+1
}

func (p Place) missed() int { return bits.OnesCount8(p.Missed) }

const (
	// walkKeys is how many names one step gathers before it looks who holds them, and
	// walkBytes how long they may be together. A group with fewer keys is walked through
	// in one step, in which no name comes twice.
	walkKeys  = 1000
	walkBytes = 1 << 20

	// walkPart is how many keys a backend looks at for one request: what it can do
	// without anybody noticing that it did nothing else.
	walkPart = 200

	// walkRequests bounds the requests of one step, when few of the keys are wanted.
	walkRequests = 64
)

// Walk makes one step of a walk through all keys that the group holds, and returns the
// names that it found, what a majority holds under each, and the place to go on from,
// the zero Place at the end. A key that a majority holds from the first step to the last
// comes at least once; one that a majority surely does not hold does not come. The
// holdings are for their Kind and Type; their values may be shortened. Only names that
// wanted is true of come; nil wants all. The error is an *UnavailableError if too many
// backends can't be gone through.
func (g *Group) Walk(ctx context.Context, p Place, wanted func(Key) bool) (keys []Key, held []Holding, next Place, err error) {
	in := within(ctx, g.cfg.AnswerWithin)
	names, next, err := g.names(in, p, wanted)
	if err != nil || len(names) == 0 {
		return nil, nil, next, err
	}
	r := g.run(in, Read{Keys: names, Full: true, Brief: true}, allDecided(names), names...)
	r.settle(nil)
	if r.tally.Granted < g.Q() {
		return nil, nil, Place{}, unavailable(r.tally)
	}
	for i, k := range names {
		if h := newBallot(r, i).likely(); h.Kind != Nothing {
			keys, held = append(keys, k), append(held, h)
		}
	}
	return keys, held, next, nil
}

// allDecided ends a round of reading when all keys are decided. One that can't be
// does not keep the others from being.
func allDecided(keys []Key) func(*round) bool {
	return func(r *round) bool {
		for i := range keys {
			if b := newBallot(r, i); !b.decided() {
				return false
			}
		}
		return true
	}
}

// names goes on with a walk until it has gathered enough names, until there is no time
// for more, or to the end.
func (g *Group) names(ctx limited, p Place, wanted func(Key) bool) (names []Key, next Place, err error) {
	seen := make(map[Key]bool)
	bytes := 0 // of all names, also those that are not wanted: they take time too
	for i := range walkRequests {
		if g.walked(p) {
			return names, Place{}, nil
		}
		if i > 0 && (len(names) >= walkKeys || bytes >= walkBytes || !g.timeFor(ctx)) {
			return names, p, nil
		}
		answer := g.ask(ctx, p.Backend, Walk{Cursor: p.Cursor, Count: walkPart})
		if answer.Vote != Granted || answer.Next > maxCursor {
			if i > 0 && ctx.Err() != nil {
				return names, p, nil
			}
			p = Place{Backend: p.Backend + 1, Missed: p.Missed | 1<<p.Backend}
			if missed := p.missed(); missed >= g.Q() {
				return nil, Place{}, unavailable(Tally{N: g.N(), Granted: p.Backend - missed, Failed: missed})
			}
			continue
		}
		for _, k := range answer.Keys {
			if time.Now().After(ctx.end) { // long names can take wanted long
				return nil, Place{}, unavailable(Tally{N: g.N(), Granted: p.Backend - p.missed(), Failed: p.missed()})
			}
			if seen[k] || k == MarkerKey {
				continue
			}
			seen[k] = true
			bytes += len(k)
			if wanted == nil || wanted(k) {
				names = append(names, k)
			}
		}
		if p.Cursor = answer.Next; p.Cursor == 0 {
			p.Backend++
		}
	}
	if g.walked(p) {
		p = Place{}
	}
	return names, p, nil
}

// timeFor tells whether there is time for one more request, and for the round after it.
func (g *Group) timeFor(ctx limited) bool {
	return time.Until(ctx.end) > g.cfg.VoteLimit
}

// ask sends one operation to one backend. No answer is a failed one.
func (g *Group) ask(ctx limited, backend int, op Op) Answer {
	r := g.newRound(ctx, op, func(*round) bool { return true })
	began := time.Now()
	g.backends[backend].Send(&Call{Op: op, Deadline: began.Add(g.cfg.VoteLimit), Round: r})
	r.wait(began, g.cfg.VoteLimit)
	r.settle(nil)
	if answer := r.answers[backend]; answer.Vote != Pending {
		return answer
	}
	return Answer{Vote: Failed}
}

// likely is what a majority holds or may hold, if the votes that are missing agree: for
// a walk, which is to miss nothing. Nothing means that a majority surely holds nothing,
// or not the same.
func (b ballot) likely() Holding {
	if b.most < Majority(b.n) && b.counter(true) {
		return Holding{Kind: String, Stored: b.highest(), TTL: NoTTL}
	}
	for _, h := range b.held {
		same := 0
		for _, o := range b.held {
			if sameThing(h, o) {
				same++
			}
		}
		if h.Kind != Nothing && same+b.open >= Majority(b.n) {
			return Holding(h)
		}
	}
	return Holding{}
}

// Size is about how many keys a majority holds: the Q-th largest of the numbers of keys
// on the backends. The error is an *UnavailableError if fewer than Q of them answer.
func (g *Group) Size(ctx context.Context) (int64, error) {
	r := g.run(within(ctx, g.cfg.AnswerWithin), Walk{}, func(*round) bool { return false }) // all who answer in time count
	r.settle(nil)
	if r.tally.Granted < g.Q() {
		return 0, unavailable(r.tally)
	}
	var sizes []int64
	for i := range r.tally.N {
		if r.answers[i].Vote == Granted {
			sizes = append(sizes, r.answers[i].Number)
		}
	}
	slices.Sort(sizes)
	return sizes[len(sizes)-g.Q()], nil
}
