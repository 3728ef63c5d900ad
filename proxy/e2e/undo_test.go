package e2e_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"redlockproxy/proxy/redistest"
)

func TestTimedOutSetDoesNotOutliveItsUndo(t *testing.T) {
	w := newWorld(t)
	machine := redistest.WatchMachine(t)
	paused := w.backends[2]
	seen := paused.Monitor()
	const rounds = 100
	var keys []string
	for refused, i := 0, 0; refused < rounds; i++ {
		key := lockName(i)
		keys = append(keys, key)
		for _, n := range []int{0, 1, 3} {
			w.backends[n].MustDo("SET", key, "other", "PX", "60000")
		}
		machine.StoodStill()
		paused.Pause()
		reply, err := w.proxy.Do("SET", key, "a", "NX", "PX", "30000")
		// The longer it stays away the more of the undo is under way.
		time.Sleep(time.Duration(i%21) * 10 * time.Millisecond)
		paused.Resume()
		w.awaitVotes(w.proxy, w.backends...)
		switch {
		case err == nil && reply == nil:
			refused++
		case err != nil || reply == ok || !machine.StoodStill() || i >= 2*rounds:
			t.Fatalf("round %d: %v, %v", i, reply, err)
		}
	}
	w.gone(redistest.Group{paused, w.backends[4]}, keys...)
	sent := 0
	for _, key := range keys {
		n := seen.Count("SET", key)
		if n > 1 {
			t.Errorf("the paused backend was sent %d SETs of %s", n, key)
		}
		sent += n
	}
	// Where it was paused in the middle of a look at the idle connection, it is known not
	// to answer, and is sent nothing.
	if 10*sent < 9*len(keys) {
		t.Errorf("the paused backend was sent %d of %d SETs: the test shows nothing", sent, len(keys))
	}
}

func TestLostReplyIsNotResent(t *testing.T) {
	w := newRelayedWorld(t, redistest.Patient(t)...)
	seen := w.backends[1].Monitor()
	w.relays[1].ForwardThenClose("lost-reply")

	w.lock(ok, "lost-reply:lock", "a", "5000")
	w.awaitVotes(w.proxy, w.backends...) // connected again
	w.want(int64(1), "INCR", "lost-reply:fence")
	w.awaitVotes(w.proxy, w.backends...)

	if n := seen.Count("SET", "lost-reply:lock"); n != 1 {
		t.Errorf("%d SETs for one", n)
	}
	n := 0
	for _, name := range []string{"INCR", "INCRBY", "EVAL", "EVALSHA"} {
		n += seen.Count(name, "lost-reply:fence")
	}
	if n != 1 {
		t.Errorf("%d increments for one", n)
	}
	if got := w.backends[1].Get("lost-reply:fence"); got != "1" {
		t.Errorf("the counter on the backend with the lost reply: %q", got)
	}
}

// The client library below would send a whole pipeline again whose first reply is
// one of these, and wait in between.
func TestRefusedWriteIsNotResent(t *testing.T) {
	w := newWorld(t, redistest.Patient(t)...)
	shut := w.backends[1]
	seen := shut.Monitor() // which shows what is carried out, and no refusals
	shut.MustDo("CONFIG", "SET", "min-replicas-to-write", "1")
	rejected := func() string {
		_, rest, _ := strings.Cut(shut.Info("cmdstat_set"), "rejected_calls=")
		n, _, _ := strings.Cut(rest, ",")
		return n
	}
	w.lock(ok, "lock:refused", "a", "60000")
	redistest.Eventually(t, 2*time.Second, "the refusal", func() bool { return rejected() != "0" })
	shut.MustDo("CONFIG", "SET", "min-replicas-to-write", "0")
	w.awaitVotes(w.proxy, w.backends...)
	if n, done := rejected(), seen.Count("SET", "lock:refused"); n != "1" || done > 0 {
		t.Errorf("for one SET %s were refused and %d carried out", n, done)
	}
	w.release(int64(1), "lock:refused", "a")
	w.gone(w.backends, "lock:refused")
}

func TestLostReplyIsNoGrant(t *testing.T) {
	w := newRelayedWorld(t, redistest.Patient(t)...)
	for _, r := range w.relays[:3] {
		r.ForwardThenClose("lost-reply")
	}
	w.wantUnavailable("SET", "lost-reply:lock", "a", "NX", "PX", "60000")
	for _, r := range w.relays[:3] {
		r.Pass()
	}
	w.gone(w.backends, "lost-reply:lock")
}

func TestLockOfAVanishedClientIsGivenBack(t *testing.T) {
	for name, vanish := range map[string]func(*redistest.Client) error{
		"FIN": (*redistest.Client).Close,
		"RST": (*redistest.Client).Reset,
	} {
		t.Run(name, func(t *testing.T) {
			// The votes are held back until the client is gone.
			w := newRelayedWorld(t, redistest.Patient(t)...)
			var seen []*redistest.Monitor
			for _, s := range w.backends {
				seen = append(seen, s.Monitor())
			}
			for _, r := range w.relays {
				r.Hold(redistest.Replies)
			}
			c := w.proxy.Client()
			if err := c.Send("SET", "lock:gone", "a", "NX", "PX", "60000"); err != nil {
				t.Fatal(err)
			}
			// Some lanes may be busy with what went before; one backend says enough.
			redistest.Eventually(t, time.Second, "the SET is under way", func() bool {
				return slices.ContainsFunc(seen, func(m *redistest.Monitor) bool { return m.Count("SET", "lock:gone") == 1 })
			})
			if err := vanish(c); err != nil {
				t.Fatal(err)
			}
			for _, r := range w.relays {
				r.Pass()
			}
			redistest.Eventually(t, 2*time.Second, "the vanished client's votes are counted", func() bool {
				return strings.Contains(w.proxy.Output(), `"result":"client gone"`)
			})
			w.gone(w.backends, "lock:gone")
			w.awaitVotes(w.proxy, w.backends...) // nothing is on its way slowly any more
			w.lock(ok, "lock:gone", "b", "5000")
		})
	}
}

func TestForeignDataIsNotTouched(t *testing.T) {
	w := newWorld(t, redistest.Patient(t)...)
	for _, s := range w.backends[:3] {
		s.MustDo("LPUSH", "list", "x")
	}
	wantWrongType := func(args ...string) {
		t.Helper()
		reply := w.do(args...)
		if e, isError := reply.(redistest.Error); !isError || e.Code() != "WRONGTYPE" {
			t.Errorf("%v: %#v", args, reply)
		}
	}
	w.lock(nil, "list", "a", "5000")
	wantWrongType("EVAL", releaseScript, "1", "list", "a")
	wantWrongType("INCR", "list")
	wantWrongType("GET", "list")
	for i, s := range w.backends[:3] {
		if n := s.MustDo("LLEN", "list"); n != int64(1) {
			t.Errorf("the list on backend %d has %v items", i, n)
		}
	}
	// A counter that a minority raised may stay: gaps are allowed. A lock may not.
	w.lock(nil, "list", "b", "5000")
	redistest.Eventually(t, 2*time.Second, "no lock beside the lists", func() bool {
		return !holds(w.backends[3], "list", "b") && !holds(w.backends[4], "list", "b")
	})
}
