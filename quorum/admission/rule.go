package admission

import (
	"crypto/rand"
	"slices"
	"strconv"
	"time"

	"redlockproxy/quorum"
)

// action is what must happen to one key of a learner.
type action int

const (
	leave action = iota
	put          // it holds what the others may have been granted
	block        // nobody can have the key there
	raise        // its number is not below what the others know
)

// verdict is what the other backends say of one key of a learner.
type verdict struct {
	action action
	stored quorum.Stored // put: the value; raise: the number
	ttl    time.Duration // the longest that is left; NoTTL for ever
}

// newBlock makes a block; the system's source of randomness does not fail.
func newBlock() quorum.Stored {
	block, _ := quorum.NewBlock(rand.Reader)
	return block
}

// judge decides what a learner must hold under a key, from what other voters of a
// group of n hold there (A4). The lost vote may have been the one that made a majority
// of Q: then Q-1 of the other backends hold the value, and at least as many of those
// read as are left when all that were not read are among them.
func judge(reads []quorum.Held, n int) verdict {
	least := max(1, quorum.Majority(n)-1-(n-1-len(reads)))
	if number, ttl, ok := counter(reads, least); ok {
		return raising(number, ttl)
	}
	holders := make(map[quorum.Stored]int, len(reads))
	blocks := 0
	for _, h := range reads {
		switch {
		case h.Kind != quorum.String:
		case h.Stored.IsBlock():
			blocks++
		default:
			holders[h.Stored]++
		}
	}
	var candidate quorum.Stored
	candidates := 0
	for value, count := range holders {
		// A block stands for a value that is not known any more: perhaps for this one.
		if count+blocks >= least {
			candidate = value
			candidates++
		}
	}
	if blocks >= least {
		candidates += 2 // somebody's, and nobody can say whose
	}
	switch {
	case candidates == 0:
		return verdict{}
	case candidates == 1:
		return verdict{action: put, stored: candidate, ttl: longest(reads, candidate)}
	}
	return verdict{action: block, ttl: longest(reads, "")}
}

// raising is the verdict that a number must not be below another.
func raising(number int64, ttl time.Duration) verdict {
	return verdict{action: raise, stored: quorum.Stored(strconv.FormatInt(number, 10)), ttl: ttl}
}

// counter tells whether the key is a counter, and the number that the learner must have
// at least: all strings that were read are integers, and one at least is plain. Without
// an expiry that is the highest. With one, it may also be the lock of a client of
// another tool that uses a number for its token, which must not be spread: then it is
// the highest number that may have been given with the lost vote.
func counter(reads []quorum.Held, least int) (number int64, ttl time.Duration, ok bool) {
	var numbers []int64
	expires := false
	for _, h := range reads {
		if h.Kind != quorum.String {
			continue
		}
		n, isNumber := quorum.ParseNumber(h.Stored.Value())
		if !isNumber {
			return 0, 0, false
		}
		numbers = append(numbers, n)
		expires = expires || h.TTL != quorum.NoTTL
		ok = ok || !h.Stored.HasTag()
	}
	if !ok {
		return 0, 0, false
	}
	slices.Sort(numbers)
	if !expires {
		return numbers[len(numbers)-1], quorum.NoTTL, true
	}
	if len(numbers) < least {
		return 0, 0, false
	}
	return numbers[len(numbers)-least], longest(reads, ""), true
}

// longest is the longest time that is left of a value, and of blocks, which may stand
// for it; with "" of everything.
func longest(reads []quorum.Held, value quorum.Stored) (ttl time.Duration) {
	for _, h := range reads {
		if h.Kind == quorum.String && (value == "" || h.Stored == value || h.Stored.IsBlock()) {
			ttl = later(ttl, h.TTL)
		}
	}
	return ttl
}

// later is the longer of two remaining times, NoTTL being the longest.
func later(a, b time.Duration) time.Duration {
	if a == quorum.NoTTL || b == quorum.NoTTL {
		return quorum.NoTTL
	}
	return max(a, b)
}

