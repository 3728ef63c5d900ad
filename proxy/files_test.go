package proxy_test

import (
	"io"
	"syscall"
	"testing"
)

// TestMoreClientsThanFilesAreWarnedOf has a process that may open fewer files than the
// largest number of clients that can be set.
func TestMoreClientsThanFilesAreWarnedOf(t *testing.T) {
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	few := before
	few.Cur = min(few.Cur, 500_000)
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &few); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &before) }()
	for _, clients := range []string{"100", "1000000"} {
		cfg, addr := onSocket(t, settings(t, nil, "SERVER_MAX_CLIENTS="+clients))
		var errs logs
		stop := runInBackground(t, cfg, io.Discard, &errs)
		dialSoon(t, addr)
		if err := stop(); err != nil {
			t.Error(err)
		}
		warned := len(errs.find(func(l line) bool { return l["level"] == "warn" && l["files"] == float64(few.Cur) })) > 0
		if warned != (clients == "1000000") {
			t.Errorf("%s clients, %d files: warned: %t", clients, few.Cur, warned)
		}
	}
}
