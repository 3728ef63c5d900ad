package redistest

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// Server is a redis-server process that listens on a port of 127.0.0.1 and on a
// unix socket. It keeps both over restarts. Its methods that have no error to
// return end the test when they fail, so they belong on the test's goroutine.
type Server struct {
	tb     testing.TB
	dir    string
	port   int
	config config
	clock  *Clock // nil without OwnClock
	proc   *process
}

type config struct {
	args       []string
	password   string
	persistent bool
	ownClock   bool
	tls        []string // arguments; nil: no TLS
}

// Option changes how a Server is started.
type Option func(*config)

// Args adds command line arguments for redis-server, such as "--maxmemory", "10mb".
func Args(args ...string) Option {
	return func(c *config) { c.args = append(c.args, args...) }
}

// Password makes the server ask for a password; Do and Monitor give it.
func Password(password string) Option {
	return func(c *config) { c.password = password }
}

// Persistent makes the server write each command to its append-only file before
// it answers, so that RestartWithData finds everything again.
func Persistent() Option {
	return func(c *config) { c.persistent = true }
}

// startTries is how often a start is tried anew on another port, when the one
// chosen was taken between looking and binding.
const startTries = 5

// errPortTaken says that redis-server could not bind its port.
var errPortTaken = errors.New("port taken")

// Start starts a redis-server, waits until it answers, and has it killed when
// the test ends.
func Start(tb testing.TB, opts ...Option) *Server {
	tb.Helper()
	s, err := start(tb, opts)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func start(tb testing.TB, opts []Option) (*Server, error) {
	if err := checkInstalled(); err != nil {
		return nil, err
	}
	// Not tb.TempDir: with the test's name in it, the path can be longer than
	// the 107 bytes that a unix socket's address has.
	dir, err := os.MkdirTemp("", "redis")
	if err != nil {
		return nil, err
	}
	s := &Server{tb: tb, dir: dir}
	for _, o := range opts {
		o(&s.config)
	}
	tb.Cleanup(func() {
		if s.proc != nil {
			s.proc.kill()
		}
		if err := os.RemoveAll(dir); err != nil {
			tb.Error(err)
		}
	})
	for range startTries {
		if s.port, err = freePort(); err != nil {
			return nil, err
		}
		if err = s.launch(false); !errors.Is(err, errPortTaken) {
			break
		}
	}
	return s, err
}

// checkInstalled says what to install if there is no redis-server of version 7,
// whose SET takes NX together with GET.
var checkInstalled = sync.OnceValue(func() error {
	const hint = "install redis-server 7 or later (Debian: apt-get install redis-server redis-tools)"
	out, err := exec.Command("redis-server", "--version").Output()
	if err != nil {
		return fmt.Errorf("redis-server can't be run: %w; %s", err, hint)
	}
	_, version, _ := strings.Cut(string(out), "v=")
	major, _, _ := strings.Cut(version, ".")
	if n, err := strconv.Atoi(major); err != nil || n < 7 {
		return fmt.Errorf("redis-server is too old: %s; %s", strings.TrimSpace(string(out)), hint)
	}
	return nil
})

// launch starts the process on the server's port, with more arguments if there are any,
// and waits until it answers, or says that it reads its data if it may.
func (s *Server) launch(loads bool, more ...string) error {
	appendOnly := "no"
	if s.config.persistent {
		appendOnly = "yes"
	}
	args := []string{
		"--bind", "127.0.0.1",
		"--unixsocket", s.Socket(), "--dir", s.dir,
		"--save", "", "--appendonly", appendOnly,
		// What a process has written survives its end; only the machine's end takes
		// what was not synced, and the disk's pauses would be the tests'.
		"--appendfsync", "no",
		"--enable-debug-command", "yes",
	}
	args = append(args, s.portArgs()...)
	if s.config.password != "" {
		args = append(args, "--requirepass", s.config.password)
	}
	if err := os.Remove(s.Socket()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	cmd := exec.Command("redis-server", slices.Concat(args, s.config.args, more)...)
	if err := s.setClock(cmd); err != nil {
		return err
	}
	proc, err := startProcess(cmd)
	if err != nil {
		return err
	}
	s.proc = proc
	// The socket is ours alone, so what answers on it is this process; and it is
	// made after the port was bound.
	answers := func() bool {
		reply, err := s.Do("PING")
		return err == nil && (reply == Status("PONG") || loads && isLoading(reply))
	}
	if poll(processPatience, func() bool { return !proc.running() || answers() }) && proc.running() {
		return nil
	}
	proc.kill()
	said := proc.output.String()
	if strings.Contains(said, "Address already in use") {
		return errPortTaken
	}
	return fmt.Errorf("redis-server did not start; it said:\n%s", said)
}

// setClock makes a server that is to have a clock of its own start with it.
func (s *Server) setClock(cmd *exec.Cmd) error {
	if !s.config.ownClock {
		return nil
	}
	library, err := clockLibrary()
	if err != nil {
		return err
	}
	path := filepath.Join(s.dir, "clock")
	if s.clock == nil {
		if s.clock, err = newClock(path); err != nil {
			return err
		}
	}
	cmd.Env = append(cmd.Environ(), "LD_PRELOAD="+library, "REDISTEST_CLOCK="+path)
	return nil
}

// Clock is the server's wall clock; nil unless it was started with OwnClock.
func (s *Server) Clock() *Clock { return s.clock }

// Addr is the server's host:port.
func (s *Server) Addr() string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port))
}

