package redistest

import (
	"sync/atomic"
	"testing"
	"time"
)

// Machine watches whether the machine itself stands still: where a processor is not to
// be had for long, nothing keeps its time limits.
type Machine struct{ still atomic.Int64 }

// WatchMachine watches until the test ends.
func WatchMachine(tb testing.TB) *Machine {
	tb.Helper()
	const tick, tolerable = 5 * time.Millisecond, 25 * time.Millisecond
	m := &Machine{}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for last := time.Now(); ; last = time.Now() {
			select {
			case <-stop:
				return
			case <-time.After(tick):
			}
			if late := time.Since(last) - tick; late > tolerable {
				m.still.Add(1)
			}
		}
	}()
	tb.Cleanup(func() {
		close(stop)
		<-stopped
	})
	return m
}

// StoodStill tells whether the machine stood still since the last call.
func (m *Machine) StoodStill() bool { return m.still.Swap(0) > 0 }
