package e2e_test

import (
	"testing"
	"time"

	"redlockproxy/proxy/redistest"
)

func TestReleaseCountsWhereTheLockStillIs(t *testing.T) {
	w := newWorld(t, redistest.Patient(t)...)
	for lost, wanted := range []int64{1, 1, 1, 0, 0} {
		key := lockName(lost)
		w.lock(ok, key, "a", "60000")
		redistest.Eventually(t, 5*time.Second, "all five hold the lock", func() bool { return w.backends.Holding(key) == 5 })
		for _, s := range w.backends[:lost] {
			s.MustDo("DEL", key)
		}
		w.release(wanted, key, "a")
		w.gone(w.backends, key) // also where a minority still had it
	}
}

func TestReleaseAfterExpiryIsZero(t *testing.T) {
	w := newWorld(t, redistest.Patient(t)...)
	w.lock(ok, "lock:short", "a", "1000")
	redistest.Eventually(t, 10*time.Second, "the lock expires", func() bool { return w.backends.Holding("lock:short") == 0 })
	for range 2 {
		w.release(int64(0), "lock:short", "a")
	}
	w.backends[4].Pause()
	w.release(int64(0), "lock:short", "a")
	w.extend(int64(0), "lock:short", "a", "5000")
	w.backends[4].Resume()
	w.gone(w.backends, "lock:short")
}

func TestLateReleaseLeavesTheNextHolderAlone(t *testing.T) {
	w := newWorld(t, redistest.Patient(t)...)
	w.lock(ok, "lock:late", "a", "1000")
	redistest.Eventually(t, 10*time.Second, "the lock is taken over", func() bool {
		return w.do("SET", "lock:late", "b", "NX", "PX", "60000") == ok
	})
	w.release(int64(0), "lock:late", "a")
	w.extend(int64(0), "lock:late", "a", "1")
	w.want("b", "GET", "lock:late")
	// Where the first lock had a moment to live yet, the second was refused: a
	// majority is all that is promised.
	if n := w.backends.Holding("lock:late"); n < 3 {
		t.Errorf("%d backends hold the second lock", n)
	}
}

func TestReleaseWithoutQuorumIsAnErrorAndIsMadeGood(t *testing.T) {
	t.Parallel() // it waits most of the time, and allows for much
	for name, cut := range map[string]func(*redistest.Relay){
		"requests arrive late":  func(r *redistest.Relay) { r.Hold() },
		"requests never arrive": func(r *redistest.Relay) { r.BlackHole() },
		"connections break":     (*redistest.Relay).Refuse,
	} {
		t.Run(name, func(t *testing.T) {
			w := newRelayedWorld(t, redistest.Patient(t)...)
			w.lock(ok, "lock:cut", "a", "60000")
			for _, r := range w.relays[:3] {
				cut(r)
			}
			w.wantUnavailable("EVAL", releaseScript, "1", "lock:cut", "a")
			w.gone(w.backends[3:], "lock:cut")
			for _, r := range w.relays[:3] {
				r.Pass()
			}
			redistest.Eventually(t, 5*time.Second, "the next client gets the lock", func() bool {
				return w.do("SET", "lock:cut", "b", "NX", "PX", "60000") == ok
			})
			redistest.Eventually(t, 5*time.Second, "no backend keeps the released lock", func() bool {
				for _, s := range w.backends {
					if holds(s, "lock:cut", "a") {
						return false
					}
				}
				return true
			})
		})
	}
}