// Socket is the path of the server's unix socket.
func (s *Server) Socket() string { return filepath.Join(s.dir, "s") }

// Client connects to the server's socket and gives the password. The client is
// closed when the test ends.
func (s *Server) Client() *Client {
	s.tb.Helper()
	c, err := s.dial()
	if err != nil {
		s.tb.Fatal(err)
	}
	s.tb.Cleanup(func() { _ = c.Close() })
	return c
}

func (s *Server) dial() (*Client, error) {
	c, err := Dial(s.Socket())
	if err != nil || s.config.password == "" {
		return c, err
	}
	reply, err := c.Do("AUTH", s.config.password)
	if err == nil && reply != Status("OK") {
		err = fmt.Errorf("AUTH: %v", reply)
	}
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

// Do sends one command over a connection of its own. The error tells of the
// connection; an error reply is a value of type Error. Any goroutine may use it.
func (s *Server) Do(args ...string) (any, error) {
	c, err := s.dial()
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return c.Do(args...)
}

// MustDo is Do for commands that must not fail.
func (s *Server) MustDo(args ...string) any {
	s.tb.Helper()
	reply, err := s.Do(args...)
	if e, ok := reply.(Error); ok {
		err = e
	}
	if err != nil {
		s.tb.Fatalf("%s on %s: %v", args[0], s.Addr(), err)
	}
	return reply
}

// Marker is the key that a proxy keeps on each backend for itself.
const Marker = "~redlock-proxy:marker"

// Keys are the names of all keys that clients have made, in order: without Marker.
func (s *Server) Keys() []string {
	s.tb.Helper()
	reply, _ := s.MustDo("KEYS", "*").([]any)
	var keys []string
	for _, k := range reply {
		if name, ok := k.(string); ok && name != Marker {
			keys = append(keys, name)
		}
	}
	slices.Sort(keys)
	return keys
}

// Empty removes all keys but Marker, so that a proxy does not take the server for one
// that has forgotten.
func (s *Server) Empty() {
	s.tb.Helper()
	s.MustDo("EVAL", `for _, k in ipairs(redis.call('KEYS', '*')) do if k ~= ARGV[1] then redis.call('DEL', k) end end`, "0", Marker)
}

// Get is what the server holds under a string key, "" if there is none.
func (s *Server) Get(key string) string {
	s.tb.Helper()
	value, _ := s.MustDo("GET", key).(string)
	return value
}

// Info is the value of one field of INFO, such as run_id; "" if there is none.
func (s *Server) Info(field string) string {
	s.tb.Helper()
	text, _ := s.MustDo("INFO", "everything").(string)
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(line, field+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// PID is the process's number.
func (s *Server) PID() int { return s.proc.cmd.Process.Pid }
