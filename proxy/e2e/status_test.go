package e2e_test

import (
	"bytes"
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"

	"redlockproxy/proxy/redistest"
)

// program runs the binary to its end, and returns what it printed and its exit code.
func program(t *testing.T, args ...string) (out, errs string, code int) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), redistest.Binary(t), args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()
}

// wantProgram checks the exit code and some parts of all that was printed.
func wantProgram(t *testing.T, code int, parts []string, args ...string) {
	t.Helper()
	out, errs, got := program(t, args...)
	if got != code {
		t.Errorf("%q: exit code %d, wanted %d", args, got, code)
	}
	for _, part := range parts {
		if !strings.Contains(out+errs, part) {
			t.Errorf("%q does not print %q:\n%s%s", args, part, out, errs)
		}
	}
	if strings.Contains(out+errs, "T0ken") {
		t.Errorf("%q prints a token:\n%s%s", args, out, errs)
	}
}

func TestOperatorsSeeTheGroupAtATerminal(t *testing.T) {
	t.Parallel() // it waits most of the time, and allows for much
	w := newWorld(t, append(redistest.Patient(t), "-admin", "127.0.0.1:0")...)
	w.lock(ok, "lock:job", "T0ken", "60000")
	redistest.Eventually(t, 5*time.Second, "it is on all backends", func() bool { return w.backends.Holding("lock:job") == 5 })
	w.backends[0].MustDo("SET", "lock:remnant", "T0ken", "PX", "60000")
	backends := strings.Join(w.addrs, ",")
	inspect := func(key string) []string {
		return append(redistest.Patient(t), "inspect", key, "-backends", backends)
	}

	wantProgram(t, 0, []string{"5 of 5 can vote, 3 needed, 2 to spare", w.addrs[4], "primary", "acquire: acquired "}, "top", "-admin", w.proxy.Admin())
	wantProgram(t, 0, []string{"lock:job: held on 5 of 5 backends, for another 5", w.addrs[4], "agreed"}, inspect("lock:job")...)
	wantProgram(t, 0, []string{"lock:remnant: free; what 1 of 5 backends hold is a remnant", "leftover", "absent"}, inspect("lock:remnant")...)
	wantProgram(t, 0, []string{"lock:none: free; no backend holds anything"}, inspect("lock:none")...)
	wantProgram(t, 0, []string{"CLOCK", " fit ", " ms"}, append(redistest.Patient(t), "check", "-backends", backends)...)
	info := cli(t, w.proxy.Addr(), "", "INFO", "quorum")
	for _, part := range []string{"votes:5 of 5 can vote", "success_rate:1.0000", "address=" + w.addrs[0], "role=primary", "restarts=0"} {
		if !strings.Contains(info, part) {
			t.Errorf("INFO quorum does not have %q:\n%s", part, info)
		}
	}

	for _, s := range w.backends[2:] {
		s.Kill()
	}
	wantProgram(t, 1, []string{"lock:job: unavailable; 2 of 5 backends vote, and 3 must", "connection refused"}, inspect("lock:job")...)
	redistest.Eventually(t, 10*time.Second, "top says what is down", func() bool {
		out, _, code := program(t, "top", "-admin", w.proxy.Admin())
		return code == 0 && strings.Contains(out, "no decisions") && strings.Count(out, " down ") == 3
	})
	admin := w.proxy.Admin()
	w.proxy.Stop()
	wantProgram(t, 1, []string{"server.admin", "connection refused"}, "top", "-admin", admin)
	wantProgram(t, 1, []string{"there is no admin address"}, "top", "-admin", "")
	wantProgram(t, 78, []string{"inspect needs the key"}, "inspect", "-backends", backends)
}
