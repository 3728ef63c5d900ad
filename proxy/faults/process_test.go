package faults_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

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

// files is how many file descriptors the proxy has open.
func files(t *testing.T, p *redistest.Proxy) int {
	t.Helper()
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", p.PID()))
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// fileNames are what the proxy's file descriptors stand for.
func fileNames(t *testing.T, p *redistest.Proxy) (names []string) {
	t.Helper()
	dir := fmt.Sprintf("/proc/%d/fd", p.PID())
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if name, err := os.Readlink(filepath.Join(dir, e.Name())); err == nil { // else it was closed meanwhile
			names = append(names, name)
		}
	}
	return names
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

// goroutines ends the proxy and counts the goroutines that it had: a Go program that
// gets SIGQUIT prints them all. The runtime's own don't count; they come and go.
func goroutines(t *testing.T, p *redistest.Proxy) int {
	t.Helper()
	p.Signal(syscall.SIGQUIT)
	redistest.Eventually(t, 10*time.Second, "the proxy ends with a list of its goroutines", func() bool { return !p.Running() })
	n := strings.Count(p.Output(), "\ncreated by ") - strings.Count(p.Output(), "\ncreated by runtime.")
	if n < 5 { // one for each backend, to begin with
		t.Fatalf("only %d goroutines in the list", n)
	}
	return n
}

// wantNoLeak ends the proxy after a run and checks that it has no more open files and
// goroutines than a fresh one in front of the same backends.
func wantNoLeak(t *testing.T, p *redistest.Proxy, addrs []string, args ...string) (leakedFiles, leakedGoroutines int) {
	t.Helper()
	fresh := redistest.StartRelease(t, addrs, args...)
	awaitVoters(t, fresh, len(addrs))
	wanted := files(t, fresh)
	// Connections of clients that have gone, and of backends that were, take a moment.
	for end := time.Now().Add(10 * time.Second); files(t, p) > wanted && time.Now().Before(end); {
		time.Sleep(20 * time.Millisecond)
	}
	if leakedFiles = max(files(t, p)-wanted, 0); leakedFiles > 0 {
		t.Errorf("%d more files than a fresh proxy has: %q, and not %q", leakedFiles, fileNames(t, p), fileNames(t, fresh))
	}
	leakedGoroutines = max(goroutines(t, p)-goroutines(t, fresh), 0)
	if leakedGoroutines > 0 {
		t.Errorf("%d more goroutines than a fresh proxy has", leakedGoroutines)
	}
	return leakedFiles, leakedGoroutines
}
