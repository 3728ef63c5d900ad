package e2e_test

import (
	"context"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"redlockproxy/proxy/redistest"
)

func TestShutdownAnswersWhatWasStartedOrLeavesNothing(t *testing.T) {
	w := newRelayedWorld(t, redistest.Patient(t)...)
	const clients = 100
	seen := w.backends[0].Monitor()
	for _, r := range w.relays {
		r.Delay(40*time.Millisecond, redistest.Replies)
	}
	conns := make([]*redistest.Client, clients)
	for i := range conns {
		conns[i] = w.proxy.Client()
		if err := conns[i].Send("SET", lockName(i), "a", "NX", "PX", "60000"); err != nil {
			t.Fatal(err)
		}
	}
	redistest.Eventually(t, 5*time.Second, "all SETs are under way", func() bool {
		n := 0
		for _, s := range seen.Commands() {
			if s.Args[0] == "SET" && strings.HasPrefix(s.Args[1], "lock:") {
				n++
			}
		}
		return n == clients
	})
	w.proxy.Signal(syscall.SIGTERM)
	w.proxy.Signal(syscall.SIGTERM) // somebody is impatient
	if code := w.proxy.Wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	var unanswered []string
	for i, c := range conns {
		if reply, err := c.Receive(); err == nil && reply == ok {
			if n := w.backends.Holding(lockName(i)); n < 3 {
				t.Errorf("a lock that was granted is on %d backends", n)
			}
			continue
		}
		unanswered = append(unanswered, lockName(i))
	}
	t.Logf("%d of %d commands were not answered with OK", len(unanswered), clients)
	w.gone(w.backends, unanswered...)
}

func TestIdleProxyStopsAtOnce(t *testing.T) {
	w := newWorld(t)
	idle := w.proxy.Client()
	start := time.Now()
	if code := w.proxy.Stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if took := time.Since(start); took > 2*time.Second {
		t.Errorf("an idle proxy took %s to stop", took)
	}
	if reply, err := idle.Receive(); err == nil {
		t.Errorf("an idle client was told %v", reply)
	}
}

// A lock without a ttl that a killed proxy left on a minority stays there, and is nobody's.
func TestLeftoversWithoutATTLAreNobodysAndGoWithDEL(t *testing.T) {
	w := newRelayedWorld(t, redistest.Patient(t)...)
	for _, r := range w.relays[:3] {
		r.BlackHole()
	}
	if err := w.proxy.Client().Send("SETNX", "lock:lasting", "a"); err != nil {
		t.Fatal(err)
	}
	redistest.Eventually(t, 5*time.Second, "two backends have it", func() bool { return w.backends.Holding("lock:lasting") == 2 })
	w.proxy.Kill()
	for _, r := range w.relays {
		r.Pass()
	}
	w.start(redistest.Patient(t)...)
	w.want(nil, "GET", "lock:lasting")
	w.want(int64(1), "SETNX", "lock:lasting", "b")
	w.want("b", "GET", "lock:lasting")
	w.want(int64(1), "DEL", "lock:lasting")
	// A removal that has its answer does not wait for what the slower backends hold.
	redistest.Eventually(t, 10*time.Second, "DEL has removed all", func() bool {
		w.want(int64(0), "DEL", "lock:lasting")
		return w.backends.Holding("lock:lasting") == 0
	})
}

func TestKilledProxyIsReplacedWithoutAnyState(t *testing.T) {
	w := newWorld(t, redistest.Patient(t)...)
	w.lock(ok, "lock:held", "a", "60000")
	w.proxy.Kill()
	w.start(redistest.Patient(t)...)
	w.lock(nil, "lock:held", "b", "60000")
	w.want("a", "GET", "lock:held")
	w.release(int64(1), "lock:held", "a")
	w.gone(w.backends, "lock:held")
}

func TestWithoutBackendsItSaysThatItRunsOnEmbeddedOnes(t *testing.T) {
	p := redistest.StartProxy(t, nil)
	w := &world{t: t, proxy: p}
	useLock(w, "lock:embedded")
	for _, word := range []string{"embedded", "redis-cli"} {
		if !strings.Contains(strings.ToLower(p.Output()), word) {
			t.Errorf("the start-up text does not say %q:\n%s", word, p.Output())
		}
	}
	if code := p.Stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func TestListsThatCanHaveNoQuorumAreRefusedAtStart(t *testing.T) {
	binary := redistest.Binary(t)
	for name, backends := range map[string]string{
		"even":      "127.0.0.1:1,127.0.0.1:2",
		"duplicate": "127.0.0.1:1,127.0.0.1:2,127.0.0.1:1",
		"a gap":     "127.0.0.1:1,,127.0.0.1:3",
		"no port":   "127.0.0.1",
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			out, err := exec.CommandContext(ctx, binary, "serve", "-listen", "127.0.0.1:0", "-admin", "", "-backends", backends).CombinedOutput()
			if err == nil || ctx.Err() != nil {
				t.Errorf("started: %v, %v", err, ctx.Err())
			}
			if !strings.Contains(string(out), "backends") || strings.Contains(string(out), "goroutine ") {
				t.Errorf("no clear error:\n%s", out)
			}
		})
	}
}
