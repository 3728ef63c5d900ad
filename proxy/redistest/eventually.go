package redistest

import (
	"testing"
	"time"
)

// Eventually waits until cond holds and ends the test if it doesn't within the
// given time. What says what was waited for.
func Eventually(tb testing.TB, within time.Duration, what string, cond func() bool) {
	tb.Helper()
	if !poll(within, cond) {
		tb.Fatalf("not within %s: %s", within, what)
	}
}

// Settles waits until cond holds and goes on holding for the time given, and
// ends the test if that isn't so within the given time. It is for facts that
// something still on its way could undo: a key that is gone and stays gone.
func Settles(tb testing.TB, steady, within time.Duration, what string, cond func() bool) {
	tb.Helper()
	var since time.Time
	settled := poll(within, func() bool {
		switch {
		case !cond():
			since = time.Time{}
		case since.IsZero():
			since = time.Now()
		default:
			return time.Since(since) >= steady
		}
		return false
	})
	if !settled {
		tb.Fatalf("not for %s within %s: %s", steady, within, what)
	}
}

// poll asks cond again and again, at least twice, until it holds or time is up.
func poll(within time.Duration, cond func() bool) bool {
	for end := time.Now().Add(within); ; time.Sleep(2 * time.Millisecond) {
		late := time.Now().After(end)
		if cond() {
			return true
		}
		if late {
			return false
		}
	}
}
