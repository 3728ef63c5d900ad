package redistest

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// stopPatience is how long the proxy may take to end after SIGTERM: it promises 5
// seconds.
const stopPatience = 5 * time.Second

// Proxy is a running redlock-proxy process.
type Proxy struct {
	// Password is what Do, MustDo and Voters log in with; "" is not at all.
	Password string

	tb   testing.TB
	addr string
	proc *process
}

// Patient makes arguments for StartProxy that give backends time for their votes, for
// tests that need every one of few and say nothing of time: on a busy machine a backend
// may well be silent for longer than the default limit.
func Patient(tb testing.TB) []string {
	tb.Helper()
	file := filepath.Join(tb.TempDir(), "patient.toml")
	settings := "[server]\nanswer_within = \"4s\"\n[lane]\nvote = \"1900ms\"\nconnect = \"1s\"\n"
	if err := os.WriteFile(file, []byte(settings), 0o600); err != nil {
		tb.Fatal(err)
	}
	return []string{"-config", file}
}

// StartProxy builds the binary if that has not been done, starts it on a free
// port in front of the backends, and waits until it listens. Without backends it
// runs with its embedded ones. It is killed when the test ends, and its output is
// printed if the test failed. A panic or a data race in it fails the test.
func StartProxy(tb testing.TB, backends []string, extraArgs ...string) *Proxy {
	tb.Helper()
	return startProxy(tb, proxyCommand(Binary(tb), backends, extraArgs))
}

// StartRelease is StartProxy with ReleaseBinary.
func StartRelease(tb testing.TB, backends []string, extraArgs ...string) *Proxy {
	tb.Helper()
	return startProxy(tb, proxyCommand(ReleaseBinary(tb), backends, extraArgs))
}

// StartProxyToReturn is StartProxy on a port that no outgoing connection is given, so
// that StartProxy with "-listen" and its address brings it back after it has ended.
func StartProxyToReturn(tb testing.TB, backends []string, extraArgs ...string) *Proxy {
	tb.Helper()
	for try := 1; ; try++ {
		args := append(extraArgs[:len(extraArgs):len(extraArgs)], "-listen", FreeAddr(tb))
		p, err := tryProxy(tb, proxyCommand(Binary(tb), backends, args))
		if err == nil {
			return p
		}
		// The port may have been taken between looking and binding.
		if try == startTries || !strings.Contains(p.Output(), "address already in use") {
			tb.Fatal(err)
		}
	}
}

func proxyCommand(binary string, backends, extraArgs []string) *exec.Cmd {
	args := []string{"serve", "-listen", "127.0.0.1:0", "-admin", ""}
	if len(backends) > 0 {
		args = append(args, "-backends", strings.Join(backends, ","))
	}
	return exec.Command(binary, append(args, extraArgs...)...)
}

