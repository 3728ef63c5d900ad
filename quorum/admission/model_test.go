package admission

import (
	"fmt"
	"slices"

	"redlockproxy/quorum"
	"redlockproxy/quorum/model"
)

// # A world of one lock
//
// Three backends, two proxies, one key. The first proxy tries for the lock once, the
// second twice, one after the other; whoever has it may release it. One backend loses
// its memory, once, at any moment, by a restart or by a flush, and is refilled. Every
// message may take any time, in its lane's order; any round may end before its answers
// are in.
//
// In it are the product's own quorum.Tally, judge and change. Left out is the time: no
// lock expires, and the quiet period is what it stands for, the end of all operations
// that were under way when the refill began. A vote counts by the rule of the marker
// (A1). What is put back for others' sake (healing, counters) is not in it either.

const (
	size     = 3
	attempts = 3
	proxies  = 2
	victim   = 0 // the backend that forgets; the three are alike
	lasting  = 2 // the attempt that neither gives up nor is released: nobody comes after it
)

// What a backend holds: nothing, the value of attempt n as n+1, or a block.
const blocked = attempts + 1

// The phases of an attempt.
const (
	asleep  int8 = iota
	open         // its votes are being counted
	holding      // its client has the lock
	over         // released or undone, as far as messages have arrived
)

// Where an attempt's SET is, for one backend.
const (
	unsent   int8 = iota
	onWay         // not carried out yet
	granted       // carried out; its answer is on the way
	refused       //
	voteless      // the answer does not count
	heard         // the answer is in, or nobody waits for it any more
)

// try is one attempt. Its values are small, for there are many of them.
type try struct {
	phase  int8
	set    [size]int8
	token  [size]int8 // which the proxy knew when it sent the SET; 0 for none
	remove [size]bool // a removal is on the way behind the SET
	votes  [3]int8    // granted, refused, failed
}

// The steps of the refill.
const (
	fine     int8 = iota // nothing was lost
	lost                 // the memory
	noted                // what is there was noted, and what was open
	filling              // some of the others were read
	filled               // the learner holds what it must
	restored             // it votes again
)

// lockWorld is a state of the world.
type lockWorld struct {
	holds  [size]int8
	marker [size]int8 // a token, 0 for none
	tries  [attempts]try
	step   int8           // of the refill
	noted  int8           // what the learner held
	quiet  [attempts]bool // operations that must end before anything is read
	late   bool           // an answer has been held up already
	read   [size]bool     // whether a source was read,
	reads  [size]int8     // and what it held
}

// rules are what the search may break.
type rules struct {
	votesAtOnce bool // a backend that forgot keeps its vote
	noQuiet     bool
	sources     int8 // how many are read
	countLost   bool // a vote counts whatever became of the marker meanwhile
	copyAny     bool // of several values one is taken
}

// lockSteps are all that may happen.
func (rule rules) lockSteps(w lockWorld, then func(model.Step, lockWorld)) {
	to := func(step model.Step, w lockWorld) {
		w.forgetIdle()
		then(step, w)
	}
	for i := range int8(attempts) {
		rule.tryStep(w, i, to)
		for b := range int8(size) {
			rule.message(w, i, b, to)
		}
	}
	rule.refillStep(w, to)
}

// forgetIdle drops removals that can't find anything any more: there is no SET before
// them, and what they are for is not there.
func (w *lockWorld) forgetIdle() {
	for i := range w.tries {
		t := &w.tries[i]
		for b := range size {
			t.remove[b] = t.remove[b] && (t.set[b] == onWay || w.holds[b] == int8(i)+1)
		}
	}
}

// proxyOf says whose attempt it is: those of one proxy come one after the other.
func proxyOf(i int8) int8 { return min(i, proxies-1) }

// tryStep is what an attempt's proxy, or its client, may do by itself.
func (rule rules) tryStep(w lockWorld, i int8, to func(model.Step, lockWorld)) {
	t := &w.tries[i]
	switch t.phase {
	case asleep:
		if i > 0 && proxyOf(i-1) == proxyOf(i) && w.tries[i-1].phase != over {
			return
		}
		t.phase = open
		for b := range size {
			t.set[b], t.token[b] = onWay, w.marker[b]
		}
		to(model.Step{Text: "attempt %a by proxy %b", A: i, B: proxyOf(i)}, w)
	case open:
		if end(t); i != lasting {
			to(model.Step{Text: "attempt %a runs out of time", A: i}, w)
		}
	case holding:
		if end(t); i != lasting {
			to(model.Step{Text: "attempt %a is released", A: i}, w)
		}
	}
}

// end sends what takes everything back, behind whatever was sent before.
func end(t *try) {
	t.phase, t.votes, t.token = over, [3]int8{}, [size]int8{}
	for b := range size {
		t.remove[b] = true
		if t.set[b] > onWay {
			t.set[b] = heard
		}
	}
}

// message is what may become of the messages between an attempt and a backend. An
// answer is heard at once, but for one that comes late.
func (rule rules) message(w lockWorld, i, b int8, to func(model.Step, lockWorld)) {
	t := &w.tries[i]
	switch {
	case t.set[b] == onWay:
		counts := t.token[b] != 0 && t.token[b] == w.marker[b] || rule.countLost
		answer := refused
		if w.holds[b] == 0 {
			answer, w.holds[b] = granted, i+1
		}
		if !counts {
			answer = voteless
		}
		t.set[b], t.token[b] = heard, 0
		if t.phase == open {
			if !w.late && counts {
				l := w
				l.late, l.tries[i].set[b] = true, answer
				to(model.Step{Text: "SET of attempt %a at backend %b, whose answer is late", A: i, B: b}, l)
			}
			t.count(answer)
		}
		to(model.Step{Text: "SET of attempt %a at backend %b", A: i, B: b}, w)
	case t.remove[b]:
		t.remove[b] = false
		if w.holds[b] == i+1 {
			w.holds[b] = 0
		}
		to(model.Step{Text: "removal of attempt %a at backend %b", A: i, B: b}, w)
	case t.phase == open && t.set[b] > onWay && t.set[b] < heard:
		answer := t.set[b]
		t.set[b] = heard
		t.count(answer)
		to(model.Step{Text: "late answer to attempt %a of backend %b", A: i, B: b}, w)
	}
}

