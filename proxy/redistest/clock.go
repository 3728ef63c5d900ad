package redistest

import (
	_ "embed"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"
)

//go:embed testdata/clock.c
var clockSource []byte

var (
	clockOnce   sync.Once
	clockObject string
	clockErr    error
)

// clockLibrary is the path of the object that gives a redis-server a clock of its
// own, compiled by the system's C compiler once per test process.
func clockLibrary() (string, error) {
	clockOnce.Do(func() { clockObject, clockErr = compileClock() })
	return clockObject, clockErr
}

func compileClock() (string, error) {
	dir, err := scratch()
	if err != nil {
		return "", err
	}
	source, object := filepath.Join(dir, "clock.c"), filepath.Join(dir, "clock.so")
	if err := os.WriteFile(source, clockSource, 0o600); err != nil {
		return "", err
	}
	cmd := exec.Command("gcc", "-O2", "-Wall", "-Werror", "-shared", "-fPIC", "-o", object, source)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("compiling the clock for redis-server (install gcc and libc6-dev): %w\n%s", err, out)
	}
	return object, nil
}

// Clock is the wall clock that a server started with OwnClock sees. Its monotonic
// clock, and the time limits that go by it, stay true. It keeps its setting over
// restarts of the server. Any goroutine may use it.
type Clock struct {
	path string

	mu    sync.Mutex
	index int64
	real  int64 // when it was last set, in nanoseconds since 1970
	shown int64 // what it showed then
	gain  int64 // nanoseconds gained in a second
}

// OwnClock gives the server a wall clock that can be set; see Server.Clock.
func OwnClock() Option {
	return func(c *config) { c.ownClock = true }
}

// newClock makes a clock that is right, in a file of its own.
func newClock(path string) (*Clock, error) {
	now := time.Now().UnixNano()
	c := &Clock{path: path, real: now, shown: now}
	return c, c.write()
}

// Step sets the clock forward by d, or back.
func (c *Clock) Step(d time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settle()
	c.shown += int64(d)
	return c.write()
}

// Rate lets the clock run that much as fast as time does, from now on: 1.1 gains a
// tenth of a second in each. It does not jump. Between 0.5 and 2.
func (c *Clock) Rate(rate float64) error {
	if rate < 0.5 || rate > 2 {
		return fmt.Errorf("clock rate %v out of range", rate)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settle()
	c.gain = int64((rate - 1) * 1e9)
	return c.write()
}

// Offset is how far the clock is ahead of the true time now.
func (c *Clock) Offset() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settle()
	return time.Duration(c.shown - c.real)
}

// settle moves the setting's base to now.
func (c *Clock) settle() {
	now := time.Now().UnixNano()
	passed := now - c.real
	c.real, c.shown = now, c.shown+passed+passed/1000*(c.gain/1000)/1000
}

// write puts the setting into the slot not in use, and then says that it is.
func (c *Clock) write() error {
	f, err := os.OpenFile(c.path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Truncate(64); err != nil { // no change but for a file that is new
		return err
	}
	next := 1 - c.index
	var setting []byte
	for _, n := range []int64{c.real, c.shown, c.gain} {
		setting = binary.NativeEndian.AppendUint64(setting, uint64(n))
	}
	if _, err := f.WriteAt(setting, 8+next*int64(len(setting))); err != nil {
		return err
	}
	if _, err := f.WriteAt(binary.NativeEndian.AppendUint64(nil, uint64(next)), 0); err != nil {
		return err
	}
	c.index = next
	return nil
}
