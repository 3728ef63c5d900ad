package clients

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// replyTime bounds the wait for a driver's reply, and for its end. It is for drivers
// that hang: a library's own time limits are shorter, or there are none.
const replyTime = 15 * time.Second

// driver is a client whose library runs in another process; doc.go has the lines
// that the two say to each other. It is used by one goroutine at a time.
type driver struct {
	name    string
	cmd     *exec.Cmd
	in      io.WriteCloser
	replies chan string // closed at the end of the process's output
	errors  lockedBuffer
	broken  error // why nothing more can be asked
}

var _ client = (*driver)(nil)

// lockedBuffer collects what a driver says on standard error.
type lockedBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

// maxErrors bounds what is kept of a driver's standard error.
const maxErrors = 64 << 10

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.text.Write(p[:min(len(p), maxErrors-b.text.Len())])
	return len(p), nil
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// driven opens clients by starting the program with its arguments, and the address
// behind them.
func driven(program string, args ...string) func(testing.TB, string) (client, error) {
	return func(t testing.TB, addr string) (client, error) {
		d, err := startDriver(addr, program, args...)
		if err != nil {
			return nil, err
		}
		t.Cleanup(func() {
			if text := d.errors.String(); t.Failed() && text != "" {
				t.Logf("%s on standard error:\n%s", d.name, text)
			}
		})
		return d, nil
	}
}

func startDriver(addr, program string, args ...string) (*driver, error) {
	args = append(args[:len(args):len(args)], addr)
	d := &driver{
		name:    strings.Join(append([]string{program}, args...), " "),
		cmd:     exec.Command(program, args...),
		replies: make(chan string, 1),
	}
	d.cmd.Stderr = &d.errors
	d.cmd.WaitDelay = time.Second // a grandchild may hold the pipe open
	in, err := d.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := d.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := d.cmd.Start(); err != nil {
		return nil, fmt.Errorf("%s: %w (did ../setup.sh run?)", d.name, err)
	}
	d.in = in
	go func() {
		defer close(d.replies)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			d.replies <- lines.Text()
		}
	}()
	if line, err := d.reply(); err != nil || line != "ready" {
		d.close()
		return nil, fmt.Errorf("%s is not ready: %q, %v\n%s", d.name, line, err, d.errors.String())
	}
	return d, nil
}

// reply waits for the next line.
func (d *driver) reply() (string, error) {
	select {
	case line, ok := <-d.replies:
		if !ok {
			d.broken = fmt.Errorf("%s ended", d.name)
		}
		return line, d.broken
	case <-time.After(replyTime):
		// What it answers from now on could belong to any request.
		d.broken = fmt.Errorf("%s: no reply within %s", d.name, replyTime)
		return "", d.broken
	}
}

// call sends one request and returns its reply: "yes", "no", "done" or the text of
// a value. A reply of another kind is an error, with the library's own text if it
// is one of the library.
func (d *driver) call(words ...string) (string, error) {
	if d.broken != nil {
		return "", d.broken
	}
	if _, err := io.WriteString(d.in, strings.Join(words, " ")+"\n"); err != nil {
		d.broken = fmt.Errorf("%s: %w", d.name, err)
		return "", d.broken
	}
	line, err := d.reply()
	if err != nil {
		return "", fmt.Errorf("%s: %w", words[0], err)
	}
	kind, text, _ := strings.Cut(line, " ")
	switch {
	case kind == "error":
		return "", errors.New(text)
	case kind == "value":
		return text, nil
	case line == "yes", line == "no", line == "done":
		return line, nil
	}
	return "", fmt.Errorf("%s: not a reply: %q", words[0], line)
}

// told is call for requests that are answered by yes or no.
func (d *driver) told(words ...string) (bool, error) {
	reply, err := d.call(words...)
	if err == nil && reply != "yes" && reply != "no" {
		err = fmt.Errorf("%s: neither yes nor no: %q", words[0], reply)
	}
	return reply == "yes", err
}

func millis(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

func (d *driver) ping() error {
	if ok, err := d.told("ping"); err != nil || !ok {
		return fmt.Errorf("ping: %v, %w", ok, err)
	}
	return nil
}

func (d *driver) acquire(key string, ttl time.Duration) (bool, error) {
	return d.told("acquire", key, millis(ttl))
}

func (d *driver) extend(key string, ttl time.Duration) (bool, error) {
	return d.told("extend", key, millis(ttl))
}

func (d *driver) release(key string) (verdict, error) {
	reply, err := d.call("release", key)
	switch reply {
	case "yes":
		return released, err
	case "no":
		return notHeld, err
	}
	return untold, err
}

// close ends the input, and the process if that doesn't.
func (d *driver) close() {
	_ = d.in.Close()
	late := time.AfterFunc(replyTime, func() { _ = d.cmd.Process.Kill() })
	defer late.Stop()
	for range d.replies { // until the end of its output, which Wait must not overtake
	}
	_ = d.cmd.Wait()
}
