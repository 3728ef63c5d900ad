package quorum

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"
)

// A Program is something a client wants done in one step: a script, an EXEC, a
// command with a condition. It reads and writes through the View, and may be run
// several times; only its last run counts. An error other than ErrUnread ends the
// transaction, and nothing is written; one that was run on a guess is first run again on
// what is there, except after an error of a context.
type Program func(v *View) error

// Transaction is how a program ended.
type Transaction struct {
	Wrote    bool
	Locks    []Lock        // what it created, to be undone if the answer can't be given any more
	Validity time.Duration // the shortest of what it stored or prolonged; NoTTL if nothing expires
	Tally    Tally         // of the deciding round
	Runs     int

	// Tried is what any of the runs wanted to do, also if it came to nothing.
	Tried Intent

	// Number is the last number that a counter was raised to, if Wrote and Tried
	// has Counts.
	Number int64

	// Seen is the guess that would have been right, for the next time.
	Seen Assumption
}

// Intent is a set of things that a program wants to do.
type Intent uint8

// The things.
const (
	Creates  Intent = 1 << iota // stores under a key that is absent
	Removes                     // deletes a key
	Prolongs                    // gives a key another expiry
	Counts                      // raises a counter
)

// runs bounds how often one program is run, with one more for each key that it has met:
// each run after the first either knows more keys or has lost to another client that got
// through. The time for the answer bounds it, too.
const runs = 12

// patience is how many times a program is run again for keys that it meets one by one,
// before all are read that it has announced. Few programs meet more than these, and keys
// that are not needed may be just those that no majority agrees on; then it goes on one
// by one.
const patience = 2

// Transact runs the program on what the group holds and commits what it wrote, in
// one atomic step on each backend of a majority (I12). Where assume is a guess, the
// first run takes it for true, which saves the reading when it is right. Errors:
// the program's own, or an *UnavailableError.
func (g *Group) Transact(ctx context.Context, assume Assumption, program Program) (Transaction, error) {
	op := within(ctx, g.cfg.AnswerWithin)
	t := transaction{g: g, program: program, assume: assume, last: Tally{N: g.N()}}
	defer t.giveTurns()
	for run := 1; run <= runs+len(t.known); run++ {
		done, err := t.step(op)
		if err != nil || done {
			t.out.Runs = run
			return t.out, err
		}
	}
	return t.out, unavailable(t.last)
}

type transaction struct {
	g       *Group
	program Program
	assume  Assumption
	known   map[Key]Holding
	losses  int
	unread  int       // runs that ended at a key that was not known
	give    func()    // gives its turns back; nil while it has none
	sent    time.Time // when the last commit was
	last    Tally
	out     Transaction
}

// step is one run, and what follows from it.
func (t *transaction) step(ctx limited) (done bool, err error) {
	v := newView(t.known, t.assume)
	err = t.program(v)
	t.out.Tried |= v.intent()
	t.out.Seen = v.seen()
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return false, err // whatever it ran on: there is no time to run it again
	case v.unread:
		t.unread++
		if t.unread > patience && t.read(ctx, slices.Concat(v.touched, v.named)) == nil {
			return false, nil
		}
		return false, t.read(ctx, v.touched)
	case err != nil && t.guessed(v):
		// The program failed on a guess; it may not fail on what is there.
		return false, t.read(ctx, v.touched)
	case err != nil:
		return false, err
	case len(v.writes) == 0 && t.guessed(v):
		return false, t.read(ctx, v.touched)
	case len(v.writes) == 0:
		t.out.Validity = NoTTL
		t.out.Tally = t.last
		return true, nil
	}
	// A guess may go first: what it was right about, as a release by the owner is,
	// nobody else was about to change.
	guessed := t.guessed(v)
	if t.give == nil && !guessed && t.g.turns.crowded(t.g.stripesOf(v.touched)) {
		return false, t.queue(ctx, v)
	}
	won, err := t.commit(ctx, v)
	if err != nil || won {
		return won, err
	}
	t.losses++
	if t.give == nil && !guessed {
		return false, t.queue(ctx, v)
	}
	if t.losses > 1 && !t.g.pause(ctx) {
		return false, unavailable(t.last)
	}
	return false, t.read(ctx, v.touched)
}

// guessed tells whether the run saw anything that was not read, or not read in the
// same round as the rest.
func (t *transaction) guessed(v *View) bool {
	for _, k := range v.touched {
		if _, ok := t.known[k]; !ok {
			return true
		}
	}
	return false
}

// read replaces what is known by one quorum read of all keys that the program has
// met so far; from here on nothing is assumed.
func (t *transaction) read(ctx limited, keys []Key) error {
	t.assume = Assumption{}
	all := make(map[Key]bool, len(keys)+len(t.known))
	for _, k := range keys {
		all[k] = true
	}
	for k := range t.known {
		all[k] = true
	}
	keys = slices.Sorted(maps.Keys(all))
	held, err := t.g.Read(ctx, keys, true)
	if err != nil {
		return err
	}
	t.known = make(map[Key]Holding, len(keys))
	for i, k := range keys {
		t.known[k] = held[i]
	}
	return nil
}

