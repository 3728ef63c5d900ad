package e2e_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"redlockproxy/proxy/redistest"
)

// What administrators and deploy scripts send, and must not reach the locks of
// everybody.
var dangerous = []string{
	"FLUSHALL", "FLUSHALL ASYNC", "FLUSHDB", "FLUSHDB ASYNC", "SWAPDB 0 1", "RENAME lock:held lock:moved", "RENAMENX lock:held lock:moved",
	"MOVE lock:held 1", "COPY lock:held lock:moved", "RESTORE lock:held 0 x REPLACE", "MIGRATE 127.0.0.1 1 lock:held 0 1",
	"CONFIG SET maxmemory 1", "CONFIG REWRITE", "CONFIG RESETSTAT", "SHUTDOWN NOSAVE", "DEBUG SEGFAULT", "DEBUG FLUSHALL", "REPLICAOF 127.0.0.1 1",
	"SLAVEOF 127.0.0.1 1", "FAILOVER", "BGREWRITEAOF", "SAVE", "ACL SETUSER default off", "MODULE LOAD /nothing.so", "FUNCTION FLUSH", "APPEND lock:held x",
	"SETRANGE lock:held 0 x", "SETBIT lock:held 0 1", "GETSET lock:held x", "DECR lock:held",
}

func TestDangerousCommandsLeaveTheLocksAlone(t *testing.T) {
	w := newWorld(t, redistest.Patient(t)...)
	w.lock(ok, "lock:held", "a", "60000")
	before := w.settled()
	c := w.proxy.Client()
	wantError := func(about, code string, args ...string) {
		t.Helper()
		reply, err := c.Do(args...)
		if e, isError := reply.(redistest.Error); err != nil || !isError || e.Code() != code {
			t.Errorf("%s: %v, %v; wanted an error that begins with %s", about, reply, err, code)
		}
	}
	for _, command := range dangerous {
		words := strings.Fields(command)
		wantError(command, "UNSUPPORTED", words...)
		// What a script wrote before it failed at such a command is not kept either.
		quoted := "'" + strings.Join(words, "','") + "'"
		wantError("a script with "+command, "UNSUPPORTED", "EVAL", "redis.call('SET', KEYS[1], 'x') return redis.call("+quoted+")", "1", "lock:held")
		if reply, err := c.Do("MULTI"); err != nil || reply != ok {
			t.Fatalf("MULTI: %v, %v", reply, err)
		}
		wantError(command+" in MULTI", "UNSUPPORTED", words...)
		if reply, err := c.Do("DEL", "lock:held"); err != nil || reply != queued {
			t.Fatalf("DEL in MULTI: %v, %v", reply, err)
		}
		wantError("EXEC after "+command, "EXECABORT", "EXEC")
	}
	time.Sleep(20 * time.Millisecond) // writes that must not be: there is nothing to wait for
	for i, s := range w.backends {
		if after := holding(t, s); !maps.Equal(before[i], after) {
			t.Errorf("backend %d holds %v, before %v", i, after, before[i])
		}
		if role := s.Info("role"); role != "master" {
			t.Errorf("backend %d is a %s", i, role)
		}
	}
	w.release(int64(1), "lock:held", "a")
}

func TestSetAgainAfterALostReplyIsTaken(t *testing.T) {
	for name, start := range map[string]func(t *testing.T) string{
		"one Redis": func(t *testing.T) string { return redistest.Start(t).Addr() },
		"proxy":     func(t *testing.T) string { return newWorld(t, redistest.Patient(t)...).proxy.Addr() },
	} {
		t.Run(name, func(t *testing.T) {
			relay := redistest.NewRelay(t, start(t))
			set := []string{"SET", "lock:again", "mine", "NX", "PX", "60000"}
			relay.ForwardThenClose("lock:again")
			c, err := redistest.Dial(relay.Addr())
			if err != nil {
				t.Fatal(err)
			}
			if reply, err := c.Do(set...); err == nil {
				t.Fatalf("a reply that was lost: %v", reply)
			}
			relay.Pass()
			if c, err = redistest.Dial(relay.Addr()); err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			// The lock may be its own: GET tells. A second success would be a second holder's.
			for _, step := range []struct {
				wanted any
				args   []string
			}{
				{nil, set},
				{"mine", []string{"GET", "lock:again"}},
				{int64(1), []string{"EVAL", releaseScript, "1", "lock:again", "mine"}},
				{ok, set},
			} {
				if reply, err := c.Do(step.args...); err != nil || reply != step.wanted {
					t.Errorf("%q: %v, %v; wanted %v", step.args, reply, err, step.wanted)
				}
			}
		})
	}
}

