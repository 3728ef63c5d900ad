package e2e_test

import (
	"bytes"
	"context"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"redlockproxy/proxy/redistest"
)

// onBoth runs what redis-cli is to do against one Redis, which shows that the
// expected output is Redis's, and against the proxy.
func onBoth(t *testing.T, scenario func(t *testing.T, addr string)) {
	t.Run("one Redis", func(t *testing.T) { scenario(t, redistest.Start(t).Addr()) })
	t.Run("proxy", func(t *testing.T) { scenario(t, newWorld(t, redistest.Patient(t)...).proxy.Addr()) })
}

// cli runs redis-cli with formatted output, and returns what it printed.
func cli(t *testing.T, addr, stdin string, args ...string) string {
	t.Helper()
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "redis-cli", append([]string{"-h", host, "-p", port, "--no-raw"}, args...)...)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("redis-cli %v: %v\n%s", args, err, out)
	}
	return strings.TrimSuffix(string(out), "\n")
}

func wantCLI(t *testing.T, addr, wanted string, args ...string) {
	t.Helper()
	if got := cli(t, addr, "", args...); got != wanted {
		t.Errorf("redis-cli %q: %q, wanted %q", args, got, wanted)
	}
}

func TestRedisCliLocksAsTheHowToPagesSay(t *testing.T) {
	onBoth(t, func(t *testing.T, addr string) {
		wantCLI(t, addr, "OK", "SET", "resource_name", "my_random_value", "NX", "PX", "30000")
		wantCLI(t, addr, "(nil)", "SET", "resource_name", "another", "NX", "PX", "30000")
		wantCLI(t, addr, `"my_random_value"`, "GET", "resource_name")
		left := cli(t, addr, "", "PTTL", "resource_name")
		if !strings.HasPrefix(left, "(integer) 2") || len(left) != len("(integer) 29999") {
			t.Errorf("PTTL: %q", left)
		}
		wantCLI(t, addr, "(integer) 1", "INCR", "resource_name:fence")
		wantCLI(t, addr, "(integer) 2", "INCR", "resource_name:fence")
		wantCLI(t, addr, "(integer) 0", "EVAL", releaseScript, "1", "resource_name", "another")
		wantCLI(t, addr, "(integer) 1", "EVAL", releaseScript, "1", "resource_name", "my_random_value")
		wantCLI(t, addr, "(integer) 0", "EVAL", releaseScript, "1", "resource_name", "my_random_value")
		wantCLI(t, addr, "(nil)", "GET", "resource_name")
		wantCLI(t, addr, "(integer) -2", "PTTL", "resource_name")
	})
}

func TestRedisCliReadsCommandsFromStdin(t *testing.T) {
	onBoth(t, func(t *testing.T, addr string) {
		got := cli(t, addr, "SET l \"a token\" NX PX 30000\nGET l\nINCR f\nSET l other NX PX 30000\nDEL l\n")
		wanted := "OK\n\"a token\"\n(integer) 1\n(nil)\n(integer) 1"
		if got != wanted {
			t.Errorf("got %q, wanted %q", got, wanted)
		}
	})
}

func TestRedisCliPipesAThousandCommands(t *testing.T) {
	onBoth(t, func(t *testing.T, addr string) {
		var commands bytes.Buffer
		for i := range 500 {
			commands.Write(redistest.Encode("SET", lockName(i), "a", "NX", "PX", "30000"))
			commands.Write(redistest.Encode("INCR", "f"))
		}
		got := cli(t, addr, commands.String(), "--pipe")
		if !strings.HasSuffix(got, "errors: 0, replies: 1000") {
			t.Errorf("redis-cli --pipe: %q", got)
		}
		wantCLI(t, addr, `"500"`, "GET", "f")
		wantCLI(t, addr, `"a"`, "GET", lockName(499))
	})
}

func TestRedisCliSpeaksRESP3(t *testing.T) {
	onBoth(t, func(t *testing.T, addr string) {
		wantCLI(t, addr, "OK", "-3", "SET", "l", "a", "NX", "PX", "30000")
		wantCLI(t, addr, "(nil)", "-3", "SET", "l", "b", "NX", "PX", "30000")
		wantCLI(t, addr, "(integer) 1", "-3", "EVAL", releaseScript, "1", "l", "a")
		if hello := cli(t, addr, "", "-3", "HELLO"); !strings.Contains(hello, `"proto" => (integer) 3`) {
			t.Errorf("HELLO: %q", hello)
		}
	})
}

