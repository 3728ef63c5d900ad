package redistest

import (
	"sync/atomic"
	"testing"
	"time"
)

// Machine watches whether the machine itself stands still: where a processor is not to
// be had for long, nothing keeps its time limits.
type Machine struct {
	still atomic.Int64 // how often
	late  atomic.Int64 // nanoseconds
}

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
			late := time.Since(last) - tick
			if late > tick {
				m.late.Add(int64(late))
			}
			if late > tolerable {
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

// Late is how long, since the watch began, this process had to wait for a processor that
// it was due: what passes between two calls is not to be blamed on anybody else.
func (m *Machine) Late() time.Duration { return time.Duration(m.late.Load()) }
