package quorum

import "time"

// Naive is the deliberately naive decision, for tests from outside.
func Naive(n int, votes []Vote) Result { return naive(n, votes) }

// AfterSuspend is a lock as it is after the machine slept: for d, the wall clock
// went on and the monotonic clock stood still.
func AfterSuspend(l Lock, d time.Duration) Lock {
	l.since.wall = l.since.wall.Add(-d)
	return l
}

// StoppedLock is a lock of which the two clocks say that so much time has passed.
func StoppedLock(ttl, monotonic, wall time.Duration, padded bool) Lock {
	now := time.Now()
	since := stopwatch{start: now.Add(-monotonic), wall: now.Round(0).Add(-wall)}
	return Lock{Key: "k", Stored: "v", TTL: ttl, padded: padded, since: since}
}