// count takes an answer into account.
func (t *try) count(answer int8) {
	t.votes[answer-granted]++
	tally := quorum.Tally{N: size, Granted: int(t.votes[0]), Refused: int(t.votes[1]), Failed: int(t.votes[2])}
	switch tally.Result() {
	case quorum.Won:
		t.phase, t.votes, t.token = holding, [3]int8{}, [size]int8{}
		for b := range size {
			if t.set[b] > onWay {
				t.set[b] = heard // stragglers do not matter
			}
		}
	case quorum.Lost, quorum.Unavailable:
		end(t)
	}
}

// refillStep is what may happen to the backend that forgets.
func (rule rules) refillStep(w lockWorld, to func(model.Step, lockWorld)) {
	switch w.step {
	case fine:
		rule.lose(w, to)
	case lost:
		w.step, w.noted = noted, w.holds[victim]
		for i, t := range w.tries {
			w.quiet[i] = t.phase == open && !rule.noQuiet
		}
		to(model.Step{Text: "its refill begins"}, w)
	case noted, filling:
		for i, t := range w.tries {
			if w.quiet[i] && t.phase == open {
				return
			}
		}
		w.step, w.quiet = filling, [attempts]bool{}
		rule.readStep(w, to)
	case filled:
		w.step, w.marker[victim], w.read, w.reads = restored, 2, [size]bool{}, [size]int8{}
		to(model.Step{Text: "it votes again"}, w)
	case restored:
		if w.holds[victim] == blocked { // it is looked at again
			rule.readStep(w, to)
		}
	}
}

// lose takes the backend's memory and its marker. A restart also loses what it has not
// read yet; what it has answered is on the way.
func (rule rules) lose(w lockWorld, to func(model.Step, lockWorld)) {
	w.step, w.holds[victim], w.marker[victim] = lost, 0, 0
	if rule.votesAtOnce {
		w.step, w.marker[victim] = restored, 1
	}
	to(model.Step{Text: "the backend is flushed"}, w)
	dropped := false
	for i := range w.tries {
		if t := &w.tries[i]; t.set[victim] == onWay {
			dropped = true
			if t.set[victim], t.token[victim] = heard, 0; t.phase == open {
				t.count(voteless)
			}
		}
	}
	if dropped {
		to(model.Step{Text: "the backend restarts empty"}, w)
	}
}

// readStep reads one more source or, when enough are read, makes what the learner holds
// safe, guarded by what it holds.
func (rule rules) readStep(w lockWorld, to func(model.Step, lockWorld)) {
	n := int8(0)
	for b := range int8(size) {
		if w.read[b] {
			n++
			continue
		}
		if b != victim {
			r := w
			r.read[b], r.reads[b] = true, w.holds[b]
			to(model.Step{Text: "source %a is read", A: b}, r)
		}
	}
	if n < rule.sources {
		return
	}
	again := w.step == restored
	w.holds[victim] = rule.settled(w, again)
	w.read, w.reads, w.noted = [size]bool{}, [size]int8{}, 0
	if again {
		to(model.Step{Text: "its block is looked at again"}, w)
		return
	}
	w.step = filled
	to(model.Step{Text: "it is refilled"}, w)
}

// settled is what the learner holds after judge and change have had their say.
func (rule rules) settled(w lockWorld, again bool) int8 {
	var reads []quorum.Held
	s := sight{held: inStore[w.holds[victim]], noted: w.noted == w.holds[victim] || again}
	for b := range size {
		if w.read[b] {
			reads = append(reads, inStore[w.reads[b]])
			s.elsewhere = s.elsewhere || w.reads[b] != 0 && w.reads[b] == w.holds[victim]
		}
	}
	if again {
		s.elsewhere = false
	}
	v := judge(reads, size)
	if v.action == block && again {
		return w.holds[victim]
	}
	if v.action == block && rule.copyAny {
		v.action, v.stored = put, reads[len(reads)-1].Stored
	}
	change, ok := v.change("k", s)
	switch {
	case !ok:
		return w.holds[victim]
	case change.Writes[0].Kind == quorum.Delete:
		return 0
	case change.Writes[0].Stored.IsBlock():
		return blocked
	}
	return int8(slices.IndexFunc(inStore[:], func(h quorum.Held) bool { return h.Stored == change.Writes[0].Stored }))
}

// inStore is what a backend says it holds, by the number that stands for it here.
var inStore = func() (all [blocked + 1]quorum.Held) {
	for i := 1; i < blocked; i++ {
		all[i] = lock(fmt.Sprintf("%d~rl:AAAAAAAAAAAAAAAA", i), quorum.NoTTL)
	}
	all[blocked] = lock(string(newBlock()), quorum.NoTTL)
	return all
}()

// twoHolders is what must never be.
func twoHolders(w lockWorld) string {
	n := 0
	for _, t := range w.tries {
		if t.phase == holding {
			n++
		}
	}
	if n > 1 {
		return fmt.Sprintf("%d clients hold the lock", n)
	}
	return ""
}
