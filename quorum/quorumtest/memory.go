package quorumtest

import (
	"cmp"
	"hash/fnv"
	"maps"
	"slices"
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

// scanPage is how many keys Scan gives at once: few, so that much happens in between.
const scanPage = 2

// Scan gives some keys, and the cursor for more, 0 at the end. A key that is there all
// the time is met.
func (f *Fake) Scan(cursor uint64) (keys []quorum.Key, next uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	type place struct {
		key quorum.Key
		at  uint64
	}
	var all []place
	for k := range f.store.keys {
		h := fnv.New64a()
		_, _ = h.Write([]byte(k)) // never fails
		if at := h.Sum64() | 1; at >= cursor {
			all = append(all, place{k, at})
		}
	}
	slices.SortFunc(all, func(a, b place) int { return cmp.Compare(a.at, b.at) })
	for i, p := range all {
		if i >= scanPage && p.at != all[i-1].at {
			return keys, p.at
		}
		keys = append(keys, p.key)
	}
	return keys, 0
}
