package quorum

import (
	"fmt"
	"strconv"

	"redlockproxy/quorum/model"
)

// # A world of one counter
//
// Three backends, two proxies, one increment by each. One backend loses its memory,
// once, at any moment, and is refilled.
// Every message may take any time, in its lane's order, and run after its round; any
// round may end before its answers are in. An answer is heard at once, but for one that
// comes late.
//
// In it are the product's own ends of rounds and what follows from their answers. The
// refill is what package admission does with a number, to take the highest; the quiet
// period is what it stands for, the end of all operations that were under way.

const (
	worldSize = 3
	worldOps  = 2
	worldRows = 3 // rounds of one increment at most: itself and two raises
	forgetful = 0 // the backend that forgets; the three are alike
)

// The phases of an increment.
const (
	waiting int8 = iota
	counting
	given
	failedOp
)

// increments are small, for there are many of them.
type increment struct {
	phase    int8
	round    int8            // 0 is the increment itself
	target   [worldRows]int8 // of each raise
	seen     int8
	floor    int8 // the highest number that was given before it began
	number   int8
	accepted [worldSize]bool
	sent     [worldSize]int8 // a bit for each round whose request is on its way
	token    [worldRows]int8 // of the backend that forgets, when the request was sent
	votes    [worldSize]ballotPaper
	held     [worldSize]ballotPaper // answers that are late
}

// ballotPaper is an answer: the vote, and the number or what the backend has.
type ballotPaper struct {
	vote   Vote
	number int8
}

// The steps of the refill.
const (
	whole int8 = iota
	emptied
	calm // what was under way is known
	refilled
)

type counterWorld struct {
	has    [worldSize]int8
	marker int8 // the forgetful backend's token, 0 for none
	ops    [worldOps]increment
	step   int8
	quiet  [worldOps]bool
	read   [worldSize]bool
	most   int8 // of what was read
	late   bool // an answer has been late already
	rounds int8 // of one increment at most; what is not settled then is an error
}

// counterRules are what a search may break.
type counterRules struct {
	highest     bool // the highest reply is the number
	anyAccepted bool // whoever replied anything has given the highest
	votesAtOnce bool
	noQuiet     bool
	countLost   bool
	sources     int8
}

// worldGroup is what the product's code wants to know of its group.
var worldGroup = &Group{backends: make([]Backend, worldSize)}

func (rule counterRules) steps(w counterWorld, to func(model.Step, counterWorld)) {
	for i := range int8(worldOps) {
		rule.opStep(w, i, to)
		for b := range int8(worldSize) {
			rule.deliver(w, i, b, to)
		}
	}
	rule.refillStep(w, to)
}

// opStep is what a proxy may do by itself.
func (rule counterRules) opStep(w counterWorld, i int8, to func(model.Step, counterWorld)) {
	o := &w.ops[i]
	switch {
	case o.phase == waiting:
		for _, other := range w.ops {
			o.floor = max(o.floor, other.number)
		}
		o.phase, o.token[0] = counting, w.marker
		for b := range worldSize {
			o.sent[b] = 1
		}
		to(model.Step{Text: "increment %a begins", A: i}, w)
	case o.phase == counting:
		rule.decide(&w, i)
		to(model.Step{Text: "a round of increment %a runs out of time", A: i}, w)
	}
}

// deliver is what may become of the messages between an increment and a backend.
func (rule counterRules) deliver(w counterWorld, i, b int8, to func(model.Step, counterWorld)) {
	o := &w.ops[i]
	if p := o.held[b]; p.vote != Pending {
		l := w
		lo := &l.ops[i]
		lo.held[b] = ballotPaper{}
		rule.hear(&l, i, b, p)
		to(model.Step{Text: "late answer to increment %a of backend %b", A: i, B: b}, l)
	}
	for r := range int8(worldRows) {
		if o.sent[b]&(1<<r) == 0 {
			continue
		}
		o.sent[b] &^= 1 << r
		p := w.carryOut(o, r, b)
		if b == forgetful && (o.token[r] == 0 || o.token[r] != w.marker) && !rule.countLost {
			p = ballotPaper{vote: Failed}
		}
		text := model.Step{Text: "request of increment %a at backend %b", A: i, B: b}
		if r > 0 {
			text.Text = "raise of increment %a at backend %b"
		}
		if o.phase != counting || r != o.round {
			w.forgetIdle()
			to(text, w) // a straggler
			return
		}
		if !w.late && p.vote != Failed {
			l := w
			l.late, l.ops[i].held[b] = true, p
			late := text
			late.Text += ", whose answer is late"
			to(late, l)
		}
		rule.hear(&w, i, b, p)
		to(text, w)
		return // what is behind it waits
	}
}

// carryOut does at a backend what one round asks for.
func (w *counterWorld) carryOut(o *increment, r, b int8) ballotPaper {
	if r == 0 {
		w.has[b]++
		return ballotPaper{Granted, w.has[b]}
	}
	if w.has[b] < o.target[r] {
		w.has[b] = o.target[r]
		return ballotPaper{Granted, w.has[b]}
	}
	return ballotPaper{Refused, w.has[b]}
}

// hear takes an answer into account.
func (rule counterRules) hear(w *counterWorld, i, b int8, p ballotPaper) {
	o := &w.ops[i]
	o.votes[b] = p
	r := o.asRound(false)
	over := incrementOver
	if o.round > 0 {
		over = raiseOver
	}
	if r.pending() == 0 || over(r) || rule.highest && r.tally.Granted >= Majority(worldSize) {
		rule.decide(w, i)
	}
}

