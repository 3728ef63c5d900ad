package lua

import (
	"context"
	"fmt"
	"time"

	"redlockproxy/proxy/turnstile"
)

// stride is how many instructions run between two looks at the clock. No single
// instruction takes more than about a millisecond (it would have to scan a table
// or compare strings of the greatest allowed size), so a run ends at most some 60
// milliseconds late even if it does nothing else.
const stride = 64

// A meter counts what a run uses and ends it when that is too much.
//
// It poses as the context of the virtual machine, which asks Done before every
// instruction: that is the only hook gopher-lua has. Once it has failed, it stays
// failed, and every instruction raises the error anew, so no pcall of the script
// can go on.
type meter struct {
	tick     int   // instructions until look
	every    int   // what tick starts at: stride, or 1 for watched code
	steps    int64 // left
	memory   int64 // left, in bytes
	source   int   // left for load and loadstring, in bytes
	limits   Limits
	ctx      context.Context
	read     time.Time // when the clock was read; zero at first: short runs never do
	computed time.Duration
	sinceNow int64 // steps since the clock was read
	failure  error // why the run is void; nil while it goes on

	turns  *turnstile.Turnstile // for heavy runs
	turn   bool                 // this one has its turn
	rested time.Time            // when it had a rest last
	until  time.Time            // when nobody waits for the run any more; zero for never

	// watch, if set, sees each instruction before it is carried out.
	watch func()
}

var _ context.Context = (*meter)(nil)

// reset prepares the meter for a run.
func (m *meter) reset(ctx context.Context, limits Limits, turns *turnstile.Turnstile) {
	*m = meter{
		turns: turns,
		tick:  stride, every: stride,
		steps: limits.MaxSteps, memory: limits.MaxMemory, source: limits.MaxSource,
		limits: limits, ctx: ctx,
	}
	m.until, _ = ctx.Deadline()
}

// watchWith makes f see every instruction from now on.
func (m *meter) watchWith(f func()) {
	m.watch, m.every, m.tick = f, 1, 1
}

// closed is what Done returns once the run is over.
var closed = func() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// Done is asked before every instruction. A nil channel lets it run.
func (m *meter) Done() <-chan struct{} {
	m.tick--
	if m.tick > 0 {
		return nil
	}
	return m.look()
}

func (m *meter) look() <-chan struct{} {
	m.tick = m.every
	if m.failure == nil {
		m.spend(int64(m.every), 0)
		if m.sinceNow >= stride {
			m.checkTime()
		}
		if m.watch != nil && m.failure == nil {
			m.watch()
		}
	}
	if m.failure != nil {
		m.tick = 0
		return closed
	}
	return nil
}

// spend counts work done beyond single instructions. It reports whether the run
// may go on; what it refuses has ended the run. It may wait for the run's turn.
func (m *meter) spend(steps, bytes int64) bool {
	m.steps -= steps
	m.sinceNow += steps
	m.memory -= bytes
	switch {
	case m.failure != nil:
	case m.steps < 0:
		m.fail(limitError("more than %d steps", m.limits.MaxSteps))
	case m.memory < 0:
		m.fail(limitError("more than %d bytes of memory", m.limits.MaxMemory))
	case !m.turn && m.heavy():
		m.await()
	}
	return m.failure == nil
}

// checkTime reads the clock, and whether the caller has given up. A heavy run lets
// others go first.
func (m *meter) checkTime() {
	m.sinceNow = 0
	m.clock()
	if m.turn && m.read.Sub(m.rested) >= restEvery {
		m.turns.Rest()
		m.read = time.Now() // a rest is not computing
		m.rested = m.read
	}
	if !m.until.IsZero() && m.read.After(m.until) {
		m.fail(context.DeadlineExceeded)
	}
	if m.computed > m.limits.MaxTime {
		m.fail(limitError("more than %v of computing", m.limits.MaxTime))
	}
	if err := m.ctx.Err(); err != nil {
		m.fail(err)
	}
}

// clock counts the time since it was last read, but never more than a quarter of
// what is allowed: a process that was stopped or starved for a while in the middle
// of a script must not void it.
func (m *meter) clock() {
	now := time.Now()
	if !m.read.IsZero() {
		m.computed += min(now.Sub(m.read), m.limits.MaxTime/4)
	}
	m.read = now
}

// fail ends the run; the first reason stays.
func (m *meter) fail(err error) {
	if m.failure == nil {
		m.failure = err
	}
	m.tick = 0
}

// A limit is the failure of a run that went over its bounds.
type limit string

func (l limit) Error() string { return string(l) }

func limitError(format string, args ...any) limit {
	return limit("ERR Script stopped: it needs " + fmt.Sprintf(format, args...))
}

// Err is the text raised inside the machine when the run is over.
func (m *meter) Err() error { return m.failure }

// Deadline and Value make a meter a context; nobody asks them.
func (m *meter) Deadline() (time.Time, bool) { return time.Time{}, false }

// Value returns nil.
func (m *meter) Value(any) any { return nil }
