package faults_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"redlockproxy/proxy/faults"
	"redlockproxy/proxy/redistest"
)

// settings is a configuration file for the proxy.
func settings(t *testing.T, text string) []string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "proxy.toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return []string{"-config", path}
}

// peakMemory is the most memory that the proxy has had since its start, in bytes.
func peakMemory(t *testing.T, p *redistest.Proxy) int64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.PID()))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kilobytes, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return kilobytes << 10
		}
	}
	t.Fatalf("no VmHWM in %s", status)
	return 0
}

// profiled are settings for a proxy that wantNoLeak is to look at.
func profiled(t *testing.T, text string) []string {
	t.Helper()
	return append(settings(t, faults.Profiled+text), faults.ProfiledArgs()...)
}

// wantNoLeak checks that a proxy has no more open files and goroutines after a run than a
// fresh one in front of the same backends. It was started as profiled.
func wantNoLeak(t *testing.T, p *redistest.Proxy, addrs []string, args ...string) (leakedFiles, leakedGoroutines int) {
	t.Helper()
	fresh := redistest.StartRelease(t, addrs, args...)
	awaitVoters(t, fresh, len(addrs))
	leakedFiles, leakedGoroutines, complaints := faults.Leaks(t, fresh, p)
	for _, c := range complaints {
		t.Error(c)
	}
	return leakedFiles, leakedGoroutines
}