// A sight is what a learner holds under a key by now.
type sight struct {
	held      quorum.Held
	noted     bool // it held the very same when its refill began
	elsewhere bool // another backend that was read holds the same
}

// leftover tells whether what is there is of the learner's former life and nobody
// else's: something that was released or expired elsewhere.
func (s sight) leftover() bool {
	return s.held.Kind == quorum.String && s.noted && !s.elsewhere
}

// change makes a verdict into what is to be done on the learner; ok is false if
// nothing is. Every change is guarded by what it was decided on.
func (v verdict) change(key quorum.Key, now sight) (c quorum.Commit, ok bool) {
	if now.held.Kind == quorum.Other {
		return c, false // never ours, and refuses whoever wants a lock there
	}
	free := now.held.Kind == quorum.Nothing || now.leftover()
	write := quorum.Write{Kind: quorum.Put, Key: key, Stored: v.stored, TTL: whole(v.ttl)}
	switch {
	case v.action == leave && !now.leftover():
		return c, false
	case v.action == leave:
		write = quorum.Write{Kind: quorum.Delete, Key: key}
	case v.action == raise:
		return v.raised(key, now)
	case v.action == block && free:
		write.Stored = newBlock()
	case v.action == put && free:
	case v.action == put && now.held.Stored == v.stored:
		if !v.needsTime(now) {
			return c, false
		}
	case now.held.Stored.IsBlock() && later(now.held.TTL, v.ttl) == now.held.TTL:
		return c, false
	default:
		// Something newer is there. Whoever the verdict is about must stay safe, and
		// whoever wrote this needs no vote of a learner.
		write.Stored, write.TTL = newBlock(), whole(later(now.held.TTL, v.ttl))
	}
	return quorum.Commit{Guards: []quorum.Guard{holds(key, now.held)}, Writes: []quorum.Write{write}}, true
}

// needsTime tells whether a value that is there already needs another expiry: a
// longer one, or, if it is from before, a much shorter one. A clock that was set back
// would otherwise keep it for as long.
func (v verdict) needsTime(now sight) bool {
	if later(now.held.TTL, v.ttl) != now.held.TTL {
		return true
	}
	return now.noted && v.ttl != quorum.NoTTL && later(now.held.TTL, v.ttl+quorum.Drift(v.ttl)+time.Second) == now.held.TTL
}

// raised is a change that makes a number at least as high as the verdict's.
func (v verdict) raised(key quorum.Key, now sight) (c quorum.Commit, ok bool) {
	has, isNumber := quorum.ParseNumber(now.held.Stored.Value())
	wants, _ := quorum.ParseNumber(string(v.stored))
	switch {
	case now.held.Kind == quorum.Nothing, !isNumber && now.leftover():
		write := quorum.Write{Kind: quorum.Put, Key: key, Stored: v.stored, TTL: whole(v.ttl)}
		return quorum.Commit{Guards: []quorum.Guard{holds(key, now.held)}, Writes: []quorum.Write{write}}, true
	case !isNumber, has >= wants:
		return c, false
	}
	return quorum.Commit{
		Guards: []quorum.Guard{{Kind: quorum.Lower, Key: key, Text: string(v.stored)}},
		Writes: []quorum.Write{{Kind: quorum.Raise, Key: key, Stored: v.stored}},
	}, true
}

// holds is the guard that a key holds what it was seen to hold.
func holds(key quorum.Key, h quorum.Held) quorum.Guard {
	if h.Kind == quorum.Nothing {
		return quorum.Guard{Kind: quorum.Absent, Key: key}
	}
	return quorum.Guard{Kind: quorum.StoredIs, Key: key, Text: string(h.Stored)}
}

// whole is a remaining time as a write takes it: whole milliseconds, at least one,
// and 0 for ever.
func whole(ttl time.Duration) time.Duration {
	if ttl == quorum.NoTTL {
		return 0
	}
	return max(time.Millisecond, (ttl + time.Millisecond - 1).Truncate(time.Millisecond))
}
