package e2e_test

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"redlockproxy/proxy/redistest"
)

// lockScript is the lines of docs/choosing.md that try for a lock.
func lockScript(t *testing.T, proxy *redistest.Proxy) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/choosing.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), "## When to try again")
	var lines strings.Builder
	for line := range strings.Lines(after) {
		if code, is := strings.CutPrefix(line, "    "); is {
			lines.WriteString(code)
		}
	}
	_, port, _ := net.SplitHostPort(proxy.Addr())
	return strings.ReplaceAll(lines.String(), "-p 6380", "-p "+port)
}

// tryForLock runs them by dash, which knows nothing beyond a plain sh. The pauses are
// noted, and not made.
func tryForLock(t *testing.T, script, key string) (code int, token, errs string, pauses []string) {
	t.Helper()
	dir := t.TempDir()
	noted := filepath.Join(dir, "pauses")
	for name, text := range map[string]string{"lock.sh": script, "sleep": "#!/bin/sh\necho \"$1\" >> '" + noted + "'\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil { //nolint:gosec // a program
			t.Fatal(err)
		}
	}
	var out, trouble bytes.Buffer
	cmd := exec.CommandContext(t.Context(), "dash", filepath.Join(dir, "lock.sh"), key)
	cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
	cmd.Stdout, cmd.Stderr = &out, &trouble
	if err := cmd.Run(); cmd.ProcessState == nil {
		t.Fatal(err)
	}
	text, _ := os.ReadFile(noted) // there is none without a pause
	return cmd.ProcessState.ExitCode(), strings.TrimSpace(out.String()), trouble.String(), strings.Fields(string(text))
}

func TestLinesOfTheDocumentTryThreeTimesForALock(t *testing.T) {
	w := newWorld(t, redistest.Patient(t)...)
	script := lockScript(t, w.proxy)
	code, token, errs, pauses := tryForLock(t, script, "lock:free")
	if code != 0 || len(token) != 32 || errs != "" || len(pauses) != 0 {
		t.Errorf("a free lock: status %d, %q, %q, pauses %q", code, token, errs, pauses)
	}
	w.want(token, "GET", "lock:free")

	jittered := regexp.MustCompile(`^0\.2[0-9]$`)
	wantThreeTries := func(pauses []string) {
		t.Helper()
		if len(pauses) != 2 || !jittered.MatchString(pauses[0]) || !jittered.MatchString(pauses[1]) {
			t.Errorf("pauses %q", pauses)
		}
	}
	monitor := w.backends[0].Monitor()
	code, said, errs, pauses := tryForLock(t, script, "lock:free")
	if code != 1 || said != "" || errs != "" {
		t.Errorf("a lock that is taken: status %d, %q, %q", code, said, errs)
	}
	wantThreeTries(pauses)
	tokens := map[string]bool{}
	for _, seen := range monitor.Commands() {
		if strings.EqualFold(seen.Args[0], "SET") {
			tokens[seen.Args[2][:32]] = true
		}
	}
	if len(tokens) != 3 || tokens[token] {
		t.Errorf("three attempts with the tokens %v, after %s", tokens, token)
	}

	for _, s := range w.backends[:3] {
		s.Kill()
	}
	code, said, errs, pauses = tryForLock(t, script, "lock:other")
	if code != 1 || said != "" || strings.Count(errs, "UNAVAILABLE ") != 3 {
		t.Errorf("no quorum: status %d, %q, %q", code, said, errs)
	}
	wantThreeTries(pauses)
	w.proxy.Stop()
	if code, said, errs, _ = tryForLock(t, script, "lock:other"); code != 1 || said != "" || !strings.Contains(errs, "refused") {
		t.Errorf("no proxy: status %d, %q, %q", code, said, errs)
	}
}
