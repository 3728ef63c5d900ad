package redistest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// processPatience is how long a signal, a start or an end of a process may take
// on a busy machine before it counts as failed.
const processPatience = 10 * time.Second

// process is a child process and the goroutine that waits for its end.
type process struct {
	cmd    *exec.Cmd
	ended  chan struct{} // closed once the process is gone and waited for
	output *output
}

// startProcess starts cmd with its output collected. The child dies with this
// process where the system can arrange that.
func startProcess(cmd *exec.Cmd) (*process, error) {
	p := &process{cmd: cmd, ended: make(chan struct{}), output: newOutput()}
	cmd.Stdout, cmd.Stderr = p.output, p.output
	cmd.WaitDelay = processPatience // a grandchild that keeps the pipe open must not hold us up for ever
	cmd.SysProcAttr = dieWithParent()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(p.ended)
		_ = cmd.Wait() // how it ended is read from ProcessState
	}()
	return p, nil
}

func (p *process) running() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// wait tells whether the process ends within d.
func (p *process) wait(d time.Duration) bool {
	select {
	case <-p.ended:
		return true
	case <-time.After(d):
		return false
	}
}

// kill ends the process at once, stopped or not, and waits until it is gone.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may be gone already
	<-p.ended
}

// pause stops the process and returns when it stands still.
func (p *process) pause() error {
	if err := p.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	return p.awaitState("stopped", func(state byte) bool { return state == 'T' })
}

// resume lets a stopped process run on.
func (p *process) resume() error {
	if err := p.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		return err
	}
	return p.awaitState("running", func(state byte) bool { return state != 'T' })
}

// awaitState waits until the kernel says that a signal has taken effect. Where
// there is no /proc, the signal's delivery has to be enough.
func (p *process) awaitState(name string, reached func(byte) bool) error {
	path := fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid)
	for end := time.Now().Add(processPatience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		stat, err := os.ReadFile(path)
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		// The state follows the command's name, which ends with the last bracket.
		if i := bytes.LastIndexByte(stat, ')'); i >= 0 && i+2 < len(stat) && reached(stat[i+2]) {
			return nil
		}
	}
	return fmt.Errorf("process %d not %s after %s", p.cmd.Process.Pid, name, processPatience)
}

// maxOutput bounds what is kept of a process's output; a runaway log then costs
// its beginning and not the test's memory.
const maxOutput = 16 << 20

// output collects what a process prints.
type output struct {
	mu      sync.Mutex
	text    []byte
	changed chan struct{} // closed and replaced at each write
}

func newOutput() *output { return &output{changed: make(chan struct{})} }

// Write implements io.Writer.
func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.text)+len(b) > maxOutput {
		o.text = append([]byte(nil), o.text[len(o.text)/2:]...)
	}
	o.text = append(o.text, b...)
	close(o.changed)
	o.changed = make(chan struct{})
	return len(b), nil
}

func (o *output) String() string {
	text, _ := o.snapshot()
	return text
}

func (o *output) snapshot() (text string, changed <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(o.text), o.changed
}

// lines are the complete lines printed so far.
func (o *output) lines() []string {
	return completeLines(o.String())
}

func completeLines(text string) []string {
	end := strings.LastIndexByte(text, '\n')
	if end < 0 {
		return nil
	}
	return strings.Split(text[:end], "\n")
}
