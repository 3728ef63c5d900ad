package quorum

import (
	"context"
	"errors"
	"math"
	"strconv"
	"time"
)

// Errors of counters; Redis has the same three.
var (
	ErrNotInteger = errors.New("the key does not hold an integer")
	ErrOverflow   = errors.New("the number would leave the 64-bit range")
	ErrWrongType  = errors.New("the key holds another type of value")
)

// raises bounds the rounds that settle one number. Each is lost only to another
// operation on the same key that went further meanwhile.
const raises = 8

// Count is how a number was found.
type Count struct {
	Number int64
	Tally  Tally // of the deciding round
	Rounds int
}

// Increment adds by > 0 to a counter and returns a number that no other call has
// got or will get, larger than any that was returned before this call began (I10).
// Numbers may have gaps. Errors: *UnavailableError (the number may have moved; it
// is not known which), ErrNotInteger, ErrWrongType, ErrOverflow.
func (g *Group) Increment(ctx context.Context, key Key, by int64) (Count, error) {
	op := within(ctx, g.cfg.AnswerWithin)
	r := g.run(op, Increment{Key: key, By: by}, incrementOver, key)
	r.settle(nil) // a straggler only moves its own number up: a gap at most
	if n, most := sameNumber(r); most >= g.Q() {
		return Count{Number: n, Tally: r.tally, Rounds: 1}, nil
	}
	c := contest{g: g, key: key, by: by}
	err := c.afterIncrement(r)
	count := Count{}
	if err == nil {
		count, err = c.settle(op)
	}
	if err == ErrOverflow {
		err = c.confirmOverflow(op, r.tally)
	}
	return count, err
}

// confirmOverflow sees whether a majority holds the number that would leave the range:
// the backends that have it may be a minority that is behind.
func (c *contest) confirmOverflow(ctx limited, last Tally) error {
	held, err := c.g.Read(ctx, []Key{c.key}, false)
	if err != nil {
		return err
	}
	n, ok := Held{Kind: held[0].Kind, Stored: held[0].Stored}.number()
	switch {
	case held[0].Kind == Other:
		return ErrWrongType
	case !ok:
		return ErrNotInteger
	case n > math.MaxInt64-c.by:
		return ErrOverflow
	}
	return unavailable(last) // the key has changed since
}

// enough tells whether a majority has said what it has, granting or refusing, or none
// will any more. A round of a counter needs no more, and does not end for less: what
// neither grants nor refusals can decide alone, the next round will.
func enough(r *round) bool {
	q := Majority(r.tally.N)
	return r.tally.Reached() >= q || r.tally.Reached()+r.pending() < q
}

// incrementOver ends the round of an increment: when a majority replied the same number,
// or none can any more.
func incrementOver(r *round) bool {
	_, most := sameNumber(r)
	return most >= Majority(r.tally.N) || enough(r) && most+r.pending() < Majority(r.tally.N)
}

// raiseOver ends a round of raising, in the same way.
func raiseOver(r *round) bool {
	granted := r.tally.Granted
	return granted >= Majority(r.tally.N) || enough(r) && granted+r.pending() < Majority(r.tally.N)
}

// sameNumber is the number that most grants of a round of Increment agree on.
func sameNumber(r *round) (n int64, most int) {
	for i := range r.tally.N {
		if r.answers[i].Vote != Granted {
			continue
		}
		same := 0
		for j := range r.tally.N {
			if r.answers[j].Vote == Granted && r.answers[j].Number == r.answers[i].Number {
				same++
			}
		}
		if same > most {
			n, most = r.answers[i].Number, same
		}
	}
	return n, most
}

// A contest settles one increment whose first round brought different numbers:
// backends are raised to a target until a majority took it for this operation.
type contest struct {
	g        *Group
	key      Key
	by       int64
	target   int64
	seen     int64 // the highest number met
	accepted [MaxBackends]bool
}

// afterIncrement takes the highest number of the first round for the target. The
// backends that replied it gave it to this operation alone. A tagged number, which
// INCR can't read, counts as that number: the target must be beyond it.
func (c *contest) afterIncrement(r *round) error {
	if r.tally.Reached() < c.g.Q() {
		return unavailable(r.tally)
	}
	if err := refusal(r); err != nil {
		return err
	}
	c.target, c.seen = math.MinInt64, math.MinInt64
	for i := range r.tally.N {
		a := r.answers[i]
		if a.Vote == Granted {
			c.target = max(c.target, a.Number)
		} else if n, ok := heldNumber(a); ok && a.Vote == Refused {
			c.seen = max(c.seen, n)
		}
	}
	if c.seen >= c.target {
		return c.next()
	}
	for i := range r.tally.N {
		c.accepted[i] = r.answers[i].Vote == Granted && r.answers[i].Number == c.target
	}
	return nil
}