// asRound is the present round as the product has it.
func (o *increment) asRound(ended bool) *round {
	r := &round{tally: Tally{N: worldSize}}
	for b, p := range o.votes {
		a := Answer{Vote: p.vote, Number: int64(p.number)}
		switch {
		case o.accepted[b]:
			a.Vote = Granted
		case p.vote == Refused:
			a.Held = []Held{{Kind: String, Stored: Stored(strconv.Itoa(int(p.number)))}}
		}
		r.answers[b] = a
		r.tally.Add(a.Vote)
	}
	if ended {
		r.tally.Failed += r.pending()
	}
	return r
}

// decide ends a round, and begins the next if there is one.
func (rule counterRules) decide(w *counterWorld, i int8) {
	o := &w.ops[i]
	r := o.asRound(true)
	c := contest{g: worldGroup, by: 1, target: int64(o.target[o.round]), seen: int64(o.seen)}
	var err error
	if o.round == 0 {
		n, most := sameNumber(r)
		if most >= Majority(worldSize) {
			w.end(i, given, n)
			return
		}
		if err = c.afterIncrement(r); err == nil && rule.highest {
			w.end(i, given, c.target)
			return
		}
		for b := range worldSize {
			c.accepted[b] = c.accepted[b] || rule.anyAccepted && r.answers[b].Vote == Granted
		}
	} else {
		var done bool
		if done, err = c.afterRaise(r); done {
			w.end(i, given, c.target)
			return
		}
	}
	if o.round++; err != nil || o.round == w.rounds {
		w.end(i, failedOp, 0)
		return
	}
	o.target[o.round], o.seen, o.token[o.round] = int8(c.target), int8(c.seen), w.marker
	o.votes, o.held = [worldSize]ballotPaper{}, [worldSize]ballotPaper{}
	for b := range worldSize {
		if o.accepted[b] = c.accepted[b]; !o.accepted[b] {
			o.sent[b] |= 1 << o.round
		}
	}
	if raiseOver(o.asRound(false)) {
		rule.decide(w, i)
	}
}

// end forgets what nothing depends on any more.
func (w *counterWorld) end(i, phase int8, number int64) {
	o := &w.ops[i]
	*o = increment{phase: phase, number: int8(number), floor: o.floor, sent: o.sent, target: o.target}
	w.forgetIdle()
}

// forgetIdle drops raises that can change nothing any more: nobody waits for them, and
// the backend is further.
func (w *counterWorld) forgetIdle() {
	for i := range w.ops {
		o := &w.ops[i]
		var on int8
		for b := range worldSize {
			for r := int8(1); r < worldRows; r++ {
				idle := o.phase > counting || r < o.round
				if idle && w.has[b] >= o.target[r] && (b != forgetful || w.step != whole) {
					o.sent[b] &^= 1 << r
				}
			}
			on |= o.sent[b]
		}
		for r := int8(1); r < worldRows; r++ {
			if o.phase > counting && on&(1<<r) == 0 {
				o.target[r] = 0
			}
		}
	}
}

// refillStep is what may happen to the backend that forgets.
func (rule counterRules) refillStep(w counterWorld, to func(model.Step, counterWorld)) {
	switch w.step {
	case whole:
		if w.step, w.has[forgetful], w.marker = emptied, 0, 0; rule.votesAtOnce {
			w.step, w.marker = refilled, 1
		}
		to(model.Step{Text: "the backend is flushed"}, w)
		lost := false
		for i := range w.ops {
			o := &w.ops[i]
			was := o.sent[forgetful]
			lost = lost || was != 0
			o.sent[forgetful] = 0
			if o.phase == counting && was&(1<<o.round) != 0 {
				rule.hear(&w, int8(i), forgetful, ballotPaper{vote: Failed})
			}
		}
		if lost {
			to(model.Step{Text: "the backend restarts empty"}, w)
		}
	case emptied:
		w.step = calm
		for i, o := range w.ops {
			w.quiet[i] = o.phase == counting && !rule.noQuiet
		}
		to(model.Step{Text: "its refill begins"}, w)
	case calm:
		n := int8(0)
		for i, o := range w.ops {
			if w.quiet[i] && o.phase == counting {
				return
			}
		}
		w.quiet = [worldOps]bool{}
		for b := range int8(worldSize) {
			if w.read[b] {
				n++
			} else if b != forgetful {
				r := w
				r.read[b], r.most = true, max(w.most, w.has[b])
				to(model.Step{Text: "source %a is read", A: b}, r)
			}
		}
		if n >= rule.sources {
			w.has[forgetful] = max(w.has[forgetful], w.most)
			w.step, w.marker, w.read, w.most = refilled, 2, [worldSize]bool{}, 0
			to(model.Step{Text: "it is refilled and votes again"}, w)
		}
	}
}

// wrongNumbers are numbers that are given twice, or fall.
func wrongNumbers(w counterWorld) string {
	for i, o := range w.ops {
		if o.phase != given {
			continue
		}
		if o.number <= o.floor {
			return fmt.Sprintf("increment %d was given %d, and %d was given before it began", i, o.number, o.floor)
		}
		for j, p := range w.ops[:i] {
			if p.phase == given && p.number == o.number {
				return fmt.Sprintf("increments %d and %d were both given %d", j, i, o.number)
			}
		}
	}
	return ""
}
