package e2e_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"redlockproxy/proxy/redistest"
)

// terminal is a program that believes a person is typing.
type terminal struct {
	t     *testing.T
	cmd   *exec.Cmd
	keys  *os.File
	ended chan struct{} // closed when all that it showed has been read

	mu    sync.Mutex
	shown strings.Builder
	seen  int // how much of what was shown has been waited for
}

// pseudoTerminal makes a terminal's two ends: the person's and the program's.
func pseudoTerminal() (person, program *os.File, err error) {
	// Without blocking, so that closing it ends a read that waits.
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("/dev/ptmx: %w", err)
	}
	person = os.NewFile(uintptr(fd), "/dev/ptmx")
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = errors.Join(
			unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0),
			unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 200}),
		)
	}
	if err == nil {
		program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	}
	if err != nil {
		_ = person.Close()
		return nil, nil, fmt.Errorf("pseudo terminal: %w", err)
	}
	return person, program, nil
}

// interactive starts redis-cli at a terminal. It is killed when the test ends.
func interactive(t *testing.T, addr string, args ...string) *terminal {
	t.Helper()
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	person, program, err := pseudoTerminal()
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close()
	cmd := exec.Command("redis-cli", append([]string{"-h", host, "-p", port}, args...)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = program, program, program
	cmd.Env = append(os.Environ(), "TERM=xterm", "HOME="+t.TempDir(), "REDISCLI_HISTFILE=/dev/null")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	x := &terminal{t: t, cmd: cmd, keys: person, ended: make(chan struct{})}
	go x.watch()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = person.Close()
		<-x.ended
		if t.Failed() {
			t.Logf("redis-cli showed %q", x.shown.String())
		}
	})
	return x
}

// watch collects what is shown, until the program has closed the terminal.
func (x *terminal) watch() {
	defer close(x.ended)
	b := make([]byte, 4096)
	for {
		n, err := x.keys.Read(b)
		x.mu.Lock()
		x.shown.Write(b[:n])
		x.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// see waits until a text is shown that was not seen before.
func (x *terminal) see(text string) {
	x.t.Helper()
	redistest.Eventually(x.t, 10*time.Second, fmt.Sprintf("redis-cli shows %q", text), func() bool {
		x.mu.Lock()
		defer x.mu.Unlock()
		at := strings.Index(x.shown.String()[x.seen:], text)
		if at >= 0 {
			x.seen += at + len(text)
		}
		return at >= 0
	})
}

// press types keys.
func (x *terminal) press(keys string) {
	x.t.Helper()
	if _, err := x.keys.WriteString(keys); err != nil {
		x.t.Fatal(err)
	}
}

// enter types a line and waits for its output and for the next prompt.
func (x *terminal) enter(line, output, prompt string) {
	x.t.Helper()
	x.press(line + "\r")
	x.see("\r\n") // the end of the line typed, which is shown as well
	x.see(output + "\r\n")
	x.see(prompt)
}

func TestRedisCliAtATerminal(t *testing.T) {
	patientOnBoth(t, func(t *testing.T, addr string) {
		for _, args := range [][]string{nil, {"-3"}} {
			x := interactive(t, addr, args...)
			prompt := addr + "> "
			inTransaction := addr + "(TX)> "
			x.see(prompt)
			x.enter("SET lock:typed \"a token\" NX PX 60000", "OK", prompt)
			x.enter("set lock:typed another nx px 60000", "(nil)", prompt)
			x.enter("GET lock:typed", `"a token"`, prompt)
			x.enter("SELECT 1", "(error) ERR DB index is out of range", prompt)
			x.enter("MULTI", "OK", inTransaction)
			x.enter("GET lock:typed", "QUEUED", inTransaction)
			x.enter("INCR fence", "QUEUED", inTransaction)
			x.enter("DISCARD", "OK", prompt)
			x.enter("MULTI", "OK", inTransaction)
			x.enter("DEL lock:typed", "QUEUED", inTransaction)
			x.enter("EXEC", "1) (integer) 1", prompt)
			x.enter("EVAL \"return {KEYS[1], 1, false}\" 1 k", "3) (nil)", prompt)
			x.enter("NOSUCH a b", "(error) ERR unknown command 'NOSUCH', with args beginning with: 'a' 'b' ", prompt)
			x.press("pexpiret\t") // completed by what it knows of the commands
			x.see("PEXPIRETIME")
			x.enter(" lock:typed", "(integer) -2", prompt)
			x.press("help pttl\r")
			x.see("summary:")
			x.see(prompt)
			x.press("quit\r")
			<-x.ended
		}
	})
}

func TestRedisCliAtATerminalGoesOnAfterARestart(t *testing.T) {
	backends := redistest.StartGroup(t, 5).Addrs()
	args := append(redistest.Patient(t), "-listen", redistest.FreeAddr(t))
	p := redistest.StartProxy(t, backends, args...)
	x := interactive(t, p.Addr())
	prompt := p.Addr() + "> "
	x.see(prompt)
	x.enter("PING", "PONG", prompt)
	p.Stop()
	x.press("PING\r")
	x.see("not connected> ")
	redistest.StartProxy(t, backends, args...)
	x.enter("PING", "PONG", prompt)
}
