package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"redlockproxy/proxy/redistest"
)

func TestNoSecretIsPrinted(t *testing.T) {
	const backendSecret, wrongSecret, clientSecret, guess, token = "S3cret-backend", "S3cret-wrong", "S3cret-client", "S3cret-guess", "S3cret-token"
	group := redistest.StartGroup(t, 5, redistest.Password(backendSecret))
	w := &world{t: t, backends: group}
	for i, addr := range group.Addrs() {
		secret := backendSecret
		if i == 4 {
			secret = wrongSecret
		}
		w.addrs = append(w.addrs, "redis://:"+secret+"@"+addr)
	}
	file := filepath.Join(t.TempDir(), "proxy.toml")
	if err := os.WriteFile(file, []byte(fmt.Sprintf("[server]\npassword = %q\n", clientSecret)), 0o600); err != nil {
		t.Fatal(err)
	}
	right := make([]string, len(group))
	for i, addr := range group.Addrs() {
		right[i] = "redis://:" + backendSecret + "@" + addr
	}
	// A group is founded with all of its backends only.
	founder := redistest.StartProxy(t, right)
	redistest.Eventually(t, 5*time.Second, "the group is founded", func() bool { return founder.Voters() == len(group) })
	founder.Stop()
	w.proxy = redistest.StartProxy(t, w.addrs, "-config", file, "-log-level", "debug")
	c := w.proxy.Client()
	replies := ""
	do := func(args ...string) any {
		t.Helper()
		reply, err := c.Do(args...)
		if err != nil {
			t.Fatal(err)
		}
		if e, isError := reply.(redistest.Error); isError {
			replies += string(e) + "\n"
		}
		return reply
	}
	do("AUTH", guess)
	do("AUTH", "default", guess)
	do("HELLO", "2", "AUTH", "default", guess)
	do("SET", "lock:early", token, "NX", "PX", "30000")
	if got := do("AUTH", clientSecret); got != ok {
		t.Fatalf("AUTH: %v", got)
	}
	redistest.Eventually(t, 5*time.Second, "a lock", func() bool { return do("SET", "lock:held", token, "NX", "PX", "30000") == ok })
	do("SET", "lock:held", token, "NX", "PX", "30000")
	do("SET", "lock:held", token, "NX", "PX", "x")
	do("SETNX", "lock:lasting", token)
	do("EVAL", extendScript, "1", "lock:held", token, "x")
	do("EVAL", "error('no')", "1", "lock:held", token)
	do("EVAL", releaseScript, "1", "lock:held", token)
	group[0].Kill()
	group[1].Kill()
	do("SET", "lock:held", token, "NX", "PX", "30000")
	do("INFO", "everything")
	w.proxy.Stop()
	if printed := w.proxy.Output() + replies; strings.Contains(printed, "S3cret") {
		for line := range strings.Lines(printed) {
			if strings.Contains(line, "S3cret") {
				t.Errorf("a secret is shown: %s", line)
			}
		}
	}
	if len(w.proxy.Logs()) < 10 || !strings.Contains(replies, "WRONGPASS") || !strings.Contains(replies, "UNAVAILABLE") {
		t.Errorf("this shows nothing: %d lines, replies\n%s", len(w.proxy.Logs()), replies)
	}
}

func TestBackendsNeverSeeAClientsScript(t *testing.T) {
	w := newWorld(t, redistest.Patient(t)...)
	seen := make([]*redistest.Monitor, len(w.backends))
	for i, s := range w.backends {
		seen[i] = s.Monitor()
	}
	const mark = "-- in the client's own words"
	for _, script := range []string{
		releaseScript,
		`local t = redis.call('TIME') redis.call('SET', KEYS[1], t[1] .. t[2] .. math.random(1, 1000000), 'PX', 30000) return redis.call('GET', KEYS[1])`,
		`redis.call('SET', KEYS[1], 'a', 'PX', 30000) redis.call('SET', KEYS[1] .. ':second', 'b', 'PX', 30000) return 1`,
		`local function get(k) return redis.call('get', k) end return get(KEYS[1])`,
	} {
		if e, isError := w.do("EVAL", script+" "+mark, "1", "scripted", "token").(redistest.Error); isError {
			t.Errorf("%s: %s", script, e)
		}
	}
	redistest.Eventually(t, 2*time.Second, "all five hold the same", func() bool {
		for _, key := range []string{"scripted", "scripted:second"} {
			for _, s := range w.backends {
				if value := s.Get(key); value == "" || value != w.backends[0].Get(key) {
					return false
				}
			}
		}
		return true
	})
	for i, m := range seen {
		for _, command := range m.Commands() {
			for _, arg := range command.Args {
				if strings.Contains(arg, mark) {
					t.Errorf("backend %d was sent %q", i, command.Args)
				}
			}
		}
	}
}

func TestEndlessScriptEndsInTimeAndWritesNothing(t *testing.T) {
	w := newWorld(t, redistest.Patient(t)...)
	w.lock(ok, "lock:other", "a", "60000")
	for _, script := range []string{
		`redis.call('SET', KEYS[1], 'a', 'PX', 60000) while true do end`,
		`redis.call('SET', KEYS[1], 'a', 'PX', 60000) while true do pcall(error) end`,
	} {
		start := time.Now()
		if reply, isError := w.do("EVAL", script, "1", "lock:endless").(redistest.Error); !isError {
			t.Errorf("%s: %v", script, reply)
		}
		// Its own limit is 50 ms; that of answers is far longer here.
		if took := time.Since(start); took > time.Second {
			t.Errorf("%s: ended after %s", script, took)
		}
	}
	w.release(int64(1), "lock:other", "a")
	w.gone(w.backends, "lock:endless")
}
