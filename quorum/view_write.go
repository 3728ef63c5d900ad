package quorum

import (
	"math"
	"strconv"
	"time"
)

// Put stores a client value with a ttl, 0 for none. What was there before does not
// matter, unless the program has looked.
func (v *View) Put(key Key, value string, ttl time.Duration) {
	v.put(key, value, ttl)
}

// PutKeep stores a client value and keeps the expiry the key has. The time that is left
// of it is stored anew, so that all backends have the same afterwards: one that still
// held something older would otherwise go on with that one's expiry, and one that held
// nothing with none.
func (v *View) PutKeep(key Key, value string) error {
	left, exists, err := v.TTL(key)
	switch {
	case err != nil:
		return err
	case !exists || left == NoTTL:
		left = 0
	}
	v.put(key, value, left)
	return nil
}

func (v *View) put(key Key, value string, ttl time.Duration) {
	v.touch(key)
	w := draftWrite{Write: Write{Kind: Put, Key: key}, value: value, life: ttl}
	_, own := v.overlay[key]
	w.created = !own && v.checks(key, func(g Guard) bool { return g.Kind == Absent })
	if !own && v.checks(key, func(g Guard) bool { return g.Kind == ValueIs && g.Text == value }) {
		// The owner renews: the lock stays the one attempt it is, on every backend,
		// and a renewal that reaches only some does not split it in two.
		w.Kind = Refresh
	}
	v.writes = append(v.writes, w)
	left := ttl
	if ttl == 0 {
		left = NoTTL
	}
	v.overlay[key] = &draft{held: Holding{Kind: String, Stored: plain(value), TTL: left}}
}

// plain makes a stored value that Value gives back as it is, whatever it ends in.
func plain(value string) Stored {
	if s := Stored(value); !s.HasTag() {
		return s
	}
	return Stored(value + tagMark + "AAAAAAAAAAAAAAAA")
}

// Delete removes the key.
func (v *View) Delete(key Key) {
	v.touch(key)
	v.writes = append(v.writes, draftWrite{Write: Write{Kind: Delete, Key: key}})
	v.overlay[key] = &draft{}
}

// Expire gives a key that exists a new ttl > 0.
func (v *View) Expire(key Key, ttl time.Duration) {
	v.touch(key)
	v.writes = append(v.writes, draftWrite{Write: Write{Kind: Expire, Key: key}, life: ttl})
	v.setTTL(key, ttl)
}

// Persist takes the expiry away from a key that exists.
func (v *View) Persist(key Key) {
	v.touch(key)
	v.writes = append(v.writes, draftWrite{Write: Write{Kind: Persist, Key: key}})
	v.setTTL(key, NoTTL)
}

func (v *View) setTTL(key Key, ttl time.Duration) {
	d, ok := v.overlay[key]
	if !ok {
		d = &draft{keepsOther: true}
		v.overlay[key] = d
	}
	d.held.TTL = ttl
}

// Increment adds by > 0 to a counter. Inside a program this is "raise to", with
// the guard that a backend is lower: a majority accepts the number for this program
// alone (I10). Errors: ErrUnread, ErrNotInteger, ErrWrongType, ErrOverflow.
func (v *View) Increment(key Key, by int64) (int64, error) {
	h, _, err := v.state(key, true)
	if err != nil {
		return 0, err
	}
	n, ok := Held{Kind: h.Kind, Stored: h.Stored}.number()
	switch {
	case h.Kind == Other: // a program may catch the error and go on: it has seen the type
		v.guard(Guard{Kind: TypeIs, Key: key, Text: h.Type})
		return 0, ErrWrongType
	case !ok:
		v.guard(Guard{Kind: ValueIs, Key: key, Text: h.Value()})
		return 0, ErrNotInteger
	case n > math.MaxInt64-by:
		v.guard(Guard{Kind: ValueIs, Key: key, Text: h.Value()})
		return 0, ErrOverflow
	}
	text := strconv.FormatInt(n+by, 10)
	v.guard(Guard{Kind: Lower, Key: key, Text: text})
	v.writes = append(v.writes, draftWrite{Write: Write{Kind: Raise, Key: key, Stored: Stored(text)}})
	left := h.TTL
	if h.Kind == Nothing {
		left = NoTTL
	}
	kept := v.keptFrom(key, h)
	v.overlay[key] = &draft{held: Holding{Kind: String, Stored: Stored(text), TTL: left}, kept: kept}
	return n + by, nil
}
