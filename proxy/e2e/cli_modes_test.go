package e2e_test

import (
	"bufio"
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"redlockproxy/proxy/redistest"
)

// cliTime bounds a run of redis-cli or redis-benchmark.
const cliTime = 20 * time.Second

// output runs a tool of Redis against a server and returns what it printed, on both
// streams, and its exit code.
func output(t *testing.T, addr, stdin, tool string, args ...string) (string, int) {
	t.Helper()
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), cliTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, tool, append([]string{"-h", host, "-p", port}, args...)...)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || ctx.Err() != nil) {
		t.Fatalf("%s %q: %v\n%s", tool, args, err, out)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// wantOutput checks all that redis-cli prints, and that it ends well.
func wantOutput(t *testing.T, addr, wanted, stdin string, args ...string) {
	t.Helper()
	if got, code := output(t, addr, stdin, "redis-cli", args...); got != wanted || code != 0 {
		t.Errorf("redis-cli %q: %q, exit code %d; wanted %q", args, got, code, wanted)
	}
}

// patientOnBoth is onBoth for what says nothing of time. The Redis has one database,
// as the proxy has.
func patientOnBoth(t *testing.T, scenario func(t *testing.T, addr string)) {
	t.Run("one Redis", func(t *testing.T) {
		scenario(t, redistest.Start(t, redistest.Args("--databases", "1")).Addr())
	})
	t.Run("proxy", func(t *testing.T) { scenario(t, newWorld(t, redistest.Patient(t)...).proxy.Addr()) })
}

func TestRedisCliWorksInItsOtherModes(t *testing.T) {
	t.Parallel() // it waits most of the time, and allows for much
	file := filepath.Join(t.TempDir(), "lock.lua")
	// An editor ends the text with a new line.
	if err := os.WriteFile(file, []byte("return redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', 60000)\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	patientOnBoth(t, func(t *testing.T, addr string) {
		wantOutput(t, addr, "OK\n", "", "--eval", file, "lock:eval", ",", "a token")
		wantOutput(t, addr, "\n", "", "--eval", file, "lock:eval", ",", "another")
		wantOutput(t, addr, "1\n2\n3\n", "", "-r", "3", "-i", "0.01", "INCR", "fence")
		wantOutput(t, addr, "OK\n", "a token\x00\r\n", "-x", "SET", "lock:x")
		wantOutput(t, addr, "\"a token\\x00\\r\\n\"\n", "", "--no-raw", "GET", "lock:x")
		wantOutput(t, addr, "\"a token\",60\n", "", "--csv", "EVAL", "return {redis.call('get', KEYS[1]), 60}", "1", "lock:eval")
		wantOutput(t, addr, "OK\n", "", "-n", "0", "SET", "lock:n", "t", "NX", "PX", "60000")
		// It goes on where it is, whatever was asked for: the warning is all there is.
		wantOutput(t, addr, "SELECT 1 failed: ERR DB index is out of range\nOK\n", "", "-n", "1", "SET", "lock:n1", "t", "NX", "PX", "60000")
		wantOutput(t, addr, "1\n", "", "-n", "0", "EXISTS", "lock:n1")
		wantOutput(t, addr, "ERR DB index is out of range\n\nPONG\n", "SELECT 1\nPING\n")

		// Lines of plain text, and a blank one before the echo that ends it.
		piped, code := output(t, addr, "SET lock:pipe t NX PX 60000\r\nINCR fence\r\n", "redis-cli", "--pipe")
		if !strings.HasSuffix(piped, "errors: 0, replies: 2\n") || code != 0 {
			t.Errorf("redis-cli --pipe: %q, exit code %d", piped, code)
		}
		latency, code := output(t, addr, "", "redis-cli", "--latency", "-i", "0.1")
		if fields := strings.Fields(latency); len(fields) != 4 || code != 0 {
			t.Errorf("redis-cli --latency: %q, exit code %d", latency, code)
		}
	})
}

func TestRedisCliListsTheLocks(t *testing.T) {
	patientOnBoth(t, func(t *testing.T, addr string) {
		var wanted []string
		for i := range 30 {
			wanted = append(wanted, lockName(i))
			wantOutput(t, addr, "OK\n", "", "SET", lockName(i), "t", "NX", "PX", "60000")
		}
		slices.Sort(wanted)
		for _, args := range [][]string{{"--scan"}, {"--scan", "--pattern", "lock:*"}, {"-3", "--scan"}} {
			text, code := output(t, addr, "", "redis-cli", args...)
			got := slices.Sorted(slices.Values(strings.Fields(text)))
			if got = slices.Compact(got); !slices.Equal(got, wanted) || code != 0 {
				t.Errorf("redis-cli %q: %q, exit code %d; wanted %q", args, got, code, wanted)
			}
		}
		wantOutput(t, addr, "", "", "--scan", "--pattern", "other:*")
		text, code := output(t, addr, "", "redis-cli", "--bigkeys")
		if !strings.Contains(text, "Sampled 30 keys in the keyspace!") || !strings.Contains(text, "30 strings with 30 bytes") || code != 0 {
			t.Errorf("redis-cli --bigkeys: exit code %d\n%s", code, text)
		}
	})
}

func TestRedisCliShowsStatisticsThatGrow(t *testing.T) {
	patientOnBoth(t, func(t *testing.T, addr string) {
		host, port, _ := net.SplitHostPort(addr)
		ctx, cancel := context.WithTimeout(t.Context(), cliTime)
		defer cancel()
		cmd := exec.CommandContext(ctx, "redis-cli", "-h", host, "-p", port, "--stat", "-i", "0.005") // it goes on for ever
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		var lines []string
		for text := bufio.NewScanner(out); len(lines) < 6 && text.Scan(); {
			lines = append(lines, text.Text())
		}
		cancel()
		_ = cmd.Wait() // it was killed
		if len(lines) < 6 || !strings.Contains(lines[0], "data") || !strings.HasPrefix(lines[1], "keys") {
			t.Fatalf("redis-cli --stat: %q", lines)
		}
		// keys, memory, clients, blocked, requests and how many more, connections
		for _, line := range lines[3:] {
			fields := strings.Fields(line)
			if len(fields) != 7 || fields[2] == "0" || fields[3] != "0" || fields[5] == "(+0)" {
				t.Errorf("redis-cli --stat: %q", line)
			}
		}
	})
}

func TestRedisCliLogsIn(t *testing.T) {
	scenario := func(t *testing.T, addr string) {
		const warning = "Warning: Using a password with '-a' or '-u' option on the command line interface may not be safe.\n"
		wantOutput(t, addr, warning+"PONG\n", "", "-a", password, "PING")
		wantOutput(t, addr, "PONG\n", "", "--no-auth-warning", "-a", password, "--user", "default", "PING")
		wantOutput(t, addr, "OK\n", "", "--no-auth-warning", "-a", password, "-3", "SET", "lock:a", "t", "NX", "PX", "60000")
		wantOutput(t, addr, "NOAUTH Authentication required.\n\n", "", "SET", "lock:a", "t", "NX")
		wantOutput(t, addr, "AUTH failed: WRONGPASS invalid username-password pair or user is disabled.\nNOAUTH Authentication required.\n\n",
			"", "--no-auth-warning", "-a", "wrong", "GET", "lock:a")
		if text, code := output(t, addr, "", "redis-benchmark", "-a", password, "-t", "set", "-n", "100", "-q"); code != 0 || strings.Contains(text, "WARN") {
			t.Errorf("redis-benchmark -a: exit code %d\n%s", code, text)
		}
	}
	t.Run("one Redis", func(t *testing.T) { scenario(t, redistest.Start(t, redistest.Password(password)).Addr()) })
	t.Run("proxy", func(t *testing.T) { scenario(t, withPassword(t).Addr()) })
}

func TestRedisCliIsToldWhatThereIsNot(t *testing.T) {
	addr := newWorld(t, redistest.Patient(t)...).proxy.Addr()
	for _, args := range [][]string{{"--rdb", filepath.Join(t.TempDir(), "dump.rdb")}, {"--replica"}} {
		if text, code := output(t, addr, "", "redis-cli", args...); code != 1 || !strings.Contains(text, "UNSUPPORTED SYNC: ") {
			t.Errorf("redis-cli %q: exit code %d\n%s", args, code, text)
		}
	}
	text, code := output(t, addr, "", "redis-cli", "--cluster", "info", addr)
	if code != 1 || !strings.Contains(text, "is not configured as a cluster node") {
		t.Errorf("redis-cli --cluster: exit code %d\n%s", code, text)
	}
	if text, code = output(t, addr, "", "redis-cli", "-e", "HSET", "h", "f", "v"); code != 1 || !strings.HasPrefix(text, "UNSUPPORTED HSET: ") {
		t.Errorf("redis-cli -e HSET: exit code %d\n%s", code, text)
	}
}

func TestRedisBenchmarkMeasuresWithoutAWarning(t *testing.T) {
	patientOnBoth(t, benchmark)
	w := newWorld(t, redistest.Patient(t)...)
	w.backends[1].Kill()
	w.backends[3].Kill()
	t.Run("two of five stopped", func(t *testing.T) { benchmark(t, w.proxy.Addr()) })
}

func benchmark(t *testing.T, addr string) {
	for _, args := range [][]string{
		{"-t", "ping,set,get,incr,mset", "-n", "500", "-q"},
		{"-t", "set,get,incr", "-n", "500", "-c", "10", "-P", "8", "-r", "50", "-3", "--csv"},
		{"-n", "500", "-r", "50", "-q", "SET", "lock:__rand_int__", "t", "NX", "PX", "1000"},
		{"-n", "500", "-r", "50", "-q", "EVAL", "return redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', 1000)", "1", "lock:__rand_int__", "t"},
		{"-n", "200", "-q", "EVAL", "return redis.call('INCR', KEYS[1])", "1", "count"},
	} {
		text, code := output(t, addr, "", "redis-benchmark", args...)
		for _, word := range []string{"WARN", "rror", "failed"} {
			if strings.Contains(text, word) {
				code = -1
			}
		}
		if code != 0 {
			t.Errorf("redis-benchmark %q: exit code %d\n%s", args, code, text)
		}
	}
	wantOutput(t, addr, "200\n", "", "GET", "count")
}

func TestRedisBenchmarkOfOtherTypesEndsAtTheFirst(t *testing.T) {
	w := newWorld(t, redistest.Patient(t)...)
	text, code := output(t, w.proxy.Addr(), "", "redis-benchmark", "-t", "lpush,set", "-n", "200", "-q")
	if code != 1 || !strings.Contains(text, "UNSUPPORTED LPUSH: ") {
		t.Errorf("exit code %d\n%s", code, text)
	}
	for i, s := range w.backends {
		if s.MustDo("EXISTS", "mylist") != int64(0) {
			t.Errorf("backend %d has a list", i)
		}
	}
}
