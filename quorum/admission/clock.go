package admission

import (
	"context"
	"slices"
	"time"
)

// Bounds of what a backend's clock may do.
const (
	// jump is how far a clock may be off what was expected, beyond what the time that
	// the question took leaves open. Locks of five seconds and more allow for as much.
	// With less, a time service that corrects several backends at once would cost their
	// votes more often than it would save a lock: that many votes are not soon replaced.
	jump = 50 * time.Millisecond

	// A clock's rate may be wrong by one per cent, as everywhere: 1/rate.
	rate = 100

	// steadyMax bounds how long a clock that has jumped must be right before its backend
	// is refilled: Config.Steady at first, and twice as long each time that it jumps
	// again within twice this time.
	steadyMax = 5 * time.Minute

	// agree is how long the other backends are given, at most, to tell whether it was
	// our own clock that jumped.
	agree = 300 * time.Millisecond

	// watched is how long a clock must have been watched to tell that it has not jumped:
	// the lanes look at it once a second.
	watched = 2 * time.Second

	// together is how far apart the signs of one jump of our own clock may be: all
	// backends are looked at as soon as there is the first. Jumps that are further apart
	// are several, of several clocks.
	together = 100 * time.Millisecond
)

// A Span is all that a length of time may be, from Low to High.
type Span struct{ Low, High time.Duration }

// anything is the span of what nothing is known of.
var anything = Span{-1 << 60, 1 << 60}

// and is what lies in both spans; Low is above High if nothing does.
func (s Span) and(o Span) Span { return Span{max(s.Low, o.Low), min(s.High, o.High)} }

func (s Span) empty() bool { return s.Low > s.High }

// wider is the span with that much more at both ends.
func (s Span) wider(by time.Duration) Span { return Span{s.Low - by, s.High + by} }

// A Clock watches how a backend's clock goes, by a clock of ours that does not stand
// still. The zero value is ready. It is for one goroutine at a time.
type Clock struct {
	known bool
	ahead Span          // how far the backend's clock can be ahead of ours,
	at    time.Duration // when ours shows this
	moved Span          // how far it was off that when it was looked at last
}

// Add takes an answer to TIME: what the backend's clock showed, and the readings of
// our own clock just before it was asked and just after it had answered. False means
// that the clock has jumped, or runs at a wrong rate.
//
// Each answer narrows down how far the clock is ahead, and each second widens that by
// what a rate may be wrong. So small jumps add up, and a wrong rate is one of them in
// the end. What has moved for certain narrows nothing down: it counts until a clock
// with a rate that is allowed could have got there.
func (c *Clock) Add(shown time.Time, from, to time.Duration) bool {
	now := max(to, c.at)
	slack := (now - from) / rate // it answered some time ago, perhaps
	at := time.Duration(shown.UnixNano())
	ahead := Span{at - to, at - from}.wider(slack)
	if !c.known {
		*c = Clock{known: true, ahead: ahead, at: now, moved: anything}
		return true
	}
	c.ahead = c.ahead.wider((now - c.at) / rate)
	c.at = now
	c.moved = Span{ahead.Low - c.ahead.High, ahead.High - c.ahead.Low}
	if both := c.ahead.and(ahead); !both.empty() {
		c.ahead = both
	}
	return c.moved.Low <= jump && c.moved.High >= -jump
}

// Moved is how far the clock was off what was expected of it when it was looked at last.
func (c *Clock) Moved() Span { return c.moved }

