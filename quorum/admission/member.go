package admission

import (
	"context"
	"errors"
	"slices"
	"time"

	"redlockproxy/quorum"
)

// A Member is one backend as its admission needs it: it can be asked while it has no
// vote, on a way of its own that does not hold up the votes of the others. Its methods
// may be called from any goroutine.
type Member interface {
	// Look is what is known of the backend without asking it.
	Look() Look

	// Ask carries out operations in order and gives their answers in the same order.
	// An error means that none of the answers is to be trusted. Behind them it looks at
	// the backend's clock: Look tells by then if that has jumped.
	Ask(ctx context.Context, ops []quorum.Op) ([]quorum.Answer, error)

	// Probe makes the backend's lane look at the marker and the clock at once. It does
	// not wait.
	Probe()

	// Reset takes the backend's clock, and what it holds, as they are from now on.
	Reset()
}

// Look is what is known of a backend without asking it.
type Look struct {
	Connected bool   // and fit
	RunID     string // of the process that is connected
	Marker    Marker
	Standing  Standing
	Jumped    bool // its clock did, or ours, since Reset; its votes do not count
	Dropped   bool // it has evicted keys since Reset; its votes do not count
	Followed  bool // it was a replica since Reset, and may hold what another held; its votes do not count

	ClockSince time.Time // since when its clock has been watched
	ClockSeen  time.Time // when it was last asked for its time, and answered
	Moved      Span      // how far its clock was off in the last answer
}

// Votes tells whether the backend's votes count, at least about locks.
func (l Look) Votes() bool { return l.Counts() || l.sound() && l.Standing == Locking }

// Counts tells whether the backend's votes about numbers count, too.
func (l Look) Counts() bool { return l.sound() && l.Standing == Admitted }

// sound tells whether nothing is known against what the backend holds but what its
// marker says.
func (l Look) sound() bool { return l.Connected && !l.Jumped && !l.lost() }

// lost tells whether the backend may lack what its marker says that it has.
func (l Look) lost() bool { return l.Dropped || l.Followed }

// AboutNumbers tells whether an operation needs to know what a counter is at.
func AboutNumbers(op quorum.Op) bool {
	switch op := op.(type) {
	case quorum.Increment:
		return true
	case quorum.Commit:
		return slices.ContainsFunc(op.Guards, func(g quorum.Guard) bool { return g.Kind == quorum.Lower }) ||
			slices.ContainsFunc(op.Writes, func(w quorum.Write) bool { return w.Kind == quorum.Raise })
	}
	return false
}

// ShowsNumber tells whether an answer shows what may be the number of a counter. It may
// also be the lock of another tool whose tokens are numbers.
func ShowsNumber(op quorum.Op, a quorum.Answer) bool {
	if _, isRead := op.(quorum.Read); !isRead {
		return false
	}
	return slices.ContainsFunc(a.Held, func(h quorum.Held) bool {
		_, isNumber := quorum.ParseNumber(string(h.Stored))
		return h.Kind == quorum.String && isNumber
	})
}

// Errors of one try to admit a backend. They are for people.
var (
	errMoved   = errors.New("its marker was changed by somebody else")
	errUnsound = errors.New("its clock jumped, it evicted keys, or was a replica, while it was refilled")
	errFew     = errors.New("too few other backends can be read")
	errAnswer  = errors.New("an answer of an unexpected form")
)

// one asks for one operation.
func one(ctx context.Context, m Member, op quorum.Op) (quorum.Answer, error) {
	answers, err := m.Ask(ctx, []quorum.Op{op})
	if err != nil {
		return quorum.Answer{}, err
	}
	if len(answers) != 1 {
		return quorum.Answer{}, errAnswer
	}
	return answers[0], answers[0].Err
}

// swap replaces a marker's text, "" being none. False means that another is there.
func swap(ctx context.Context, m Member, from, to string) (bool, error) {
	op := quorum.Commit{Writes: []quorum.Write{{Kind: quorum.Put, Key: MarkerKey, Stored: quorum.Stored(to)}}}
	if from == "" {
		op.Guards = []quorum.Guard{{Kind: quorum.Absent, Key: MarkerKey}}
	} else {
		op.Guards = []quorum.Guard{marked(from)}
	}
	a, err := one(ctx, m, op)
	if err != nil {
		return false, err
	}
	return a.Vote == quorum.Granted, nil
}

// marked is the guard that a backend has just this marker.
func marked(text string) quorum.Guard {
	return quorum.Guard{Kind: quorum.StoredIs, Key: MarkerKey, Text: text}
}

// marker reads a marker's text.
func marker(ctx context.Context, m Member) (string, error) {
	a, err := one(ctx, m, quorum.Read{Keys: []quorum.Key{MarkerKey}})
	if err != nil {
		return "", err
	}
	return markerOf(a.Held)
}

// markerOf is the marker's text in the last place of what was read.
func markerOf(held []quorum.Held) (string, error) {
	if len(held) == 0 {
		return "", errAnswer
	}
	switch h := held[len(held)-1]; h.Kind {
	case quorum.Nothing:
		return "", nil
	case quorum.String:
		return string(h.Stored), nil
	}
	return "(of another type)", nil
}

// read looks at keys, and at the marker in the same step.
func read(ctx context.Context, m Member, keys []quorum.Key) (held []quorum.Held, text string, err error) {
	all := make([]quorum.Key, 0, len(keys)+1)
	a, err := one(ctx, m, quorum.Read{Keys: append(append(all, keys...), MarkerKey), Full: true})
	if err != nil {
		return nil, "", err
	}
	if len(a.Held) != len(keys)+1 {
		return nil, "", errAnswer
	}
	text, err = markerOf(a.Held)
	return a.Held[:len(keys)], text, err
}