func startProxy(tb testing.TB, cmd *exec.Cmd) *Proxy {
	tb.Helper()
	p, err := tryProxy(tb, cmd)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// tryProxy gives an error, and the proxy for its output, if it doesn't listen.
func tryProxy(tb testing.TB, cmd *exec.Cmd) (*Proxy, error) {
	tb.Helper()
	cmd.Env = withoutSettings(cmd.Environ())
	proc, err := startProcess(cmd)
	if err != nil {
		tb.Fatal(err)
	}
	p := &Proxy{tb: tb, proc: proc}
	tb.Cleanup(p.finish)
	p.addr, err = p.awaitListening()
	return p, err
}

// withoutSettings drops the environment's own settings of the proxy, which would
// make tests depend on where they run.
func withoutSettings(env []string) []string {
	var kept []string
	for _, e := range env {
		if !strings.HasPrefix(e, "REDLOCK_PROXY_") {
			kept = append(kept, e)
		}
	}
	return kept
}

// awaitListening waits for the line of the log that says where the proxy listens.
func (p *Proxy) awaitListening() (string, error) {
	late := time.After(processPatience)
	for {
		text, changed := p.proc.output.snapshot()
		for _, line := range p.parse(completeLines(text)) {
			if addr, ok := line["addr"].(string); ok && line["message"] == "listening" {
				return addr, nil
			}
		}
		select {
		case <-changed:
		case <-p.proc.ended:
			return "", errors.New("redlock-proxy ended before it listened")
		case <-late:
			return "", fmt.Errorf("redlock-proxy does not listen after %s", processPatience)
		}
	}
}

// finish kills the process and looks at what it printed.
func (p *Proxy) finish() {
	p.proc.kill()
	text := p.proc.output.String()
	for _, sign := range []string{"WARNING: DATA RACE", "\npanic: ", "\nfatal error: "} {
		if strings.Contains("\n"+text, sign) {
			p.tb.Errorf("redlock-proxy printed %q", strings.TrimSpace(sign))
		}
	}
	if p.tb.Failed() {
		p.tb.Logf("output of redlock-proxy on %s:\n%s", p.addr, shorten(text))
	}
}

// shorten keeps the beginning and the end of a long text.
func shorten(text string) string {
	const most = 16 << 10
	if len(text) <= most {
		return text
	}
	return text[:most/2] + "\n…\n" + text[len(text)-most/2:]
}

// Addr is the host:port that clients connect to.
func (p *Proxy) Addr() string { return p.addr }

// Admin is the host:port of the admin address, of a proxy that was started with
// "-admin", "127.0.0.1:0" among its arguments.
func (p *Proxy) Admin() string {
	p.tb.Helper()
	for _, line := range p.Logs() {
		if addr, ok := line["addr"].(string); ok && line["message"] == "admin address" {
			return addr
		}
	}
	p.tb.Fatal("redlock-proxy has no admin address")
	return ""
}

// Client connects to the proxy. The client is closed when the test ends.
func (p *Proxy) Client() *Client {
	p.tb.Helper()
	c, err := Dial(p.addr)
	if err != nil {
		p.tb.Fatal(err)
	}
	p.tb.Cleanup(func() { _ = c.Close() })
	return c
}

// Do sends one command over a connection of its own; see Client.Do. Any
// goroutine may use it.
func (p *Proxy) Do(args ...string) (any, error) {
	c, err := Dial(p.addr)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	if p.Password != "" {
		if reply, err := c.Do("AUTH", p.Password); err != nil || reply != Status("OK") {
			return reply, err
		}
	}
	return c.Do(args...)
}

// MustDo is Do for commands that must not fail.
func (p *Proxy) MustDo(args ...string) any {
	p.tb.Helper()
	reply, err := p.Do(args...)
	if e, ok := reply.(Error); ok {
		err = e
	}
	if err != nil {
		p.tb.Fatalf("%s on the proxy: %v", args[0], err)
	}
	return reply
}

// Signal sends a signal, such as SIGHUP.
func (p *Proxy) Signal(sig syscall.Signal) {
	p.tb.Helper()
	if err := p.proc.cmd.Process.Signal(sig); err != nil {
		p.tb.Fatal(err)
	}
}

// Stop asks the proxy to end (SIGTERM), waits for it and returns its exit code.
// It fails the test and kills the proxy if that takes more than five seconds.
func (p *Proxy) Stop() int {
	p.tb.Helper()
	p.Signal(syscall.SIGTERM)
	return p.Wait()
}

// Wait waits for the end of a proxy that was asked to end, as Stop does.
func (p *Proxy) Wait() int {
	p.tb.Helper()
	if !p.proc.wait(stopPatience) {
		p.tb.Errorf("redlock-proxy still runs %s after SIGTERM", stopPatience)
		p.proc.kill()
	}
	return p.proc.cmd.ProcessState.ExitCode()
}

// Kill ends the proxy at once (SIGKILL).
func (p *Proxy) Kill() { p.proc.kill() }

// Running tells whether the process has not ended.
func (p *Proxy) Running() bool { return p.proc.running() }

// Pause stops the process (SIGSTOP).
func (p *Proxy) Pause() {
	p.tb.Helper()
	if err := p.proc.pause(); err != nil {
		p.tb.Fatal(err)
	}
}

// Resume lets a paused proxy run on (SIGCONT).
func (p *Proxy) Resume() {
	p.tb.Helper()
	if err := p.proc.resume(); err != nil {
		p.tb.Fatal(err)
	}
}

// PID is the process's number.
func (p *Proxy) PID() int { return p.proc.cmd.Process.Pid }

// Output is all that the proxy has printed, on both streams.
func (p *Proxy) Output() string { return p.proc.output.String() }

// Logs are the lines of the log so far, as JSON objects; other text that the
// proxy printed is left out.
func (p *Proxy) Logs() []map[string]any { return p.parse(p.proc.output.lines()) }

func (p *Proxy) parse(lines []string) []map[string]any {
	var logs []map[string]any
	for _, line := range lines {
		var fields map[string]any
		if json.Unmarshal([]byte(line), &fields) == nil {
			logs = append(logs, fields)
		}
	}
	return logs
}

// Voters is how many backends vote by now, as the proxy itself says; 0 if it does not
// answer.
func (p *Proxy) Voters() int {
	reply, err := p.Do("INFO", "quorum")
	text, _ := reply.(string)
	if err != nil {
		return 0
	}
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), "voters:"); ok {
			n, _ := strconv.Atoi(value)
			return n
		}
	}
	return 0
}
