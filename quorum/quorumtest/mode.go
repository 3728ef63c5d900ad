package quorumtest

import (
	"errors"
	"time"

	"redlockproxy/quorum"
)

// Mode is what a Fake does with the calls that it is given.
type Mode uint8

// The modes. What a call meets is decided when it arrives at the server, except
// for Down and Stalled, which are about the lane.
const (
	// Up serves.
	Up Mode = iota
	// Frozen is a paused server: what was sent waits, nothing is answered, and
	// all of it runs late, in order, when the mode ends.
	Frozen
	// Stalled is a lane that cannot write: calls wait unsent. When the mode ends,
	// those past their deadline are answered Failed and Unsent, the others sent.
	Stalled
	// Down has no connection: calls are answered Failed and Unsent at once,
	// debts are kept. What was on its way when it began is Failed, and never runs.
	Down
	// Silent swallows requests: they never run, and are answered, Failed, only
	// when the mode ends. Debts are kept.
	Silent
	// Mute swallows replies: requests run, and are answered, Failed, only when
	// the mode ends.
	Mute
	// LostReply runs requests and answers Failed: the connection broke between.
	LostReply
	// Broken answers Failed with an error and runs nothing. Debts are kept.
	Broken
)

// Why votes fail.
var (
	errDown     = errors.New("fake: no connection")
	errFull     = errors.New("fake: too many calls waiting")
	errDeadline = errors.New("fake: deadline passed before the call was sent")
	errLink     = errors.New("fake: connection lost")
	errBroken   = errors.New("fake: the server answered with an error")
	errClosed   = errors.New("fake: closed")
)

// SetMode begins a mode and ends the one before.
func (f *Fake) SetMode(mode Mode) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.setMode(mode, time.Now())
}

// Release ends whatever mode there is: the fake is Up again.
func (f *Fake) Release() { f.SetMode(Up) }

// Next makes the next n calls that arrive at the server meet the mode, which is
// Silent, Mute, LostReply or Broken, and then the fake's own mode again. What
// Silent and Mute keep back is answered at the next change of mode or Release.
func (f *Fake) Next(mode Mode, n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.nextMode, f.nextCalls = mode, n
}

// Restart ends the server and starts it again at once, with its keys: calls on
// their way are Failed, debts are delivered to the new server. A restart that
// loses the keys is Restart and Wipe.
func (f *Fake) Restart() {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	f.restarts++
	f.breakLink(now)
	f.setMode(Up, now)
}

// Wipe removes all keys at once, whatever the mode.
func (f *Fake) Wipe() {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.store.keys)
}

// setMode is SetMode at the time now.
func (f *Fake) setMode(mode Mode, now time.Time) {
	before := f.mode
	f.mode = mode
	if mode == Down {
		f.breakLink(now)
	}
	if mode == Up || mode != before {
		f.failSwallowed(now)
	}
	if mode != Down && mode != Stalled {
		f.sendWaiting(now)
	}
	if mode == Up || mode == Frozen || mode == Mute || mode == LostReply {
		f.sendOwed(now)
	}
	f.signal()
}

// breakLink loses the connection: nothing that is on its way gets through.
func (f *Fake) breakLink(now time.Time) {
	for i := range f.replies {
		f.replies[i].answer, f.replies[i].due = failed(errLink), now
	}
	f.failSwallowed(now)
	queue := f.queue
	f.queue, f.queued = nil, 0
	for _, r := range queue {
		if r.call == nil {
			f.owed = append(f.owed, r.debt)
			continue
		}
		answer := failed(errLink)
		answer.Unsent = !r.sent
		f.replies = append(f.replies, reply{r.call.Round, answer, now})
	}
}

// failSwallowed answers what Silent and Mute kept back.
func (f *Fake) failSwallowed(now time.Time) {
	for _, round := range f.swallowed {
		f.replies = append(f.replies, reply{round, failed(errLink), now})
	}
	f.swallowed = nil
}

// sendWaiting sends what a stalled lane kept, except what is too late by now.
func (f *Fake) sendWaiting(now time.Time) {
	kept := f.queue[:0]
	for _, r := range f.queue {
		switch {
		case r.sent:
		case r.call == nil && now.After(r.debt.Until):
			f.queued--
			continue
		case r.call != nil && now.After(r.call.Deadline):
			answer := failed(errDeadline)
			answer.Unsent = true
			f.replies = append(f.replies, reply{r.call.Round, answer, now})
			continue
		default:
			r.sent, r.due = true, now.Add(f.delay(f.opts.RequestDelay))
		}
		kept = append(kept, r)
	}
	f.queue = kept
}

// sendOwed sends the debts kept, before whatever waits: they are older.
func (f *Fake) sendOwed(now time.Time) {
	f.dropExpired(now)
	first := make([]request, 0, len(f.owed)+len(f.queue))
	for _, d := range f.owed {
		first = append(first, request{debt: d, due: now.Add(f.delay(f.opts.RequestDelay)), sent: true})
	}
	f.queued += len(f.owed)
	f.owed = nil
	f.queue = append(first, f.queue...)
}

// dropExpired forgets the debts kept that are not needed any more.
func (f *Fake) dropExpired(now time.Time) {
	kept := f.owed[:0]
	for _, d := range f.owed {
		if !now.After(d.Until) {
			kept = append(kept, d)
		}
	}
	f.owed = kept
}

// modeForNextCall is what the call that just arrived meets.
func (f *Fake) modeForNextCall() Mode {
	if f.nextCalls > 0 {
		f.nextCalls--
		return f.nextMode
	}
	return f.mode
}

var _ quorum.Backend = (*Fake)(nil)
