package quorum

import (
	"context"
	"sync"
	"time"
)

// limited is a context that is over at a date and has no timer for it: whatever
// waits in this package has a timer of its own, and looks at the date when it sets
// that. So Done is the parent's, and tells nothing of the date.
type limited struct {
	context.Context
	end   time.Time
	watch stopwatch     // started with the operation
	limit time.Duration // what it may show before votes stop counting
}

// within limits an operation, all its rounds together, to d from now.
func within(ctx context.Context, d time.Duration) limited {
	if l, ok := ctx.(limited); ok {
		return l // a part of an operation that has its limit
	}
	watch := startStopwatch()
	l := limited{Context: ctx, end: watch.start.Add(d), watch: watch, limit: d}
	if earlier, ok := ctx.Deadline(); ok && earlier.Before(l.end) {
		l.end, l.limit = earlier, earlier.Sub(watch.start)
	}
	return l
}

// stale tells whether by now the operation has taken longer than its votes may count
// (I13), by either clock: a process that was stopped in the middle of a round finds the
// answers waiting for it, and its timers have not gone off yet.
func (l limited) stale(now time.Time) bool { return l.watch.until(now) > l.limit }

// Deadline implements context.Context.
func (l limited) Deadline() (time.Time, bool) { return l.end, true }

// Err implements context.Context.
func (l limited) Err() error {
	if err := l.Context.Err(); err != nil || time.Now().Before(l.end) {
		return err
	}
	return context.DeadlineExceeded
}

// timers keeps stopped timers for the next round: every operation needs one, and
// hardly any goes off.
type timers struct{ pool sync.Pool }

// get is a timer that goes off after d.
func (t *timers) get(d time.Duration) *time.Timer {
	timer, ok := t.pool.Get().(*time.Timer)
	if !ok {
		return time.NewTimer(d)
	}
	timer.Reset(d)
	return timer
}

// put takes a timer back. Once it is stopped, nothing of its former time can be
// received any more.
func (t *timers) put(timer *time.Timer) {
	timer.Stop()
	t.pool.Put(timer)
}
