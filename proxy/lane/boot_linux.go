package lane

import (
	"time"

	"golang.org/x/sys/unix"
)

// sinceBoot reads a clock that goes on while the machine is suspended, which Go's own
// monotonic clock does not: otherwise the clocks of all backends would seem to jump.
func sinceBoot() time.Duration {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &t) != nil {
		return time.Since(start)
	}
	return time.Duration(t.Nano())
}

var start = time.Now()