// commit sends guards and writes to all backends. A won commit whose ttl is over
// already counts as lost.
func (t *transaction) commit(ctx limited, v *View) (won bool, err error) {
	op, locks, err := t.build(v)
	if err != nil {
		return false, err
	}
	watch := startStopwatch()
	t.sent = watch.start
	for i := range locks {
		locks[i].since = watch
	}
	r := t.g.run(ctx, op, byTally, v.touched...)
	t.last = r.tally
	result := r.tally.Result()
	validity := t.validity(v, watch)
	if result == Won && (validity > 0 || validity == NoTTL) {
		t.settleWon(r, op)
		t.out.Wrote, t.out.Locks, t.out.Validity, t.out.Tally = true, locks, validity, r.tally
		t.out.Number = v.lastNumber()
		return true, nil
	}
	if result == Unavailable {
		t.settleUnavailable(r, op, locks)
		if r.split() && v.undoable() {
			return false, nil
		}
		return false, unavailable(r.tally)
	}
	if result == Lost {
		// What a majority refused did not happen. A backend that was behind, or had kept
		// something that is gone elsewhere, may have stored it all the same, over whatever
		// it had; there it is nobody's.
		locks = stored(op)
	}
	r.each(func(backend int, a Answer) { t.undo(backend, a, locks) })
	return false, nil
}

// build makes the operation: every value gets the one tag of this attempt. A key that
// the program creates is a lock as its last write leaves it.
func (t *transaction) build(v *View) (Commit, []Lock, error) {
	op := Commit{Guards: v.guards, Writes: make([]Write, len(v.writes))}
	var locks []Lock
	var at map[Key]int // in locks, if a key is created
	tag, err := Tagged("", t.g.cfg.Random)
	if err != nil {
		return op, nil, err
	}
	for i, w := range v.writes {
		w.Write.TTL = StoredTTL(w.life, t.g.cfg.PadTTL)
		if w.Kind == Put || w.Kind == Refresh {
			w.Write.Stored = Stored(w.value) + tag
		}
		op.Writes[i] = w.Write
		if w.created {
			if at == nil {
				at = make(map[Key]int)
			}
			at[w.Key] = len(locks)
			locks = append(locks, Lock{Key: w.Key, padded: t.g.cfg.PadTTL})
		}
		if n, created := at[w.Key]; created {
			locks[n] = locks[n].after(w)
		}
	}
	return op, slices.DeleteFunc(locks, func(l Lock) bool { return l.Stored == "" }), nil
}

// after is the lock as a write to its key leaves it; one without Stored is none.
func (l Lock) after(w draftWrite) Lock {
	switch w.Kind {
	case Put, Refresh:
		l.Stored, l.TTL = w.Stored, w.life
	case Raise:
		l.Stored = w.Stored
	case Expire, Persist:
		l.TTL = w.life
	case Delete:
		l.Stored, l.TTL = "", 0
	}
	return l
}

// validity is the shortest of all that the program stored or prolonged.
func (t *transaction) validity(v *View, watch stopwatch) time.Duration {
	shortest := NoTTL
	elapsed := watch.elapsed()
	for _, w := range v.writes {
		if w.life == 0 {
			continue
		}
		// A negative one is over; it must not be taken for NoTTL.
		left := max(0, Validity(w.life, elapsed, t.g.cfg.PadTTL))
		if shortest == NoTTL || left < shortest {
			shortest = left
		}
	}
	return shortest
}

// stored is all that an operation stores, to be undone.
func stored(op Commit) []Lock {
	var locks []Lock
	for _, w := range op.Writes {
		if w.Kind == Put || w.Kind == Refresh {
			locks = append(locks, Lock{Key: w.Key, Stored: w.Stored, TTL: w.TTL})
		}
	}
	return locks
}

// undo takes back what an attempt created on one backend.
func (t *transaction) undo(backend int, a Answer, locks []Lock) {
	for _, l := range locks {
		t.g.undo(backend, a, l)
	}
}

// settleWon sees to it that what a majority removed goes from the others too, and that
// what it prolonged is on all.
func (t *transaction) settleWon(r *round, op Commit) {
	if rm := t.newRemovals(r, op); rm != nil {
		r.each(rm.vote)
		return
	}
	if h := t.heal(r, op); h != nil {
		r.each(h.vote)
		return
	}
	r.settle(nil)
}

// settleUnavailable takes back what the attempt created, as far as that is known,
// and lets what it removed somewhere go everywhere. What it replaced or prolonged
// stays: the old state can't be restored, and taking the new one away could lose a
// lock that its owner still has.
func (t *transaction) settleUnavailable(r *round, op Commit, locks []Lock) {
	rm := t.newRemovals(r, op)
	owed := make(map[Key]bool, len(locks))
	for _, l := range locks {
		owed[l.Key] = true
	}
	r.each(func(backend int, a Answer) {
		t.undo(backend, a, locks)
		if rm != nil {
			rm.vote(backend, a)
		}
		if a.Vote != Granted {
			return
		}
		for i, w := range op.Writes {
			if w.Kind == Put && a.Held[i].Kind == Nothing && !owed[w.Key] {
				t.g.undo(backend, a, Lock{Key: w.Key, Stored: w.Stored, TTL: w.TTL})
			}
		}
	})
}
