package guard

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidwall/redcon"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for what must happen.
const patience = 20 * time.Second

// A served is redcon behind a guard.
type served struct {
	*Listener
	ln      net.Listener
	done    chan error
	handled atomic.Int64 // commands
	open    atomic.Int64 // connections, as redcon sees them

	mu       sync.Mutex
	causes   map[Cause]int
	accepted int
	refused  int
	ended    int
}

// serve starts redcon behind a guard on a listener of its own and ends it with
// the test.
func serve(t testing.TB, network string, config *tls.Config, limits Limits, handle func(*Conn, redcon.Conn, [][]byte)) *served {
	t.Helper()
	addr := "127.0.0.1:0"
	if network == "unix" {
		addr = filepath.Join(t.TempDir(), "s")
	}
	ln, err := net.Listen(network, addr)
	if err != nil {
		t.Fatal(err)
	}
	return serveOn(t, ln, config, limits, handle)
}

func serveOn(t testing.TB, ln net.Listener, config *tls.Config, limits Limits, handle func(*Conn, redcon.Conn, [][]byte)) *served {
	t.Helper()
	s := &served{ln: ln, done: make(chan error, 1), causes: map[Cause]int{}}
	s.Listener = ListenTLS(ln, config, limits, s.hooks())
	if handle == nil {
		handle = answer
	}
	server := redcon.NewServer("", func(c redcon.Conn, cmd redcon.Command) {
		s.handled.Add(1)
		handle(c.NetConn().(*Conn), c, cmd.Args)
	}, func(redcon.Conn) bool { s.open.Add(1); return true }, func(redcon.Conn, error) { s.open.Add(-1) })
	go func() { s.done <- server.Serve(s.Listener) }()
	t.Cleanup(func() {
		s.Close()
		if err := <-s.done; err != nil {
			t.Errorf("serve: %v", err)
		}
		s.until(t, "all connections closed", func() bool { return s.open.Load() == 0 && s.Clients() == 0 })
	})
	return s
}

func (s *served) hooks() Hooks {
	count := func(n *int) func() {
		return func() { s.mu.Lock(); *n++; s.mu.Unlock() }
	}
	cause := func(c Cause) { s.mu.Lock(); s.causes[c]++; s.mu.Unlock() }
	return Hooks{
		Accepted: count(&s.accepted), Refused: count(&s.refused), Closed: count(&s.ended),
		ProtocolError: cause, Timeout: cause,
	}
}

func (s *served) count(c Cause) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.causes[c]
}

func (s *served) until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}

func (s *served) dial(t testing.TB) net.Conn {
	t.Helper()
	c, err := net.Dial(s.ln.Addr().Network(), s.ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	c.SetDeadline(time.Now().Add(patience))
	t.Cleanup(func() { c.Close() })
	return c
}

// answer does what Redis does for the few commands that the tests need.
func answer(c *Conn, to redcon.Conn, args [][]byte) {
	switch name := strings.ToUpper(string(args[0])); {
	case name == "AUTH":
		c.SetAuthenticated(true)
		to.WriteString("OK")
	case name == "PING" && len(args) == 1:
		to.WriteString("PONG")
	case name == "ECHO" && len(args) == 2:
		to.WriteBulk(args[1])
	case name == "EVAL" && len(args) > 2: // EVAL "return ARGV" 0 …
		to.WriteArray(len(args) - 3)
		for _, a := range args[3:] {
			to.WriteBulk(a)
		}
	case name == "QUIT":
		to.WriteString("OK")
		to.Close()
	default:
		to.WriteError("ERR unexpected in this test")
	}
}

// exchange sends text and returns what comes back until the other side closes
// or, if it does not, until want bytes are there.
func exchange(t testing.TB, c net.Conn, text string, want int) string {
	t.Helper()
	sent := make(chan error, 1)
	go func() {
		_, err := io.WriteString(c, text)
		sent <- err
	}()
	got := make([]byte, want)
	n, err := io.ReadFull(c, got)
	if err != nil && !isEnd(err) {
		t.Errorf("after %q: %v", got[:n], err)
	}
	<-sent // may well have failed: the other side need not read all
	return string(got[:n])
}

// isEnd tells whether err says that the other side has closed.
func isEnd(err error) bool {
	var timeout net.Error
	return !(errors.As(err, &timeout) && timeout.Timeout())
}

// manyBytes is more than any answer in these tests.
const manyBytes = 1 << 16

// array encodes a command.
func array(args ...string) string {
	b := redcon.AppendArray(nil, len(args))
	for _, a := range args {
		b = redcon.AppendBulkString(b, a)
	}
	return string(b)
}

// fakeConn is a client that has sent the chunks, one a Read, and hung up.
type fakeConn struct {
	net.Conn
	chunks [][]byte
	wrote  bytes.Buffer
	onRead func() // may be nil
}

func (f *fakeConn) Read(p []byte) (int, error) {
	if f.onRead != nil {
		f.onRead()
	}
	if len(f.chunks) == 0 {
		return 0, io.EOF
	}
	n := copy(p, f.chunks[0])
	if f.chunks[0] = f.chunks[0][n:]; len(f.chunks[0]) == 0 {
		f.chunks = f.chunks[1:]
	}
	return n, nil
}
func (f *fakeConn) Write(p []byte) (int, error)      { return f.wrote.Write(p) }
func (f *fakeConn) SetReadDeadline(time.Time) error  { return nil }
func (f *fakeConn) SetWriteDeadline(time.Time) error { return nil }
func (f *fakeConn) Close() error                     { return nil }

// released is what a guard hands on of the chunks, and what it writes itself.
func released(limits Limits, chunks [][]byte) (commands, written string, c *Conn) {
	fake := &fakeConn{chunks: chunks}
	c = newConn(Listen(nil, limits, Hooks{}), fake)
	var out bytes.Buffer
	io.CopyBuffer(&out, struct{ io.Reader }{c}, make([]byte, 4096))
	return out.String(), fake.wrote.String(), c
}

// pipes is a listener for clients that are pipes, for virtual time.
type pipes struct {
	clients chan net.Conn
	closed  chan struct{}
	once    sync.Once
}

func newPipes() *pipes { return &pipes{clients: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.clients:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}
func (p *pipes) Close() error   { p.once.Do(func() { close(p.closed) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "unix"} }

func (p *pipes) dial(t testing.TB) net.Conn {
	client, server := net.Pipe()
	p.clients <- server
	t.Cleanup(func() { client.Close() })
	return client
}