// clocks deals with clocks that have jumped. The caller holds mu.
func (k *Keeper) clocks(ctx context.Context, looks []Look) {
	ready := false
	now := time.Now()
	oldest := now // look at a clock that did not jump
	for _, look := range looks {
		if look.Connected && !look.Jumped && look.ClockSeen.Before(oldest) {
			oldest = look.ClockSeen
		}
	}
	for i, look := range looks {
		s := &k.states[i]
		switch {
		case !look.Connected || !look.Jumped:
			s.jumped = time.Time{}
			continue
		case look.Standing == Learning && now.Before(s.trial): // it goes on
			if !s.busy {
				s.notTill = time.Time{}
				k.try(ctx, i, s.steady)
			}
			continue
		case s.jumped.IsZero():
			s.jumped = now
			for _, m := range k.members {
				m.Probe()
			}
		}
		ready = ready || s.decided(now, oldest)
	}
	if !ready {
		return
	}
	if same := k.jumpedTogether(); len(same) > 1 && 2*len(same) > len(looks) {
		if by, ok := k.agreed(looks, same); ok {
			k.report(Event{Backend: -1, Kind: OwnClockJumped, Text: "the clocks of most backends jumped at the same time, and no other denies it: it was this machine's"})
			for i, look := range looks {
				if !look.lost() && (!look.Jumped || !by.and(look.Moved).empty()) {
					k.members[i].Reset() // what it has yet to show of this is no other jump
				}
			}
			return
		}
	}
	for i, look := range looks {
		if s := &k.states[i]; look.Jumped && s.decided(now, oldest) && s.free(now) {
			k.demote(ctx, i, s, now)
		}
	}
}

// decided tells whether it is known whose clock it was: all others have been looked at
// since, the one longest ago at oldest, or have had the time for it.
func (s *state) decided(now, oldest time.Time) bool {
	return !s.jumped.IsZero() && (oldest.After(s.jumped) && now.After(s.jumped) || now.Sub(s.jumped) >= agree)
}

// jumpedTogether are the backends of the largest number of jumps that were seen at the
// same time. The caller holds mu.
func (k *Keeper) jumpedTogether() (most []int) {
	for _, first := range k.states {
		if first.jumped.IsZero() {
			continue
		}
		var same []int
		for i, s := range k.states {
			if after := s.jumped.Sub(first.jumped); !s.jumped.IsZero() && after >= 0 && after <= together {
				same = append(same, i)
			}
		}
		if len(same) > len(most) {
			most = same
		}
	}
	return most
}

// agreed tells whether clocks that jumped together went as far as each other, by about as
// much as it returns, and no other denies it: one that has been watched for long enough,
// was looked at since, and can't have gone as far. A backend that does not answer says
// nothing. The caller holds mu.
func (k *Keeper) agreed(looks []Look, jumped []int) (by Span, ok bool) {
	first := k.states[jumped[0]].jumped
	by = anything
	for _, i := range jumped {
		if at := k.states[i].jumped; at.Before(first) {
			first = at
		}
		by = by.and(looks[i].Moved.wider(jump)) // each may have been off by that much before
	}
	denied := slices.ContainsFunc(looks, func(l Look) bool {
		return l.Connected && !l.Jumped && l.ClockSeen.After(first) && first.Sub(l.ClockSince) > watched && by.and(l.Moved).empty()
	})
	return by, !by.empty() && !denied
}

// demote takes the vote of a backend whose clock jumped, for every proxy: its locks
// ended too soon, or last too long. It is refilled like one that has forgotten, once
// its clock has been right for a while. The caller holds mu.
func (k *Keeper) demote(ctx context.Context, i int, s *state, now time.Time) {
	steady := k.cfg.Steady
	if now.Sub(s.lastJump) <= 2*steadyMax {
		steady = min(max(steady, 2*s.steady), steadyMax)
	}
	k.try(ctx, i, steady)
}

// try makes a backend a learner until its clock has been right for so long. Where it is
// one already, whoever refills it has to begin anew. The caller holds mu.
func (k *Keeper) try(ctx context.Context, i int, steady time.Duration) {
	s := &k.states[i]
	k.begin(ctx, i, func(ctx context.Context) (time.Duration, error) {
		if err := k.makeLearner(ctx, i); err != nil {
			return 0, err
		}
		k.mu.Lock()
		again := time.Now().Before(s.trial)
		s.steady, s.lastJump, s.trial = steady, time.Now(), time.Now().Add(steady)
		k.mu.Unlock()
		if !again {
			k.report(Event{Backend: i, Kind: ClockJumped, Text: "its clock jumped or runs at a wrong rate: no vote until it has been right for a while and is refilled"})
		}
		return steady, nil
	})
}
