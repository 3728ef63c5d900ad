package e2e_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"redlockproxy/proxy/redistest"
)

// A reloadable is a proxy with a configuration file that a test rewrites.
type reloadable struct {
	t     *testing.T
	file  string
	proxy *redistest.Proxy
	tls   *tls.Config // of clients; nil: no TLS
}

// patience are settings with which a busy machine is not taken for an outage.
var patience = []string{
	`server.answer_within = "4s"`, `lane.vote = "1900ms"`, `lane.connect = "2s"`,
}

// startReloadable starts a proxy with a file of these lines, "section.name = value".
func startReloadable(t *testing.T, backends []string, clients *tls.Config, lines ...string) *reloadable {
	t.Helper()
	r := &reloadable{t: t, file: filepath.Join(t.TempDir(), "proxy.toml"), tls: clients}
	r.write(lines...)
	r.proxy = redistest.StartProxy(t, backends, "-config", r.file)
	redistest.Eventually(t, 10*time.Second, "all backends vote", func() bool {
		return r.logged("state", "voter") >= len(backends)
	})
	return r
}

// write makes the file anew.
func (r *reloadable) write(lines ...string) {
	r.t.Helper()
	text := strings.Join(append(append([]string{}, patience...), lines...), "\n") + "\n"
	if err := os.WriteFile(r.file, []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// The two things that a reload says.
const (
	reloaded    = "the configuration was reloaded"
	notReloaded = "the configuration was not reloaded: the one in force stays, all of it"
)

// logged counts the lines of the log with that text in a field.
func (r *reloadable) logged(field, text string) int {
	n := 0
	for _, line := range r.proxy.Logs() {
		if line[field] == text {
			n++
		}
	}
	return n
}

// reload sends SIGHUP, waits for what the proxy says to it, and returns that line.
func (r *reloadable) reload(says string) map[string]any {
	r.t.Helper()
	before := r.logged("message", reloaded) + r.logged("message", notReloaded)
	r.proxy.Signal(syscall.SIGHUP)
	redistest.Eventually(r.t, 10*time.Second, "a word about the reload", func() bool {
		return r.logged("message", reloaded)+r.logged("message", notReloaded) > before
	})
	var last map[string]any
	for _, line := range r.proxy.Logs() {
		if line["message"] == reloaded || line["message"] == notReloaded {
			last = line
		}
	}
	if last["message"] != says {
		r.t.Fatalf("%v, want: %s", last, says)
	}
	return last
}

// dial connects as the proxy's clients do.
func (r *reloadable) dial() (*redistest.Client, error) {
	if r.tls == nil {
		return redistest.Dial(r.proxy.Addr())
	}
	return redistest.DialTLS(r.proxy.Addr(), r.tls)
}

// client is dial for a test that needs it.
func (r *reloadable) client() *redistest.Client {
	r.t.Helper()
	c, err := r.dial()
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = c.Close() })
	return c
}

// wantReply checks the reply to one command.
func wantReply(t *testing.T, c *redistest.Client, wanted any, args ...string) {
	t.Helper()
	if reply, err := c.Do(args...); err != nil || reply != wanted {
		t.Errorf("%v: %#v, %v, wanted %#v", args, reply, err, wanted)
	}
}

// load locks and releases on n connections until the returned function is called, which
// gives the first error of each, and how often it went well.
func (r *reloadable) load(n int) (stop func() (rounds int, err error)) {
	ended := make(chan struct{})
	type result struct {
		rounds int
		err    error
	}
	results := make(chan result, n)
	for i := range n {
		c := r.client()
		go func() {
			var done result
			for key := fmt.Sprintf("load:%d", i); done.err == nil; done.rounds++ {
				select {
				case <-ended:
					results <- done
					return
				default:
				}
				locked, err := c.Do("SET", key, "token", "NX", "PX", "30000")
				if err == nil && locked != ok {
					err = fmt.Errorf("a lock: %v", locked)
				}
				released, err2 := c.Do("EVAL", releaseScript, "1", key, "token")
				if err2 == nil && released != int64(1) {
					err2 = fmt.Errorf("a release: %v", released)
				}
				done.err = errors.Join(err, err2)
			}
			results <- done
		}()
	}
	return func() (rounds int, err error) {
		close(ended)
		for range n {
			done := <-results
			rounds, err = rounds+done.rounds, errors.Join(err, done.err)
		}
		return rounds, err
	}
}

// runBinary runs the program to its end and returns its exit code and what it printed.
func runBinary(t *testing.T, args ...string) (code int, printed string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, redistest.Binary(t), args...)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || ctx.Err() != nil {
		t.Fatalf("%v: %v, %v\n%s", args, err, ctx.Err(), out)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
