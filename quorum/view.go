package quorum

import (
	"errors"
	"slices"
	"time"
)

// ErrUnread says that a View does not know a key yet. The program that gets it
// should end; it is run again when the key has been read.
var ErrUnread = errors.New("the key has not been read yet")

// ErrChanged says that a key is not any more what the program was told to expect.
var ErrChanged = errors.New("a watched key has changed")

// Assumption is a guess at what a key holds, made before anything is read. A wrong
// one costs a round and nothing else: it becomes a guard, and guards are checked
// where the data is.
type Assumption struct {
	Kind  AssumptionKind
	Value string // for AssumeValue: the client value
}

// AssumptionKind is the sort of guess.
type AssumptionKind uint8

// The guesses. AssumeNothing means that keys are read first.
const (
	AssumeNothing AssumptionKind = iota
	AssumeAbsent
	AssumePresent // with an unknown value
	AssumeValue
)

// A View is what a program sees of the keys: what a majority holds, or is assumed
// to hold, and over it what the program itself has written. Reads leave guards
// behind, writes a list; nothing reaches a backend before the program has ended.
// A View belongs to one goroutine.
type View struct {
	known  map[Key]Holding
	assume Assumption

	overlay map[Key]*draft
	guards  []Guard
	writes  []draftWrite
	touched []Key // all keys met, in order
	unread  bool
	named   []Key // that the program may come to

	// Where things stand, by key, once there are many of them: few are found sooner by
	// looking through all.
	met     map[Key]bool
	guarded map[Key][]int // in guards
}

// many is from how many keys or guards on they are looked up instead of looked through.
const many = 16

// A draft is the state of a key that the program has changed.
type draft struct {
	held       Holding
	keepsOther bool // the value is that of the backends, only its expiry changed

	// kept is the condition under which the expiry is the one that the backends had
	// before: it becomes a guard if the program looks at it.
	kept *Guard
}

// A draftWrite is a Write whose value has no tag yet.
type draftWrite struct {
	Write
	value   string
	created bool          // under the guard that the key was absent
	life    time.Duration // the client's ttl; 0 for none
}

// Known makes a view of what has been read, for programs that only read.
func Known(keys []Key, held []Holding) *View {
	known := make(map[Key]Holding, len(keys))
	for i, k := range keys {
		known[k] = held[i]
	}
	return newView(known, Assumption{})
}

func newView(known map[Key]Holding, assume Assumption) *View {
	return &View{known: known, assume: assume, overlay: map[Key]*draft{}}
}

// state is what the key holds for this program. assumed is set if only its
// existence is known, by assumption.
func (v *View) state(key Key, needsTTL bool) (h Holding, assumed bool, err error) {
	if d, ok := v.overlay[key]; ok && !d.keepsOther {
		return d.held, false, nil
	}
	v.touch(key)
	if h, ok := v.known[key]; ok {
		if d, ok := v.overlay[key]; ok {
			h.TTL = d.held.TTL
		}
		return h, false, nil
	}
	if v.assume.Kind == AssumeNothing || needsTTL {
		v.unread = true
		return Holding{}, false, ErrUnread
	}
	switch v.assume.Kind {
	case AssumeValue:
		return Holding{Kind: String, Stored: Stored(v.assume.Value)}, true, nil
	case AssumePresent:
		return Holding{Kind: String}, true, nil
	}
	return Holding{}, true, nil
}

// Announce names keys that the program may come to. They need not be read; but a program
// that meets one key after the other has all of these read at once, sooner or later.
// Called again, it forgets those of before.
func (v *View) Announce(keys ...Key) { v.named = keys }

func (v *View) touch(key Key) {
	if v.met[key] || v.met == nil && slices.Contains(v.touched, key) {
		return
	}
	v.touched = append(v.touched, key)
	switch {
	case v.met != nil:
		v.met[key] = true
	case len(v.touched) > many:
		v.met = make(map[Key]bool, 2*len(v.touched))
		for _, k := range v.touched {
			v.met[k] = true
		}
	}
}

// guard adds a condition that the backends will check, unless the program itself
// has made the key what it is.
func (v *View) guard(g Guard) {
	if d, ok := v.overlay[g.Key]; ok && !d.keepsOther {
		return
	}
	if !v.checks(g.Key, func(have Guard) bool { return have == g || have.implies(g) }) {
		v.addGuard(g)
	}
}

// checks tells whether there is such a guard on the key already.
func (v *View) checks(key Key, such func(Guard) bool) bool {
	if v.guarded == nil {
		return slices.ContainsFunc(v.guards, func(g Guard) bool { return g.Key == key && such(g) })
	}
	return slices.ContainsFunc(v.guarded[key], func(i int) bool { return such(v.guards[i]) })
}

func (v *View) addGuard(g Guard) {
	v.guards = append(v.guards, g)
	switch {
	case v.guarded != nil:
		v.guarded[g.Key] = append(v.guarded[g.Key], len(v.guards)-1)
	case len(v.guards) > many:
		v.guarded = make(map[Key][]int, 2*len(v.guards))
		for i, g := range v.guards {
			v.guarded[g.Key] = append(v.guarded[g.Key], i)
		}
	}
}

