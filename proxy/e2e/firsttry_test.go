package e2e_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"redlockproxy/proxy/redistest"
)

// freshCopy is a folder with what a clone of the repository would have: the files
// under version control and no others. Where the sources are no repository, they
// were unpacked and are such a copy already.
func freshCopy(t *testing.T) string {
	t.Helper()
	root, err := redistest.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(root, ".git")); errors.Is(err, os.ErrNotExist) {
		return root
	}
	list := exec.Command("git", "ls-files", "-z")
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		t.Fatalf("git ls-files: %v", err)
	}
	folder := t.TempDir()
	for name := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
		content, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		copied := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(copied), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(copied, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// goRun types `go run .` with these arguments in a folder, and returns what it
// prints on standard output up to a line that contains last. It ends with the test.
func goRun(t *testing.T, folder, last string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute) // a first build takes its time
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, "go", append([]string{"run", "."}, args...)...)
	cmd.Dir = folder
	cmd.Env = slices.DeleteFunc(cmd.Environ(), func(e string) bool { return strings.HasPrefix(e, "REDLOCK_PROXY_") })
	cmd.Stderr = io.Discard
	// The program is a child of go, so a signal has to go to both.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) // it may have ended
		_, _ = io.Copy(io.Discard, out)                     // until the program has ended too
		_ = cmd.Wait()
	})
	var printed strings.Builder
	for lines := bufio.NewScanner(out); lines.Scan(); {
		printed.WriteString(lines.Text() + "\n")
		if strings.Contains(lines.Text(), last) {
			return printed.String()
		}
	}
	t.Fatalf("go run . ended before it said %q:\n%s", last, printed.String())
	return ""
}

func TestGoRunInAFreshCopyServesAndItsThreeLinesWork(t *testing.T) {
	t.Parallel() // it compiles for long, and allows for much
	text := goRun(t, freshCopy(t), "INCR", "-listen", "127.0.0.1:0", "-admin", "")
	addr := regexp.MustCompile(`127\.0\.0\.1:[0-9]+`).FindString(text)
	if addr == "" {
		t.Fatalf("it does not say where it listens:\n%s", text)
	}

	var said []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "redis-cli") {
			continue
		}
		out, err := exec.CommandContext(t.Context(), "sh", "-c", line).CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", line, err, out)
		}
		said = append(said, strings.TrimSpace(string(out)))
	}
	if got := strings.Join(said, ", "); got != "OK, 1, 1" {
		t.Errorf("the three lines printed %q", got)
	}

	c, err := redistest.Dial(addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, step := range []struct {
		wanted any
		args   []string
	}{
		{ok, []string{"SET", "lock:first", "a", "NX", "PX", "30000"}},
		{nil, []string{"SET", "lock:first", "b", "NX", "PX", "30000"}},
		{int64(0), []string{"EVAL", releaseScript, "1", "lock:first", "b"}},
		{int64(1), []string{"EVAL", releaseScript, "1", "lock:first", "a"}},
		{int64(1), []string{"INCR", "lock:first:fence"}},
		{int64(2), []string{"INCR", "lock:first:fence"}},
	} {
		if got, err := c.Do(step.args...); err != nil || got != step.wanted {
			t.Errorf("%q: %v, %v; wanted %v", step.args, got, err, step.wanted)
		}
	}
}
