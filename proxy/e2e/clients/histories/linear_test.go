package histories

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"github.com/anishathalye/porcupine"

	"redlockproxy/proxy/faults/history"
)

// Porcupine's search can take exponential time and memory. It is kept short by giving
// it one key at a time, of histories of at most eight clients and some seconds, with
// few operations whose end is open; what it can't decide in its time has failed.
const (
	searchTime = 10 * time.Second
	maxOpen    = 3
)

// verdict is what porcupine says of a history.
type verdict struct {
	checked    int // keys
	skipped    int // keys with too many operations whose end is open
	complaints []string
}

// memory is what the backends of a history did to what they held.
type memory struct {
	lost     bool          // some forgot: locks may be gone before their time
	refilled bool          // some were told by others what they may have forgotten
	grace    time.Duration // how much longer than its ttl a lock may stay
}

// linear looks for an order of the operations on each key.
func linear(ops []history.Op, backends memory) (v verdict) {
	byLock := map[string][]history.Op{}
	byCounter := map[string][]history.Op{}
	for _, o := range ops {
		switch o.Kind {
		case history.Increment, history.Read:
			byCounter[o.Key] = append(byCounter[o.Key], o)
		case history.Fenced:
			byCounter[o.Counter] = append(byCounter[o.Counter], o)
			byLock[o.Key] = append(byLock[o.Key], o)
		default:
			byLock[o.Key] = append(byLock[o.Key], o)
		}
	}
	for key, ops := range byLock {
		history, open := lockOps(ops, backends.grace)
		if open > maxOpen {
			v.skipped++
			continue
		}
		v.search(key, lockModel(backends), history)
	}
	for key, ops := range byCounter {
		v.search(key, counterModel, counterOps(ops))
	}
	return v
}

func (v *verdict) search(key string, model porcupine.Model, ops []porcupine.Operation) {
	v.checked++
	if result := porcupine.CheckOperationsTimeout(model, ops, searchTime); result != porcupine.Ok {
		v.complaints = append(v.complaints, fmt.Sprintf("no order explains %s: %s", key, result))
	}
}

// counterModel is a counter whose numbers rise and may have gaps: each number drawn is
// above all before it, and a reading shows what was drawn, or what somebody drew who
// was not told.
var counterModel = porcupine.Model{
	Init: func() any { return int64(0) },
	Step: func(state, input, _ any) (bool, any) {
		last, o := state.(int64), input.(history.Op)
		return o.Number > last || o.Kind == history.Read && o.Number == last, o.Number
	},
}

// counterOps are the operations that had an answer. The others make gaps at most.
func counterOps(ops []history.Op) (all []porcupine.Operation) {
	for _, o := range ops {
		if o.Outcome == history.Done {
			all = append(all, operation(o, o.Return))
		}
	}
	return all
}

func operation(o history.Op, end time.Duration) porcupine.Operation {
	return porcupine.Operation{ClientId: o.Client, Input: o, Call: int64(o.Call), Return: int64(end)}
}

// lock is the state of a key: who holds it, and from when on it may be gone by itself.
// The token "" is nobody.
type lock struct {
	token string
	until time.Duration
}

// step is an operation on a lock, with what its client can't know of others.
type step struct {
	history.Op
	end       time.Duration // its latest moment
	givenBack time.Duration // when a release of unknown outcome may have ended the lock it is about
	comesBack time.Duration // until when that lock may be there again
}

// lockModel is a lock whose time runs out at an unknown moment after its ttl. A lock
// whose release has failed may come back before that, while nobody else holds it: a few
// backends still have it, and those that are refilled learn of it from them.
func lockModel(backends memory) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return lock{} },
		Step: func(state, input, _ any) (bool, any) {
			l, s := state.(lock), input.(step)
			gone := l.token == "" || l.until <= s.end // it may be, by this step
			if backends.refilled && gone && s.about() != "" && s.givenBack < s.end && s.Call <= s.comesBack {
				l = lock{s.about(), s.end}
			}
			switch {
			case s.Kind == history.Acquire:
				return gone, lock{s.Token, min(s.Call+s.TTL, s.givenBack)}
			case s.Kind == history.Look && s.Seen != "":
				return l.token == s.Seen, l
			case s.Kind == history.Look:
				return gone || backends.lost, lock{}
			case s.Outcome == history.Refused:
				if l.token != s.Token {
					return true, l
				}
				return gone || backends.lost, lock{}
			case s.Kind == history.Release:
				return l.token == s.Token, lock{}
			default: // an extension, after which a release may still have ended it
				return l.token == s.Token, lock{l.token, max(l.until, min(s.Call+s.TTL, s.givenBack))}
			}
		},
	}
}

// about is the token of the lock that a step shows to be held, "" for none.
func (s step) about() string {
	switch {
	case s.Kind == history.Look:
		return s.Seen
	case (s.Kind == history.Release || s.Kind == history.Extend) && s.Outcome == history.Done:
		return s.Token
	}
	return ""
}

// A span of time in which a lock may come back.
type comeback struct{ from, to time.Duration }

// comebacks are the locks whose release failed, by their tokens: each may come back until
// its ttl is over, or until another release was carried out.
func comebacks(ops []history.Op, grace time.Duration) map[string]comeback {
	all := map[string]comeback{}
	for _, o := range ops {
		if o.Kind == history.Release && o.Outcome != history.Done && o.Outcome != history.Refused {
			c, ok := all[o.Token]
			if !ok || o.Call < c.from {
				c.from = o.Call
			}
			all[o.Token] = c
		}
	}
	for token, c := range all {
		released := time.Duration(math.MaxInt64)
		for _, o := range ops {
			switch {
			case o.Token != token:
			case o.Kind == history.Release && o.Outcome == history.Done:
				released = min(released, o.Return)
			case o.Kind != history.Release:
				c.to = max(c.to, o.Return+o.TTL+grace)
			}
		}
		c.to = min(c.to, released)
		all[token] = c
	}
	return all
}

// lockOps are the operations that say something of a lock's state, and how many of
// them have an open end. An attempt that its client was not told to have won counts if
// somebody has seen it won: it may have been at any time since, and it may have been
// taken back at any time. A release or an extension that failed may have been done.
func lockOps(ops []history.Op, grace time.Duration) (all []porcupine.Operation, open int) {
	seen := map[string]bool{}
	back := comebacks(ops, grace)
	end := time.Duration(0)
	for _, o := range ops {
		end = max(end, o.Return)
		switch {
		case o.Kind == history.Look && o.Outcome == history.Done:
			seen[o.Seen] = true
		case o.Outcome == history.Done:
			seen[o.Token] = true
		}
	}
	for _, o := range ops {
		s := step{Op: o, end: o.Return, givenBack: time.Hour}
		if c, ok := back[cmp.Or(o.Token, o.Seen)]; ok {
			s.givenBack, s.comesBack = c.from, c.to
		}
		switch o.Kind {
		case history.Acquire, history.Fenced:
			s.Kind = history.Acquire
			if !seen[o.Token] {
				continue
			}
			if o.Outcome != history.Done {
				s.end, s.givenBack = end, o.Call
				open++
			}
		case history.Look:
			if o.Outcome != history.Done {
				continue
			}
		default:
			if o.Outcome != history.Done && o.Outcome != history.Refused {
				continue
			}
		}
		all = append(all, porcupine.Operation{ClientId: o.Client, Input: s, Call: int64(o.Call), Return: int64(s.end)})
	}
	return all, open
}
