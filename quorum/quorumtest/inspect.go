package quorumtest

import (
	"time"

	"redlockproxy/quorum"
)

// Peek looks at a key, around the lane and in whatever mode: type and remaining
// time included. It tells whether the key exists.
func (f *Fake) Peek(key quorum.Key) (quorum.Held, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.readClock()
	h := f.store.held(key, true)
	return h, h.Kind != quorum.Nothing
}

// Snapshot is all that the fake holds, as Peek would show it.
func (f *Fake) Snapshot() map[quorum.Key]quorum.Held {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.readClock()
	return f.store.snapshot()
}

// Plant stores a string around the lane, with a time to live in whole
// milliseconds or, for 0, without.
func (f *Fake) Plant(key quorum.Key, stored quorum.Stored, ttl time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.readClock()
	f.store.put(key, stored, ttl)
}

// PlantOther stores something of another type, as TYPE names it, without expiry.
func (f *Fake) PlantOther(key quorum.Key, typeName string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.store.keys[key] = entry{typeName: typeName, expires: forever}
}

// Remove takes a key away around the lane.
func (f *Fake) Remove(key quorum.Key) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.store.keys, key)
}

// Counts says what was carried out so far.
func (f *Fake) Counts() Counts {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.counts
}

// Debts is the number of debts that were not carried out yet. One past its Until
// counts until it would be sent, or until the next one comes.
func (f *Fake) Debts() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.queued + len(f.owed)
}

// SetDelay changes Options.RequestDelay and Options.ReplyDelay for what is sent
// from now on.
func (f *Fake) SetDelay(request, reply time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.opts.RequestDelay, f.opts.ReplyDelay = request, reply
}

// SetJitter changes Options.Jitter for what is sent from now on.
func (f *Fake) SetJitter(most time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.opts.Jitter = most
}

// StepClock moves the server's clock, by which its keys expire, by d.
func (f *Fake) StepClock(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.clock.step(time.Now(), d)
}

// SetClockRate makes the server's clock show rate seconds per second from now
// on: 1.01 expires its keys 1 % too early. The rate must not be negative.
func (f *Fake) SetClockRate(rate float64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.clock.setRate(time.Now(), rate)
}

// readClock sets the store's time for what is done around the lane.
func (f *Fake) readClock() { f.store.now = f.clock.at(time.Now()).UnixMilli() }
