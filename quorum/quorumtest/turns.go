package quorumtest

import "time"

// turns are the times at which a thing may act. Two that act at the very same time do so
// in an order that nobody controls, and a history that is played again takes another
// way. So each can have a nanosecond of its own in every sixteen microseconds, and does
// one thing at a time. The zero value may act at any time.
type turns struct {
	own    bool
	number int64
	last   time.Time // when it acted
}

// Turn is the first time from t on at which nothing acts but the thing with that number.
func Turn(number int, t time.Time) time.Time {
	own := turns{own: true, number: int64(number)}
	return own.next(t, t)
}

// Players is how many things can have turns of their own: their numbers are below it.
const Players = 1 << 14

// next is the first time from now on at which what is due may be done.
func (t *turns) next(due, now time.Time) time.Time {
	if due.Before(now) {
		due = now
	}
	if !t.own {
		return due
	}
	if !due.After(t.last) {
		due = t.last.Add(1)
	}
	wait := (t.number - due.UnixNano()) % Players
	if wait < 0 {
		wait += Players
	}
	return due.Add(time.Duration(wait))
}

// TakeTurns lets the fake act only at times of its own, when nothing with another number
// does. What happens is then the seed's alone. To be called before anything is sent.
func (f *Fake) TakeTurns(number int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.turns = turns{own: true, number: int64(number)}
}

// TakeTurns does for the link what Fake's does for a fake.
func (l *Link) TakeTurns(number int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.turns = turns{own: true, number: int64(number)}
}
