package status

import (
	"sync"
	"time"
)

// Health remembers the states of backends for some minutes, in slots of some seconds,
// and of each slot the worst. Its zero value remembers nothing; make it with NewHealth.
type Health struct {
	slot  time.Duration
	mu    sync.Mutex
	start time.Time
	slots []healthSlot // a ring
}

type healthSlot struct {
	turn   int64
	voters int
	states []int // indices into the words of Note's caller, by backend
}

// NewHealth makes one that remembers so many slots of so long.
func NewHealth(slots int, slot time.Duration) *Health {
	return &Health{slot: slot, start: time.Now(), slots: make([]healthSlot, slots)}
}

func (h *Health) turn(now time.Time) int64 { return int64(now.Sub(h.start)/h.slot) + 1 }

// Note takes in how the backends are: how many can vote, and the state of each as a
// number that is lower for a worse one.
func (h *Health) Note(now time.Time, voters int, states []int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	turn := h.turn(now)
	s := &h.slots[turn%int64(len(h.slots))]
	if s.turn != turn {
		*s = healthSlot{turn: turn, voters: voters, states: append(s.states[:0], states...)}
		return
	}
	s.voters = min(s.voters, voters)
	for i, state := range states {
		s.states[i] = min(s.states[i], state)
	}
}

// Fill puts what is remembered into slots, of which the last is the present one.
// names are the words for the states.
func (h *Health) Fill(now time.Time, slots []Slot, names []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	last := h.turn(now)
	for i := range slots {
		slots[i].Voters, slots[i].States = -1, []string{}
		turn := last - int64(len(slots)-1-i)
		if turn < 1 || i < len(slots)-len(h.slots) {
			continue
		}
		s := h.slots[turn%int64(len(h.slots))]
		if s.turn != turn {
			continue
		}
		slots[i].Voters = s.voters
		for _, state := range s.states {
			slots[i].States = append(slots[i].States, names[state])
		}
	}
}