// cliLife is the life of a lock by redis-cli alone, and how one is lost.
func cliLife(t *testing.T, addr string) {
	t.Helper()
	const key = "lock:life"
	extend := []string{"EVAL", extendScript, "1", key}
	release := []string{"EVAL", releaseScript, "1", key}
	left := func(least, most int) {
		t.Helper()
		text := cli(t, addr, "", "PTTL", key)
		if n, err := strconv.Atoi(strings.TrimPrefix(text, "(integer) ")); err != nil || n <= least || n > most {
			t.Errorf("PTTL: %q, wanted more than %d, at most %d", text, least, most)
		}
	}

	wantCLI(t, addr, "OK", "SET", key, "a", "NX", "PX", "20000")
	wantCLI(t, addr, "(nil)", "SET", key, "b", "NX", "PX", "20000")
	wantCLI(t, addr, "(integer) 0", append(extend, "b", "60000")...)
	wantCLI(t, addr, "(integer) 0", append(release, "b")...)
	left(0, 20_000)
	wantCLI(t, addr, "(integer) 1", append(extend, "a", "40000")...)
	left(20_000, 40_000)
	wantCLI(t, addr, "(integer) 1", "PEXPIRE", key, "60000")
	left(40_000, 60_000)
	wantCLI(t, addr, "OK", "SET", key, "a", "XX", "PX", "80000")
	left(60_000, 80_000)
	wantCLI(t, addr, "(integer) 1", append(release, "a")...)
	wantCLI(t, addr, "(integer) 0", append(release, "a")...)
	wantCLI(t, addr, "(nil)", "SET", key, "a", "XX", "PX", "80000")

	wantCLI(t, addr, "OK", "SET", key, "a", "NX", "PX", "200")
	redistest.Eventually(t, 10*time.Second, "a lock that has ended is taken", func() bool {
		return cli(t, addr, "", "SET", key, "b", "NX", "PX", "20000") == "OK"
	})
	wantCLI(t, addr, "(integer) 0", append(extend, "a", "60000")...)
	wantCLI(t, addr, "(integer) 0", append(release, "a")...)
	wantCLI(t, addr, `"b"`, "GET", key)
	left(0, 20_000)
	wantCLI(t, addr, "(integer) 1", append(release, "b")...)
}

func TestRedisCliLocksThroughOutagesAndIsToldWhyIfItCanNot(t *testing.T) {
	t.Run("one Redis", func(t *testing.T) { cliLife(t, redistest.Start(t).Addr()) })
	args := append(redistest.Patient(t), "-listen", redistest.FreeAddr(t))
	w := newWorld(t, args...)
	addr, running := w.proxy.Addr(), w.backends[2:]
	t.Run("five backends", func(t *testing.T) { cliLife(t, addr) })
	for _, s := range w.backends[:2] {
		s.Kill()
	}
	t.Run("two of five stopped", func(t *testing.T) { cliLife(t, addr) })
	wantCLI(t, addr, "OK", "SET", "lock:kept", "a", "NX", "PX", "300000")

	w.proxy.Stop()
	w.proxy = redistest.StartProxy(t, w.addrs, args...)
	w.awaitVotes(w.proxy, running...)
	t.Run("the proxy restarted", func(t *testing.T) {
		wantCLI(t, addr, "(nil)", "SET", "lock:kept", "b", "NX", "PX", "300000")
		wantCLI(t, addr, "(integer) 1", "EVAL", extendScript, "1", "lock:kept", "a", "300000")
		cliLife(t, addr)
	})

	running[0].Kill()
	for _, args := range [][]string{
		{"SET", "lock:down", "t", "NX", "PX", "60000"},
		{"-3", "SET", "lock:down", "t", "NX", "PX", "60000"},
		{"GET", "lock:down"},
		{"INCR", "fence"},
		{"EVAL", extendScript, "1", "lock:kept", "a", "60000"},
		{"PEXPIRE", "lock:kept", "60000"},
		{"SET", "lock:kept", "a", "XX", "PX", "60000"},
		{"EVAL", releaseScript, "1", "lock:kept", "a"},
	} {
		text, code := output(t, addr, "", "redis-cli", append([]string{"-e"}, args...)...)
		if !strings.HasPrefix(text, "UNAVAILABLE ") || !strings.HasSuffix(strings.TrimSpace(text), " of 5 backends; 3 needed") || code != 1 {
			t.Errorf("redis-cli %q: %q, exit code %d", args, text, code)
		}
	}
	wantOutput(t, addr, "PONG\n", "", "PING")
	w.gone(running[1:], "lock:down")
}
