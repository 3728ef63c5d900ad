package e2e_test

import (
	"testing"
	"time"

	"redlockproxy/proxy/redistest"
)

func TestWhatAMinorityHoldsIsNoLock(t *testing.T) {
	w := newWorld(t, redistest.Patient(t)...)
	w.backends[0].MustDo("SET", "left:one", "x", "PX", "60000")
	for i, value := range []string{"x", "x", "y", "y", "z"} {
		w.backends[i].MustDo("SET", "left:split", value, "PX", "60000")
	}
	for _, key := range []string{"left:one", "left:split"} {
		w.want(nil, "GET", key)
		w.want(int64(0), "EXISTS", key)
		w.want(int64(-2), "PTTL", key)
		w.want(int64(-2), "TTL", key)
		w.release(int64(0), key, "x")
		w.extend(int64(0), key, "x", "60000")
	}
}

func TestTimeLeftIsWhatAMajorityStillGives(t *testing.T) {
	w := newWorld(t, redistest.Patient(t)...)
	for i, millis := range []string{"90000", "50000", "20000"} {
		w.backends[i].MustDo("SET", "left:uneven", "a", "PX", millis)
	}
	w.want("a", "GET", "left:uneven")
	w.want(int64(1), "EXISTS", "left:uneven")
	if left, isNumber := w.do("PTTL", "left:uneven").(int64); !isNumber || left > 20_000*100/101 || left < 10_000 {
		t.Errorf("PTTL %d", left)
	}
	if left, isNumber := w.do("TTL", "left:uneven").(int64); !isNumber || left > 20 || left < 10 {
		t.Errorf("TTL %d", left)
	}
}

func TestExtensionOfUnknownOutcomeLeavesTheLock(t *testing.T) {
	w := newRelayedWorld(t, redistest.Patient(t)...)
	w.lock(ok, "lock:long", "a", "30000")
	redistest.Eventually(t, 2*time.Second, "all five hold the lock", func() bool { return w.backends.Holding("lock:long") == 5 })
	w.relays[1].Refuse()
	w.extend(int64(1), "lock:long", "a", "30000")
	w.relays[2].Refuse()
	w.relays[3].Refuse()
	w.wantUnavailable("EVAL", extendScript, "1", "lock:long", "a", "40000")
	for _, r := range w.relays {
		r.Pass()
	}
	w.awaitVotes(w.proxy, w.backends...)
	for i, s := range w.backends {
		if !holds(s, "lock:long", "a") {
			t.Errorf("backend %d has lost the lock", i)
		}
	}
	w.lock(nil, "lock:long", "b", "30000")
	w.extend(int64(1), "lock:long", "a", "60000")
	redistest.Eventually(t, time.Second, "all five have the new time", func() bool {
		for _, s := range w.backends {
			if left, _ := s.MustDo("PTTL", "lock:long").(int64); left < 50_000 {
				return false
			}
		}
		return true
	})
}