func TestDigestsOutliveBackendsAndNotTheProxy(t *testing.T) {
	const noScript = redistest.Error("NOSCRIPT No matching script. Please use EVAL.")
	w := newWorld(t, redistest.Patient(t)...)
	sum := digest(releaseScript)
	run := func(wanted any, sum string) {
		t.Helper()
		w.want(wanted, "EVALSHA", sum, "1", "lock:sha", "a")
	}
	lock := func() {
		t.Helper()
		w.want(ok, "SET", "lock:sha", "a", "PX", "60000")
	}
	run(noScript, sum)
	w.release(int64(0), "lock:sha", "a")
	lock()
	run(int64(1), sum)
	run(int64(0), strings.ToUpper(sum))

	// The backends keep scripts of the proxy's own, and forget them.
	for _, s := range w.backends[1:3] {
		s.Restart()
	}
	w.awaitVotes(w.proxy, w.backends...)
	lock()
	run(int64(1), sum)
	for _, s := range w.backends {
		s.MustDo("SCRIPT", "FLUSH")
	}
	lock()
	run(int64(1), sum)
	run(int64(0), sum)

	if code := w.proxy.Stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	w.start(redistest.Patient(t)...)
	run(noScript, sum)
	w.want(sum, "SCRIPT", "LOAD", releaseScript)
	run(int64(0), sum)
}

func TestScriptsAreKeptWithoutABackend(t *testing.T) {
	w := newWorld(t, redistest.Patient(t)...)
	for _, s := range w.backends {
		s.Kill()
	}
	sum, unknown := digest(releaseScript), strings.Repeat("0", 40)
	exist := func(wanted ...any) {
		t.Helper()
		if got, _ := w.do("SCRIPT", "EXISTS", sum, strings.ToUpper(sum), unknown).([]any); !slices.Equal(got, wanted) {
			t.Errorf("SCRIPT EXISTS: %v, wanted %v", got, wanted)
		}
	}
	exist(int64(0), int64(0), int64(0))
	w.want(sum, "SCRIPT", "LOAD", releaseScript)
	exist(int64(1), int64(1), int64(0))
	w.wantUnavailable("EVALSHA", sum, "1", "lock:k", "a")
	if e, isError := w.do("SCRIPT", "LOAD", "this is not lua").(redistest.Error); !isError || !strings.HasPrefix(string(e), "ERR Error compiling script") {
		t.Errorf("SCRIPT LOAD of no script: %v", e)
	}
	w.want(ok, "SCRIPT", "FLUSH")
	exist(int64(0), int64(0), int64(0))
}

// Load balancers look by lines of plain text, and Dapr for replicas that are none.
func TestHealthChecksOfLoadBalancersAreAnswered(t *testing.T) {
	w := newWorld(t)
	for _, s := range w.backends {
		s.Kill()
	}
	c := w.proxy.Client()
	if err := c.Write([]byte("PING\r\ninfo replication\r\nQUIT\r\n")); err != nil {
		t.Fatal(err)
	}
	for _, needs := range []any{pong, containing("role:master\r\n", "connected_slaves:0\r\n"), ok} {
		reply, err := c.Receive()
		if err != nil {
			t.Fatal(err)
		}
		if wrong := (ask{wants: needs}).wrong(reply); wrong != "" {
			t.Errorf("%v; %s", reply, wrong)
		}
	}
	if reply, err := c.Receive(); err == nil {
		t.Errorf("after QUIT: %v", reply)
	}
}