// next gives up the target for one that nobody can have got.
func (c *contest) next() error {
	m := max(c.seen, c.target)
	if m > math.MaxInt64-c.by {
		return ErrOverflow
	}
	c.target, c.seen, c.accepted = m+c.by, m, [MaxBackends]bool{}
	return nil
}

// settle raises until a majority has accepted the target for this operation.
func (c *contest) settle(ctx limited) (Count, error) {
	var last Tally
	for n := range raises {
		if n > 1 && !c.g.pause(ctx) {
			break
		}
		r := c.g.raise(ctx, c.key, c.target, c.accepted, raiseOver)
		r.settle(nil)
		last = r.tally
		switch done, err := c.afterRaise(r); {
		case err != nil:
			return Count{}, err
		case done:
			return Count{Number: c.target, Tally: last, Rounds: n + 2}, nil
		}
	}
	return Count{}, unavailable(last)
}

// afterRaise tells whether the target is this operation's. If not, the next target is
// beyond all that was met.
func (c *contest) afterRaise(r *round) (done bool, err error) {
	switch {
	case r.tally.Granted >= c.g.Q():
		return true, nil
	case r.tally.Reached() < c.g.Q():
		return false, unavailable(r.tally)
	}
	if err := refusal(r); err != nil {
		return false, err
	}
	for i := range r.tally.N {
		if m, ok := heldNumber(r.answers[i]); ok && r.answers[i].Vote == Refused {
			c.seen = max(c.seen, m)
		}
	}
	return false, c.next()
}

// raise sends "become target if you are lower" to the backends that have not
// accepted it yet; the others' votes are known.
func (g *Group) raise(ctx limited, key Key, target int64, accepted [MaxBackends]bool, over func(*round) bool) *round {
	text := strconv.FormatInt(target, 10)
	op := Commit{
		Guards: []Guard{{Kind: Lower, Key: key, Text: text}},
		Writes: []Write{{Kind: Raise, Key: key, Stored: Stored(text)}},
	}
	r := g.newRound(ctx, op, over)
	for i := range g.N() {
		if accepted[i] {
			r.preset(i, Granted)
		}
	}
	r.begin()
	began := time.Now()
	call := &Call{Op: op, Deadline: began.Add(g.cfg.VoteLimit), Round: r}
	g.send(call, func(i int) bool { return accepted[i] }, key)
	r.wait(began, g.cfg.VoteLimit)
	return r
}

// equalize raises a majority to the highest number that was read of a counter, so
// that no later read can see less (I11).
func (g *Group) equalize(ctx limited, key Key, highest Stored) error {
	m, _ := ParseNumber(string(highest))
	// A backend that refused because it is as far counts like one that was raised.
	there := func(r *round) int {
		n := r.tally.Granted
		for i := range r.tally.N {
			if has, ok := heldNumber(r.answers[i]); ok && r.answers[i].Vote == Refused && has >= m {
				n++
			}
		}
		return n
	}
	r := g.raise(ctx, key, m, [MaxBackends]bool{}, func(r *round) bool {
		return there(r) >= g.Q() || there(r)+r.pending() < g.Q()
	})
	r.settle(nil)
	if there(r) < g.Q() {
		return unavailable(r.tally)
	}
	return nil
}

// refusal is the error of a counter operation that a majority refused because
// there is no number to add to.
func refusal(r *round) error {
	notInteger, wrongType, overflow := 0, 0, 0
	for i := range r.tally.N {
		a := r.answers[i]
		if a.Vote != Refused {
			continue
		}
		switch _, ok := heldNumber(a); {
		case a.Overflow:
			overflow++
		case len(a.Held) > 0 && a.Held[0].Kind == Other:
			wrongType++
		case !ok:
			notInteger++
		}
	}
	switch q := Majority(r.tally.N); {
	case wrongType >= q:
		return ErrWrongType
	case overflow >= q:
		return ErrOverflow
	case notInteger+wrongType >= q:
		return ErrNotInteger
	}
	return nil
}

func heldNumber(a Answer) (int64, bool) {
	if len(a.Held) == 0 {
		return 0, false
	}
	return a.Held[0].number()
}
