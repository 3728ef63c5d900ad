package e2e_test

import (
	"bytes"
	"context"
	"net"
	"os/exec"
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
