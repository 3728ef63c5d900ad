package lua

import (
	"context"
	"time"

	"redlockproxy/proxy/turnstile"
)

// A run is heavy from here on. Lock scripts take some hundred steps and a few
// kilobytes, so they never are. As steps and not as time, because any run takes long
// where others have the processors.
const (
	heavySteps  = 5_000     // about a quarter of a millisecond
	heavyMemory = 256 << 10 // bytes
)

// restEvery is how long a heavy run computes before it lets others go first.
const restEvery = 100 * time.Microsecond

// heavyRuns is how many heavy runs of the scripts of one cache go on at the same time.
// With many, clients whose scripts compute for as long as they may would leave the
// others a small part of each processor, too late for any vote; and each may fill
// Limits.MaxMemory. One keeps most of one processor busy at worst.
const heavyRuns = 1

// heavy tells whether the run has used more than a lock script would.
func (m *meter) heavy() bool {
	return m.limits.MaxSteps-m.steps > heavySteps || m.limits.MaxMemory-m.memory > heavyMemory
}

// await waits for the run's turn to be heavy. That time is not the script's.
func (m *meter) await() {
	m.clock()
	m.turn = enter(m.ctx, m.turns)
	m.read = time.Now()
	if !m.turn {
		m.fail(limitError("a turn to compute for long, and other scripts had it all the time"))
	}
}

// enter waits for a turn until ctx ends, which its Done may not tell: see Script.Run.
func enter(ctx context.Context, turns *turnstile.Turnstile) bool {
	if end, ends := ctx.Deadline(); ends {
		due, cancel := context.WithDeadline(ctx, end)
		defer cancel()
		ctx = due
	}
	return turns.Enter(ctx)
}

// yield gives the turn back at the end of a run.
func (m *meter) yield() {
	if m.turn {
		m.turns.Leave()
		m.turn = false
	}
}
