package e2e_test

import (
	"fmt"
	"testing"
	"time"

	"redlockproxy/proxy/redistest"
)

func TestOneBadBackendCostsNoLatency(t *testing.T) {
	w := newRelayedWorld(t)
	machine := redistest.WatchMachine(t)
	bad, relay := w.backends[4], w.relays[4]
	for i, trouble := range []struct {
		name         string
		begin, cease func()
	}{
		{"paused", bad.Pause, bad.Resume},
		{"cut off", func() { relay.Hold() }, relay.Pass},
		{"silent", func() { relay.BlackHole() }, relay.Pass},
		{"refusing", relay.Refuse, relay.Pass},
		{"a little faster than the limit", func() { relay.Delay(95*time.Millisecond, redistest.Replies) }, relay.Pass},
		{"a little slower than the limit", func() { relay.Delay(105*time.Millisecond, redistest.Replies) }, relay.Pass},
	} {
		t.Run(trouble.name, func(t *testing.T) {
			trouble.begin()
			defer trouble.cease()
			machine.StoodStill()
			wrong := w.fiftyLocks(fmt.Sprint(i))
			// What a machine that stood still has spoilt says nothing of the proxy.
			for try := 1; try < 8 && len(wrong) > 0 && machine.StoodStill(); try++ {
				wrong = w.fiftyLocks(fmt.Sprint(i, "-", try))
			}
			for _, what := range wrong {
				t.Error(what)
			}
		})
	}
	w.awaitVotes(w.proxy, w.backends...)
}

// fiftyLocks takes locks one after the other, and says what was wrong with that.
func (w *world) fiftyLocks(name string) (wrong []string) {
	middle, worst := median(timed(50, func(n int) {
		if reply, err := w.proxy.Do("SET", fmt.Sprintf("lock:%s:%d", name, n), "a", "NX", "PX", "5000"); err != nil || reply != ok {
			wrong = append(wrong, fmt.Sprintf("SET: %v, %v", reply, err))
		}
	}))
	if middle > 50*time.Millisecond || worst > answerTime {
		wrong = append(wrong, fmt.Sprintf("SET took %s, at worst %s", middle, worst))
	}
	return wrong
}

func TestReplyComesAtTheThirdVote(t *testing.T) {
	w := newRelayedWorld(t, redistest.Patient(t)...) // a vote may wait for the one before it
	const slow = 90 * time.Millisecond
	w.relays[3].Delay(slow, redistest.Replies)
	w.relays[4].Delay(slow, redistest.Replies)
	const n = 20
	for name, command := range map[string]func(i int){
		"SET, extend, release": func(i int) {
			w.lock(ok, lockName(i), "a", "5000")
			w.extend(int64(1), lockName(i), "a", "9000")
			w.release(int64(1), lockName(i), "a")
		},
		"INCR": func(i int) { w.want(int64(i+1), "INCR", "fence") },
		"GET":  func(int) { w.want(nil, "GET", "nothing") },
	} {
		if middle, worst := median(timed(n, command)); middle > slow/2 {
			t.Errorf("%s: %s, at worst %s, with two of five backends slower than %s", name, middle, worst, slow)
		}
	}
	// The votes that nobody waited for must still be cast.
	w.lock(ok, "lock:all", "a", "60000")
	redistest.Eventually(t, time.Second, "all five hold the lock", func() bool { return w.backends.Holding("lock:all") == 5 })
	keys := make([]string, n)
	for i := range keys {
		keys[i] = lockName(i)
	}
	w.gone(w.backends, keys...)

	w.relays[2].Delay(slow, redistest.Replies)
	times := timed(3, func(i int) { w.lock(ok, lockName(n+i), "a", "5000") })
	if middle, _ := median(times); middle < slow {
		t.Errorf("SET answered after %s, before the third vote", middle)
	}
}

func TestDeadMinorityAtStartIsNoObstacle(t *testing.T) {
	w := newRelayedWorld(t, redistest.Patient(t)...)
	w.proxy.Stop()
	w.relays[3].Refuse()
	unknown := append([]string(nil), w.addrs...)
	unknown[4] = "no-such-host.invalid:6379"
	w.proxy = redistest.StartProxy(t, unknown, redistest.Patient(t)...)
	w.awaitVotes(w.proxy, w.backends[:3]...)
	useLock(w, "lock:start")
	w.gone(w.backends, "lock:start")

	w.relays[3].Pass()
	w.awaitVotes(w.proxy, w.backends[:4]...)
}

func TestSilentMinorityAtStartDelaysItLittle(t *testing.T) {
	args := quickToStart(t)
	w := newRelayedWorld(t, args...)
	w.proxy.Stop()
	w.relays[3].BlackHole()
	w.relays[4].BlackHole()
	start := time.Now()
	w.proxy = redistest.StartProxy(t, w.addrs, args...)
	// It waits for a first answer of each, but no longer than connecting may take:
	// half a second. What a connection in use is granted to be silent is longer.
	if took := time.Since(start); took > 2500*time.Millisecond {
		t.Errorf("started after %s", took)
	}
	useLock(w, "lock:start")
	w.relays[3].Pass()
	w.relays[4].Pass()
	w.awaitVotes(w.proxy, w.backends...)
}

func TestHeldLockSurvivesTheLossOfABackend(t *testing.T) {
	w := newWorld(t, redistest.Patient(t)...)
	w.lock(ok, "lock:held", "a", "5000")
	w.backends[0].Kill()
	w.want("a", "GET", "lock:held")
	if left, isInt := w.do("PTTL", "lock:held").(int64); !isInt || left <= 0 || left > 5000 {
		t.Errorf("PTTL: %d", left)
	}
	w.extend(int64(1), "lock:held", "a", "20000")
	w.lock(nil, "lock:held", "b", "5000")
	w.release(int64(1), "lock:held", "a")
	w.gone(w.backends[1:], "lock:held")
}

func TestRestartsUnderLoadCostNoOperation(t *testing.T) {
	w := newWorld(t, redistest.Patient(t)...)
	stop := make(chan struct{})
	const clients = 8
	done := make(chan error, clients)
	for i := range clients {
		go func() { done <- lockAndRelease(w.proxy.Addr(), lockName(i), stop) }()
	}
	for range 3 {
		w.backends[2].Kill()
		time.Sleep(200 * time.Millisecond) // some of the load finds it dead
		w.backends[2].Restart()
		w.awaitVotes(w.proxy, w.backends...)
	}
	close(stop)
	keys := make([]string, clients)
	for i := range clients {
		keys[i] = lockName(i)
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	// A copy of a lock that was released meanwhile stays until no release of it can be on
	// its way, for a little more than answer_within.
	w.goneWithin(15*time.Second, w.backends, keys...)
}

// lockAndRelease takes and releases a lock again and again until told to stop.
func lockAndRelease(addr, key string, stop <-chan struct{}) error {
	c, err := redistest.Dial(addr)
	if err != nil {
		return err
	}
	defer c.Close()
	for n := 0; ; n++ {
		select {
		case <-stop:
			return nil
		default:
		}
		token := fmt.Sprint(n)
		if reply, err := c.Do("SET", key, token, "NX", "PX", "30000"); err != nil || reply != ok {
			return fmt.Errorf("SET %s for the time %d: %v, %v", key, n, reply, err)
		}
		if reply, err := c.Do("EVAL", releaseScript, "1", key, token); err != nil || reply != int64(1) {
			return fmt.Errorf("release of %s for the time %d: %v, %v", key, n, reply, err)
		}
	}
}
