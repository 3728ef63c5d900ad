package quorumtest

import (
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"redlockproxy/quorum"
)

// exec carries out one operation. What no group may ask for, such as a negative
// time to live in a Put, is answered Failed with the reason.
func (s *store) exec(op quorum.Op) quorum.Answer {
	switch op := op.(type) {
	case withMarker:
		answer := s.exec(op.Op)
		if answer.Vote != quorum.Failed {
			answer.Held = append(answer.Held, s.held(quorum.MarkerKey, false))
		}
		return answer
	case quorum.Acquire:
		return s.acquire(op)
	case quorum.Read:
		return s.read(op)
	case quorum.Increment:
		return s.increment(op)
	case quorum.Commit:
		return s.commit(op)
	case quorum.Walk:
		return s.walk(op)
	}
	return failed(fmt.Errorf("unknown operation %T", op))
}

// failed is a vote without an answer.
func failed(err error) quorum.Answer {
	return quorum.Answer{Vote: quorum.Failed, Err: err}
}

func (s *store) acquire(op quorum.Acquire) quorum.Answer {
	if err := checkTTL(op.TTL); err != nil {
		return failed(err)
	}
	if _, ok := s.get(op.Key); ok {
		return s.refuse(op.Key)
	}
	s.put(op.Key, op.Stored, op.TTL)
	return quorum.Answer{Vote: quorum.Granted}
}

func (s *store) read(op quorum.Read) quorum.Answer {
	held := make([]quorum.Held, len(op.Keys))
	for i, key := range op.Keys {
		held[i] = s.held(key, op.Full)
	}
	return quorum.Answer{Vote: quorum.Granted, Held: held}
}

func (s *store) increment(op quorum.Increment) quorum.Answer {
	if op.By <= 0 {
		return failed(fmt.Errorf("increment by %d", op.By))
	}
	var n int64
	if e, ok := s.get(op.Key); ok {
		if n, ok = integer(string(e.stored)); !ok || e.typeName != stringType {
			return s.refuse(op.Key)
		}
	}
	if n > math.MaxInt64-op.By {
		answer := s.refuse(op.Key)
		answer.Overflow = true
		return answer
	}
	n += op.By
	s.putKeep(op.Key, quorum.Stored(strconv.FormatInt(n, 10)))
	return quorum.Answer{Vote: quorum.Granted, Number: n}
}

func (s *store) commit(op quorum.Commit) quorum.Answer {
	if err := checkCommit(op); err != nil {
		return failed(err)
	}
	for i, g := range op.Guards {
		if !s.holds(g) {
			answer := s.refuse(g.Key)
			answer.FailedGuard = i
			return answer
		}
	}
	held := make([]quorum.Held, len(op.Writes))
	for i, w := range op.Writes {
		held[i] = s.held(w.Key, false)
		s.apply(w)
	}
	return quorum.Answer{Vote: quorum.Granted, Held: held}
}

// walk goes through the keys in the order of a hash, which others that come and go do
// not change; the cursor is the hash to go on from. Keys with the same hash come
// together.
func (s *store) walk(op quorum.Walk) quorum.Answer {
	answer := quorum.Answer{Vote: quorum.Granted}
	byHash := make(map[uint64][]quorum.Key)
	for k := range s.keys {
		if _, ok := s.get(k); ok {
			answer.Number++
			byHash[walkHash(k)] = append(byHash[walkHash(k)], k)
		}
	}
	if op.Count == 0 {
		return answer
	}
	answer.Number = 0
	for i, h := range slices.Sorted(maps.Keys(byHash)) {
		if h < op.Cursor {
			continue
		}
		if op.Count <= 0 && i > 0 {
			answer.Next = h
			break
		}
		for _, k := range byHash[h] {
			op.Count--
			answer.Keys = append(answer.Keys, k)
		}
	}
	return answer
}

// walkHash is above 0, which is no place to go on from, and small, as cursors are.
func walkHash(k quorum.Key) uint64 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(k)) // never fails
	return uint64(h.Sum32()) + 1
}

// refuse is a refusal that says what the key holds.
func (s *store) refuse(key quorum.Key) quorum.Answer {
	return quorum.Answer{Vote: quorum.Refused, Held: []quorum.Held{s.held(key, false)}}
}

// holds tells whether a guard's condition is true.
func (s *store) holds(g quorum.Guard) bool {
	e, exists := s.get(g.Key)
	isString := exists && e.typeName == stringType
	switch g.Kind {
	case quorum.Absent:
		return !exists
	case quorum.Present:
		return exists
	case quorum.ValueIs:
		return isString && e.stored.Value() == g.Text
	case quorum.StoredIs:
		return isString && string(e.stored) == g.Text
	case quorum.Lower:
		return !exists || isString && lower(e.stored.Value(), g.Text)
	case quorum.Volatile:
		return exists && e.expires != forever
	case quorum.Lasting:
		return exists && e.expires == forever
	case quorum.TypeIs:
		return exists && e.typeName == g.Text
	}
	return false
}

// lower tells whether both are integers and a is below b.
func lower(a, b string) bool {
	m, ok := integer(a)
	n, too := integer(b)
	return ok && too && m < n
}

// apply makes one change, which checkCommit has found possible.
func (s *store) apply(w quorum.Write) {
	switch w.Kind {
	case quorum.Put:
		s.put(w.Key, w.Stored, w.TTL)
	case quorum.Raise:
		s.putKeep(w.Key, w.Stored)
	case quorum.Refresh:
		stored := w.Stored
		if e, ok := s.get(w.Key); ok && e.typeName == stringType && e.stored.Value() == stored.Value() {
			stored = e.stored
		}
		s.put(w.Key, stored, w.TTL)
	case quorum.Delete:
		delete(s.keys, w.Key)
	case quorum.Expire:
		s.expire(w.Key, w.TTL)
	case quorum.Persist:
		s.persist(w.Key)
	}
}

// settle removes exactly what a debt is about.
func (s *store) settle(d quorum.Debt) {
	if e, ok := s.get(d.Key); ok && e.typeName == stringType && e.stored == d.Stored {
		delete(s.keys, d.Key)
	}
}

// checkCommit finds what no group may ask for, before anything is written.
func checkCommit(op quorum.Commit) error {
	for i, g := range op.Guards {
		if g.Kind < quorum.Absent || g.Kind > quorum.TypeIs {
			return fmt.Errorf("guard %d: unknown kind %d", i, g.Kind)
		}
		if _, ok := integer(g.Text); g.Kind == quorum.Lower && !ok {
			return fmt.Errorf("guard %d: Lower than no integer", i)
		}
	}
	for i, w := range op.Writes {
		if err := checkWrite(w); err != nil {
			return fmt.Errorf("write %d: %w", i, err)
		}
	}
	return nil
}

func checkWrite(w quorum.Write) error {
	switch w.Kind {
	case quorum.Put, quorum.Refresh:
		return checkTTL(w.TTL)
	case quorum.Expire:
		if w.TTL > 0 {
			return checkTTL(w.TTL)
		}
	case quorum.Raise:
		if _, ok := integer(string(w.Stored)); !ok {
			return errors.New("raise to no integer")
		}
	case quorum.Delete, quorum.Persist:
	default:
		return fmt.Errorf("unknown kind %d", w.Kind)
	}
	return nil
}

// checkTTL refuses times that Redis could not be told.
func checkTTL(ttl time.Duration) error {
	if ttl < 0 || ttl%time.Millisecond != 0 {
		return fmt.Errorf("time to live %v: want whole milliseconds, not below 0", ttl)
	}
	return nil
}
