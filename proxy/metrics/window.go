package metrics

import (
	"sync"
	"sync/atomic"
	"time"
)

// The rolling window of acquisitions: five minutes, in steps short enough to draw.
const (
	SlotTime  = 5 * time.Second
	slotCount = 60
)

// A window keeps what came of the acquisitions of the last five minutes. It is written
// by every one of them: with atomic additions, and with a lock once in SlotTime.
type window struct {
	start time.Time
	mu    sync.Mutex // makes a slot ready for its next turn
	slots [slotCount + 1]slot
}

// A slot is SlotTime of the window. Its turn is the number of slots since the window's
// start, counted from 1, so that one that was never used is recognised.
type slot struct {
	turn     atomic.Int64
	outcomes [outcomes]atomic.Int64
	micros   atomic.Int64 // all acquisitions' time
	longest  atomic.Int64 // in microseconds
}

func newWindow() *window { return &window{start: time.Now()} }

func (w *window) turn(now time.Time) int64 { return int64(now.Sub(w.start)/SlotTime) + 1 }

// note counts an acquisition that ended now and took so long.
func (w *window) note(now time.Time, how Outcome, took time.Duration) {
	turn := w.turn(now)
	s := &w.slots[turn%int64(len(w.slots))]
	if s.turn.Load() != turn {
		w.begin(s, turn)
	}
	s.outcomes[how].Add(1)
	micros := took.Microseconds()
	s.micros.Add(micros)
	for {
		longest := s.longest.Load()
		if micros <= longest || s.longest.CompareAndSwap(longest, micros) {
			return
		}
	}
}

// begin empties a slot for its next turn. Whoever is late by the five minutes that lie
// between two turns of a slot is counted in the wrong one.
func (w *window) begin(s *slot, turn int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s.turn.Load() >= turn {
		return
	}
	for i := range s.outcomes {
		s.outcomes[i].Store(0)
	}
	s.micros.Store(0)
	s.longest.Store(0)
	s.turn.Store(turn)
}

// Slot is what came of the acquisitions of SlotTime.
type Slot struct {
	Won     int64         // acquired
	Refused int64         // held by somebody else, or given up by the client
	Failed  int64         // not decided by a quorum: split, unavailable, too late, an error
	Mean    time.Duration // from the command to its answer
	Longest time.Duration
}

// all is the window, oldest slot first; the last one has only begun.
func (w *window) all(now time.Time) []Slot {
	list := make([]Slot, slotCount)
	last := w.turn(now)
	for i := range list {
		turn := last - int64(slotCount-1-i)
		if turn < 1 {
			continue
		}
		s := &w.slots[turn%int64(len(w.slots))]
		if s.turn.Load() == turn {
			list[i] = s.sum()
		}
	}
	return list
}

func (s *slot) sum() Slot {
	var sum Slot
	for o := range outcomes {
		n := s.outcomes[o].Load()
		switch {
		case o == Done:
			sum.Won += n
		case o.decided():
			sum.Refused += n
		default:
			sum.Failed += n
		}
	}
	if n := sum.Won + sum.Refused + sum.Failed; n > 0 {
		sum.Mean = time.Duration(s.micros.Load()/n) * time.Microsecond
	}
	sum.Longest = time.Duration(s.longest.Load()) * time.Microsecond
	return sum
}

// successRate is the share of acquisitions that a quorum decided; 1 if there were none.
func (w *window) successRate(now time.Time) float64 {
	decided, all := int64(0), int64(0)
	for _, s := range w.all(now) {
		decided += s.Won + s.Refused
		all += s.Won + s.Refused + s.Failed
	}
	if all == 0 {
		return 1
	}
	return float64(decided) / float64(all)
}
