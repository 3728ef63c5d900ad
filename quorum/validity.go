package quorum

import "time"

// Drift is the share of a ttl that clocks may disagree about while it runs: one
// per cent for their rates, and 2 ms for the whole milliseconds that Redis counts
// in. This is Redlock's own allowance.
func Drift(ttl time.Duration) time.Duration { return ttl/100 + 2*time.Millisecond }

// StoredTTL is the ttl that backends are given for the ttl of a client: longer by
// the drift if padded (I4), rounded up to whole milliseconds; 0 stays 0, which
// means no expiry.
func StoredTTL(ttl time.Duration, padded bool) time.Duration {
	if ttl > 0 && padded {
		ttl += Drift(ttl)
	}
	return (ttl + time.Millisecond - 1).Truncate(time.Millisecond)
}

// Validity is how long a lock may still be relied on: what the backends were
// given, less the time since just before they were asked, less the drift. Only a
// Validity > 0 is a lock (I3).
func Validity(ttl, elapsed time.Duration, padded bool) time.Duration {
	stored := ttl
	if padded {
		stored += Drift(ttl)
	}
	return stored - elapsed - Drift(ttl)
}

// Remaining is the validity that is left of a ttl which a backend still reports:
// the drift that is ahead is taken off, so that a padded ttl just stored comes out
// as the client gave it. Never below 0; NoTTL stays NoTTL.
func Remaining(reported time.Duration) time.Duration {
	if reported == NoTTL {
		return NoTTL
	}
	ms := float64(reported-2*time.Millisecond) / 1.01 / float64(time.Millisecond)
	// Backends round to whole milliseconds, up and down; half of one is nobody's.
	return max(0, time.Duration(ms+0.5)*time.Millisecond)
}

// stopwatch measures the time since it was started by both clocks of the machine.
type stopwatch struct {
	start time.Time // with a reading of the monotonic clock
	wall  time.Time // the same moment by the wall clock alone
}

func startStopwatch() stopwatch {
	now := time.Now()
	return stopwatch{start: now, wall: now.Round(0)}
}

// elapsed is the larger of monotonic and wall time (I3): the monotonic clock of
// Linux stands still while a machine is suspended, and a lock goes on expiring.
func (s stopwatch) elapsed() time.Duration { return s.until(time.Now()) }

// until is what elapsed was at a time that was read from the clocks.
func (s stopwatch) until(now time.Time) time.Duration {
	return max(now.Sub(s.start), now.Round(0).Sub(s.wall))
}
