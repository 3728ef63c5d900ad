package faults

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"redlockproxy/proxy/redistest"
)

// Profiled is in the configuration of a proxy that tells of its goroutines, as Leaks needs
// it; ProfiledArgs are among its arguments.
const Profiled = "[server]\nadmin_pprof = true\n"

// ProfiledArgs are arguments; see Profiled.
func ProfiledArgs() []string { return []string{"-admin", "127.0.0.1:0"} }

// settleTime is how long a proxy may take to give up what it has no use for any more: the
// connections by which it asked backends for a refill it keeps for 5 seconds.
const settleTime = 20 * time.Second

// Leaks compares proxies after a run with a fresh one in front of the same backends. It
// says what each of the first has more, of open files and of goroutines.
func Leaks(tb testing.TB, fresh *redistest.Proxy, used ...*redistest.Proxy) (leakedFiles, leakedGoroutines int, complaints []string) {
	tb.Helper()
	for _, p := range used {
		var moreFiles, moreGoroutines int
		for end := time.Now().Add(settleTime); ; time.Sleep(20 * time.Millisecond) {
			if moreFiles = Files(tb, p) - Files(tb, fresh); moreFiles <= 0 {
				moreGoroutines = goroutines(tb, p) - goroutines(tb, fresh)
			}
			if max(moreFiles, moreGoroutines) <= 0 || time.Now().After(end) {
				break
			}
		}
		leakedFiles, leakedGoroutines = leakedFiles+max(moreFiles, 0), leakedGoroutines+max(moreGoroutines, 0)
		if moreFiles > 0 {
			complaints = append(complaints, fmt.Sprintf("%d more files than a fresh proxy has: %q, and not %q", moreFiles, fileNames(tb, p), fileNames(tb, fresh)))
		}
		if moreGoroutines > 0 {
			complaints = append(complaints, fmt.Sprintf("%d more goroutines than a fresh proxy has:\n%s\nand not\n%s", moreGoroutines, profile(tb, p), profile(tb, fresh)))
		}
	}
	return leakedFiles, leakedGoroutines, complaints
}

// Files is how many file descriptors the proxy has open.
func Files(tb testing.TB, p *redistest.Proxy) int {
	tb.Helper()
	return len(descriptors(tb, p))
}

func descriptors(tb testing.TB, p *redistest.Proxy) []os.DirEntry {
	tb.Helper()
	entries, err := os.ReadDir(descriptorsOf(p))
	if err != nil {
		tb.Fatal(err)
	}
	return entries
}

func descriptorsOf(p *redistest.Proxy) string { return fmt.Sprintf("/proc/%d/fd", p.PID()) }

// fileNames are what the proxy's file descriptors stand for.
func fileNames(tb testing.TB, p *redistest.Proxy) (names []string) {
	tb.Helper()
	for _, e := range descriptors(tb, p) {
		if name, err := os.Readlink(filepath.Join(descriptorsOf(p), e.Name())); err == nil { // else it was closed meanwhile
			names = append(names, name)
		}
	}
	return names
}

// goroutines is how many the proxy has.
func goroutines(tb testing.TB, p *redistest.Proxy) (n int) {
	tb.Helper()
	text := profile(tb, p)
	_, err := fmt.Sscanf(text, "goroutine profile: total %d", &n)
	if err != nil || n < 5 { // one for each backend, to begin with
		tb.Fatalf("%d goroutines (%v) in %.100q", n, err, text)
	}
	return n
}

// profile says what the proxy's goroutines are doing.
func profile(tb testing.TB, p *redistest.Proxy) string {
	tb.Helper()
	once := http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := once.Get("http://" + p.Admin() + "/debug/pprof/goroutine?debug=1")
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	var text strings.Builder
	if _, err := io.Copy(&text, answer.Body); err != nil {
		tb.Fatal(err)
	}
	return text.String()
}
