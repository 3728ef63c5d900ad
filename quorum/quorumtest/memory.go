package quorumtest

import (
	"maps"
	"strconv"
	"time"

	"redlockproxy/quorum"
)

// RunID names the server process, which Restart replaces by another.
func (f *Fake) RunID() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.runID()
}

func (f *Fake) runID() string {
	return "run-" + strconv.Itoa(f.restarts) + "-of-" + strconv.Itoa(f.index)
}

// Save remembers what the fake holds, as a dump file does.
func (f *Fake) Save() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.saved = maps.Clone(f.store.keys)
}

// Restore holds what was last saved again, and nothing else.
func (f *Fake) Restore() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.store.keys = make(map[quorum.Key]entry)
	maps.Copy(f.store.keys, f.saved)
}

// Shows is what the server's clock shows at the real time now.
func (f *Fake) Shows(now time.Time) time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.clock.at(now)
}

// reachable tells whether somebody could connect.
func (f *Fake) reachable() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.mode != Down && !f.closed
}
