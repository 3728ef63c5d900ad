package quorumtest

import "time"

// clock is a server's idea of the time: right at first, then wrong by steps and
// by running fast or slow.
type clock struct {
	real  time.Time // when the clock was last set
	shown time.Time // what it showed then
	rate  float64   // seconds shown per second
}

// newClock is a clock that is right.
func newClock(now time.Time) clock { return clock{real: now, shown: now, rate: 1} }

// at is what the clock shows at the real time now.
func (c clock) at(now time.Time) time.Time {
	passed := now.Sub(c.real)
	if c.rate != 1 { // a float64 holds no more than 104 days of nanoseconds exactly
		passed = time.Duration(float64(passed) * c.rate)
	}
	return c.shown.Add(passed)
}

// step moves the clock by d, at the real time now.
func (c *clock) step(now time.Time, d time.Duration) {
	c.real, c.shown = now, c.at(now).Add(d)
}

// setRate makes the clock run at another rate from the real time now on.
func (c *clock) setRate(now time.Time, rate float64) {
	c.real, c.shown, c.rate = now, c.at(now), rate
}
