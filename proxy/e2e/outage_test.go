package e2e_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"redlockproxy/proxy/redistest"
)

// useLock goes through the life of a lock and takes two fencing numbers.
func useLock(w *world, key string) {
	w.t.Helper()
	w.lock(ok, key, "a", "30000")
	w.lock(nil, key, "b", "30000")
	w.want("a", "GET", key)
	if left, isInt := w.do("PTTL", key).(int64); !isInt || left < 20000 || left > 30000 {
		w.t.Errorf("PTTL: %d", left)
	}
	w.extend(int64(0), key, "b", "60000")
	w.extend(int64(1), key, "a", "60000")
	w.want(int64(1), "INCR", key+":fence")
	w.want(int64(2), "INCR", key+":fence")
	w.release(int64(0), key, "b")
	w.release(int64(1), key, "a")
	w.release(int64(0), key, "a")
	w.want(nil, "GET", key)
}

func TestTwoStoppedBackendsChangeNothing(t *testing.T) {
	w := newWorld(t, redistest.Patient(t)...)
	w.backends[0].Kill()
	w.backends[3].Kill()
	useLock(w, "lock:killed")
	w.gone(redistest.Group{w.backends[1], w.backends[2], w.backends[4]}, "lock:killed")
}

func TestTwoPausedBackendsChangeNothing(t *testing.T) {
	w := newWorld(t, redistest.Patient(t)...)
	w.backends[1].Pause()
	w.backends[2].Pause()
	useLock(w, "lock:paused")
	w.backends[1].Resume()
	w.backends[2].Resume()
	w.gone(w.backends, "lock:paused")
}

func TestOutageIsAnErrorAndNeverALock(t *testing.T) {
	w := newWorld(t, redistest.Patient(t)...)
	w.lock(ok, "lock:held", "a", "60000")
	for _, s := range w.backends[:3] {
		s.Kill()
	}
	for range 2 { // before and after the proxy has noticed
		w.wantUnavailable("SET", "lock:new", "a", "NX", "PX", "5000")
		w.wantUnavailable("SETNX", "lock:new", "a")
		w.wantUnavailable("EVAL", extendScript, "1", "lock:held", "a", "5000")
		w.wantUnavailable("EVAL", releaseScript, "1", "lock:held", "a")
		w.wantUnavailable("INCR", "fence")
		w.wantUnavailable("GET", "lock:new")
		w.wantUnavailable("PTTL", "lock:new")
		w.wantUnavailable("DEL", "lock:new")
		w.want(redistest.Status("PONG"), "PING")
		w.want("hello", "ECHO", "hello")
	}
	w.gone(w.backends[3:], "lock:new")
}

func TestPausedMajorityIsAnErrorAndItsLateWritesAreUndone(t *testing.T) {
	w := newWorld(t, redistest.Patient(t)...)
	for _, s := range w.backends[:3] {
		s.Pause()
	}
	w.wantUnavailable("SET", "lock:late", "a", "NX", "PX", "60000")
	w.wantUnavailable("SETNX", "lock:lasting", "a")
	for _, s := range w.backends[:3] {
		s.Resume()
	}
	w.gone(w.backends, "lock:late", "lock:lasting")
	w.awaitVotes(w.proxy, w.backends...)
	w.lock(ok, "lock:late", "b", "60000")
}

func TestTakenLockIsNilAndNoError(t *testing.T) {
	w := newWorld(t, redistest.Patient(t)...)
	for _, s := range w.backends[:3] {
		s.MustDo("SET", "lock:planted", "other", "PX", "60000")
	}
	w.lock(nil, "lock:planted", "a", "60000")
	w.want("other", "GET", "lock:planted")
	w.gone(w.backends[3:], "lock:planted")
}