// implies tells whether other need not be checked where g is: what has a value or an
// expiry is there.
func (g Guard) implies(other Guard) bool {
	if other.Kind != Present || g.Key != other.Key {
		return false
	}
	switch g.Kind {
	case ValueIs, StoredIs, TypeIs, Volatile, Lasting:
		return true
	}
	return false
}

// Exists tells whether the key exists.
func (v *View) Exists(key Key) (bool, error) {
	h, _, err := v.state(key, false)
	if err != nil {
		return false, err
	}
	if h.Kind == Nothing {
		v.guard(Guard{Kind: Absent, Key: key})
		return false, nil
	}
	v.guard(Guard{Kind: Present, Key: key})
	return true, nil
}

// Get is what the key holds: its Kind and, for a String, its client value.
func (v *View) Get(key Key) (value string, kind HeldKind, err error) {
	h, assumed, err := v.state(key, false)
	if err != nil {
		return "", Nothing, err
	}
	if assumed && v.assume.Kind == AssumePresent {
		v.unread = true
		return "", Nothing, ErrUnread
	}
	switch h.Kind {
	case Nothing:
		v.guard(Guard{Kind: Absent, Key: key})
	case Other:
		v.guard(Guard{Kind: TypeIs, Key: key, Text: h.Type})
	case String:
		value = h.Value()
		if assumed {
			value = string(h.Stored) // the client's own word, whatever it ends in
		}
		v.guard(Guard{Kind: ValueIs, Key: key, Text: value})
	}
	return value, h.Kind, nil
}

// Type is the name of the type of what the key holds, as TYPE gives it.
func (v *View) Type(key Key) (string, error) {
	_, kind, err := v.Get(key)
	switch {
	case err != nil:
		return "", err
	case kind == Nothing:
		return "none", nil
	case kind == String:
		return "string", nil
	}
	return v.known[key].Type, nil
}

// TTL is the validity that the key has left, NoTTL if it never expires. It is
// never assumed.
func (v *View) TTL(key Key) (ttl time.Duration, exists bool, err error) {
	h, _, err := v.state(key, true)
	if err != nil {
		return 0, false, err
	}
	d, own := v.overlay[key]
	switch {
	case own && d.kept != nil:
		if !v.checks(key, func(have Guard) bool { return have == *d.kept }) {
			v.addGuard(*d.kept)
		}
	case own && h.Kind != Nothing: // the expiry is the program's own
	default:
		v.guard(expiryGuard(key, h))
	}
	return h.TTL, h.Kind != Nothing, nil
}

// expiryGuard is the condition under which a key expires or lasts as it was seen to.
func expiryGuard(key Key, h Holding) Guard {
	switch {
	case h.Kind == Nothing:
		return Guard{Kind: Absent, Key: key}
	case h.TTL == NoTTL:
		return Guard{Kind: Lasting, Key: key}
	}
	return Guard{Kind: Volatile, Key: key}
}

// keptFrom is the draft's kept for a write that leaves the expiry as it is.
func (v *View) keptFrom(key Key, h Holding) *Guard {
	if d, own := v.overlay[key]; own {
		return d.kept
	}
	g := expiryGuard(key, h)
	return &g
}

// Expect makes the whole program fail with ErrChanged if the key does not hold
// exactly what a former read of it said, tag included.
func (v *View) Expect(key Key, was Holding) error {
	h, _, err := v.state(key, true)
	switch {
	case err != nil:
		return err
	case h.Kind != was.Kind || h.Stored != was.Stored || h.Type != was.Type:
		return ErrChanged
	}
	switch h.Kind {
	case Nothing:
		v.guard(Guard{Kind: Absent, Key: key})
	case String:
		v.guard(Guard{Kind: StoredIs, Key: key, Text: string(h.Stored)})
	case Other:
		v.guard(Guard{Kind: TypeIs, Key: key, Text: h.Type})
	}
	return nil
}

// Unread tells whether the program asked for a key that is not known.
func (v *View) Unread() bool { return v.unread }

// undoable tells whether an attempt to write this, carried out on some backends, can
// be taken back: then it may be tried again. What becomes of a key that the program
// created goes with the key.
func (v *View) undoable() bool {
	created := map[Key]bool{}
	for _, w := range v.writes {
		switch {
		case w.created:
			created[w.Key] = true
		case w.Kind != Raise && !created[w.Key]:
			return false
		}
	}
	return true
}

// intent is what the program's writes amount to.
func (v *View) intent() Intent {
	var all Intent
	for _, w := range v.writes {
		switch {
		case w.created:
			all |= Creates
		case w.Kind == Delete:
			all |= Removes
		case w.Kind == Raise:
			all |= Counts
		case w.Kind == Expire, w.Kind == Refresh, w.Kind == Persist:
			all |= Prolongs
		}
	}
	return all
}

// seen is what the program found where it looked first, as a guess.
func (v *View) seen() Assumption {
	for _, g := range v.guards {
		switch g.Kind {
		case Absent:
			return Assumption{Kind: AssumeAbsent}
		case ValueIs:
			return Assumption{Kind: AssumeValue, Value: g.Text}
		}
	}
	return Assumption{}
}

// lastNumber is the last that the program raised a counter to.
func (v *View) lastNumber() int64 {
	n := int64(0)
	for _, w := range v.writes {
		if w.Kind == Raise {
			n, _ = ParseNumber(string(w.Stored))
		}
	}
	return n
}
