package quorumtest

import (
	"strconv"
	"time"

	"redlockproxy/quorum"
)

// entry is what a key holds.
type entry struct {
	typeName string // as TYPE names it
	stored   quorum.Stored
	expires  int64 // the last millisecond at which the key exists; never: forever
}

// forever is the expiry of a key that has none.
const forever = int64(-1)

// stringType is what TYPE calls a string.
const stringType = "string"

// store is the keys of one server, at one moment: now is set before each
// operation, because Redis too takes the time once per command.
type store struct {
	keys map[quorum.Key]entry
	now  int64 // the server's own time, Unix milliseconds
}

// get looks a key up and forgets it if it has expired. Redis takes a key for
// expired when the time is greater than its expiry, not when it is equal.
func (s *store) get(key quorum.Key) (entry, bool) {
	e, ok := s.keys[key]
	if ok && e.expires != forever && s.now > e.expires {
		delete(s.keys, key)
		return entry{}, false
	}
	return e, ok
}

// put stores a string; a ttl of 0 is none.
func (s *store) put(key quorum.Key, stored quorum.Stored, ttl time.Duration) {
	s.keys[key] = entry{stringType, stored, s.expiry(ttl)}
}

// putKeep stores a string and keeps the expiry there is, of whatever was there.
func (s *store) putKeep(key quorum.Key, stored quorum.Stored) {
	expires := forever
	if e, ok := s.get(key); ok {
		expires = e.expires
	}
	s.keys[key] = entry{stringType, stored, expires}
}

// expire sets the remaining time of a key that exists.
func (s *store) expire(key quorum.Key, ttl time.Duration) {
	e, ok := s.get(key)
	switch {
	case !ok:
	case ttl <= 0:
		delete(s.keys, key)
	default:
		e.expires = s.expiry(ttl)
		s.keys[key] = e
	}
}

// persist takes the expiry away from a key that exists.
func (s *store) persist(key quorum.Key) {
	if e, ok := s.get(key); ok {
		e.expires = forever
		s.keys[key] = e
	}
}

// expiry turns a remaining time into a moment.
func (s *store) expiry(ttl time.Duration) int64 {
	if ttl == 0 {
		return forever
	}
	return s.now + ttl.Milliseconds()
}

// held describes a key in an answer. Only a full description has the remaining
// time and the name of another type, so that nobody relies on them elsewhere.
func (s *store) held(key quorum.Key, full bool) quorum.Held {
	e, ok := s.get(key)
	if !ok {
		return quorum.Held{}
	}
	h := quorum.Held{Kind: quorum.Other}
	if e.typeName == stringType {
		h = quorum.Held{Kind: quorum.String, Stored: e.stored}
	}
	if !full {
		return h
	}
	if h.Kind == quorum.Other {
		h.Type = e.typeName
	}
	h.TTL = quorum.NoTTL
	if e.expires != forever {
		h.TTL = time.Duration(e.expires-s.now) * time.Millisecond
	}
	return h
}

// snapshot describes all keys that exist.
func (s *store) snapshot() map[quorum.Key]quorum.Held {
	all := make(map[quorum.Key]quorum.Held, len(s.keys))
	for key := range s.keys {
		if h := s.held(key, true); h.Kind != quorum.Nothing {
			all[key] = h
		}
	}
	return all
}

// integer reads a number the way Redis does: decimal digits, a minus sign at
// most before them, no leading zero, within 64 bits.
func integer(s string) (int64, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || strconv.FormatInt(n, 10) != s {
		return 0, false
	}
	return n, true
}