func TestQuorumIsCountedOverAllConfiguredBackends(t *testing.T) {
	args := quickToStart(t)
	w := newRelayedWorld(t, args...)
	w.proxy.Stop()
	w.relays[3].Refuse()
	w.relays[4].Refuse()
	w.backends[2].Pause()
	w.proxy = redistest.StartProxy(t, w.addrs, args...)
	w.wantUnavailable("SET", "lock:two", "a", "NX", "PX", "5000")
	w.gone(w.backends[:2], "lock:two")

	w.backends[2].Resume()
	w.relays[3].Pass()
	w.relays[4].Pass()
	w.awaitVotes(w.proxy, w.backends...)
	for down := 1; down <= 3; down++ {
		w.backends[5-down].Kill()
		key := lockName(down)
		if down <= 2 {
			w.lock(ok, key, "a", "5000")
			continue
		}
		w.wantUnavailable("SET", key, "a", "NX", "PX", "5000")
		w.gone(w.backends[:2], key)
	}
}

func TestBelowQuorumNothingHangsOrSpins(t *testing.T) {
	w := newRelayedWorld(t, redistest.Patient(t)...)
	dead := w.relays[:3]
	for _, r := range dead {
		r.Reject()
	}
	w.wantUnavailable("SET", "lock:x", "a", "NX", "PX", "5000")
	before := attempts(dead)

	const clients, load = 100, 2 * time.Second
	var wg sync.WaitGroup
	end := time.Now().Add(load)
	failures := make(chan error, clients)
	for i := range clients {
		wg.Go(func() { failures <- hammer(w.proxy.Addr(), lockName(i), end) })
	}
	wg.Wait()
	close(failures)
	for err := range failures {
		if err != nil {
			t.Error(err)
		}
	}
	// A try every 100 ms would be 20 for each; a dial for each request, or one as
	// soon as the last has failed, thousands.
	if n := attempts(dead) - before; n > 3*50 {
		t.Errorf("%d dials to three dead backends in %s", n, load)
	}
	if used := cpuTime(t, w.proxy, time.Second); used > 300*time.Millisecond {
		t.Errorf("an idle proxy without quorum used %s of CPU time in a second", used)
	}
	w.relays[0].Pass()
	start := time.Now()
	redistest.Eventually(t, 2*time.Second, "a lock after the third backend is back", func() bool {
		reply, err := w.proxy.Do("SET", "lock:back", "a", "NX", "PX", "5000")
		return err == nil && reply == ok
	})
	if took := time.Since(start); took > time.Second {
		t.Errorf("first lock %s after the third backend came back", took)
	}
	w.gone(w.backends[3:], "lock:x", lockName(0), lockName(clients-1))
}

func attempts(relays []*redistest.Relay) int {
	n := 0
	for _, r := range relays {
		n += r.Accepted()
	}
	return n
}

// hammer asks for a lock without a pause until the end, and expects an error
// that says so, each time and soon.
func hammer(addr, key string, end time.Time) error {
	c, err := redistest.Dial(addr)
	if err != nil {
		return err
	}
	defer c.Close()
	for time.Now().Before(end) {
		start := time.Now()
		reply, err := c.Do("SET", key, "a", "NX", "PX", "5000")
		if err != nil {
			return err
		}
		if e, isError := reply.(redistest.Error); !isError || e.Code() != "UNAVAILABLE" {
			return fmt.Errorf("a lock without quorum: %v", reply)
		}
		// A hundred clients share the machine with the proxy.
		if took := time.Since(start); took > time.Second {
			return fmt.Errorf("an error took %s", took)
		}
	}
	return nil
}

// cpuTime is what the proxy uses of the processors while it is watched.
func cpuTime(t *testing.T, p *redistest.Proxy, watched time.Duration) time.Duration {
	t.Helper()
	used := func() time.Duration {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.PID()))
		if err != nil {
			t.Fatal(err)
		}
		// Behind the name in brackets, fields 12 and 13 are user and system time
		// in hundredths of a second.
		_, rest, _ := strings.Cut(string(stat), ") ")
		fields := strings.Fields(rest)
		user, _ := strconv.Atoi(fields[11])
		system, _ := strconv.Atoi(fields[12])
		return time.Duration(user+system) * 10 * time.Millisecond
	}
	before := used()
	time.Sleep(watched)
	return used() - before
}
