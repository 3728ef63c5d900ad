package guard

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"redlockproxy/proxy/socket"
)

const (
	// readBytes is how much is read at once: as much as redcon's own buffer takes,
	// so more would not make its batches larger.
	readBytes = 4 << 10

	// turnBytes is how many bytes of replies at once are as much work as a full buffer.
	turnBytes = 16 << 10

	// lingerTime and lingerBytes bound the reading on after the last reply to a
	// client that is cut off or drained.
	lingerTime  = 250 * time.Millisecond
	lingerBytes = 1 << 20

	// partingTime bounds how long Close waits to send TLS's goodbye.
	partingTime = 100 * time.Millisecond
)

var errNoHandshake = errors.New("guard: written to before the TLS handshake")

// A Conn is a client's connection. Read and Write may be used at the same time,
// each by one goroutine; HungUp and Close by any.
type Conn struct {
	l      *Listener
	raw    net.Conn        // the socket
	socket syscall.RawConn // raw's; nil where it is none
	stream net.Conn        // what the client says: raw in its cheaper form, or TLS over it
	source io.Reader       // stream, as it is read
	born   time.Time

	authenticated atomic.Bool
	shaken        atomic.Bool // the TLS handshake is done, or there is none
	replying      atomic.Bool // Write is under way, and has its deadline
	closing       sync.Once
	closeErr      error

	share share // of what all clients may hold

	// Read's own.
	rules  *rules
	parser parser
	in     []byte // readBytes; bytes in[next:end] are not parsed yet
	next   int
	end    int
	fault  *fault
	waited time.Duration // for the rest of the command that has begun
	more   bool          // the socket had as much as was asked of it

	mu       sync.Mutex
	draining bool
	lingers  bool
	armed    time.Time // the read deadline that raw has
	authBy   time.Time // when an unauthenticated client is cut off
}

var _ net.Conn = (*Conn)(nil)

func newConn(l *Listener, raw net.Conn) *Conn {
	c := &Conn{l: l, raw: raw, stream: socket.Direct(raw), born: time.Now(), rules: l.rules.Load()}
	limits := &c.rules.limits
	c.parser.limits = *limits
	c.share.of = &l.large
	c.authBy = c.born.Add(limits.AuthTime)
	c.authenticated.Store(!limits.AuthRequired)
	c.source = tap{c.stream, &c.more}
	if c.rules.config != nil {
		c.stream = tls.Server(records{tap{raw, &c.more}, c}, c.rules.config)
		c.source = c.stream
	}
	c.shaken.Store(c.rules.config == nil)
	if s, ok := raw.(syscall.Conn); ok {
		c.socket, _ = s.SyscallConn() // an error: it is closed already, as reading will tell
	}
	return c
}

// A tap notes whether a socket had as much as was asked of it.
type tap struct {
	net.Conn
	full *bool
}

// Read implements net.Conn.
func (t tap) Read(b []byte) (int, error) {
	n, err := t.Conn.Read(b)
	*t.full = n == len(b)
	return n, err
}

// records is the socket under TLS, which writes by itself too: Read answers a client that
// asks for new keys. Such an answer has a deadline of its own, or that of the handshake
// or of the last reply would end the connection.
type records struct {
	tap
	c *Conn
}

// Write implements net.Conn.
func (r records) Write(b []byte) (int, error) {
	if r.c.shaken.Load() && !r.c.replying.Load() {
		if err := r.c.limitWrite(); err != nil {
			return 0, err
		}
	}
	return r.tap.Write(b)
}

// Authenticated tells whether the client counts as logged in: the limits with which it
// was accepted asked for no login, or SetAuthenticated has said so.
func (c *Conn) Authenticated() bool { return c.authenticated.Load() }

// SetAuthenticated says whether the client has logged in, which decides on its
// limits. One that was logged in and is no more has its time to log in anew. To be called by the handler of a
// command: it takes effect for the next command.
func (c *Conn) SetAuthenticated(yes bool) {
	if c.authenticated.Load() {
		c.mu.Lock()
		c.authBy = time.Now().Add(c.l.rules.Load().limits.AuthTime)
		c.mu.Unlock()
	}
	c.authenticated.Store(yes)
}

// Read fills p with whole commands, the last one perhaps in several calls. It
// waits until one has arrived. The error is io.EOF when the client is gone, was
// cut off for a protocol error (it has been told then), or has been drained;
// os.ErrDeadlineExceeded when it was too slow.
func (c *Conn) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if !c.shaken.Load() {
		if err := c.handshake(); err != nil {
			return 0, err
		}
	}
	for {
		if n := c.parser.take(p); n > 0 {
			return n, nil
		}
		// All that was released has been answered, or redcon would not ask.
		if c.fault != nil {
			c.refuse()
			return 0, io.EOF
		}
		if c.next < c.end {
			c.parse()
			continue
		}
		if err := c.fill(); err != nil {
			if c.isDraining() {
				c.linger()
			}
			return 0, err
		}
	}
}

func (c *Conn) parse() {
	c.follow()
	n, f := c.parser.feed(c.in[c.next:c.end], c.authenticated.Load())
	c.next += n
	if f == nil && !c.share.hold(cap(c.parser.out)) {
		f = faultLarge
	}
	c.fault = f
	if f != nil {
		c.l.hooks.protocolError(f.cause)
	}
	if c.parser.done > 0 || !c.parser.partial() {
		c.waited = 0
	}
}

// fill waits for bytes of the client. What it has sent before has been answered, so
// it holds no more of that.
func (c *Conn) fill() error {
	c.share.hold(cap(c.parser.out))
	if c.more { // perhaps without an end
		c.more = false
		c.l.turns.Pass()
	}
	c.follow()
	var start time.Time // of a wait that has an end
	if c.parser.partial() || c.rules.limits.Idle > 0 {
		start = time.Now()
	}
	deadline, cause := c.deadline(start)
	if !c.arm(deadline) {
		return io.EOF
	}
	if c.in == nil {
		c.in = make([]byte, readBytes)
	}
	n, err := c.source.Read(c.in)
	if c.parser.partial() {
		c.waited += time.Since(start)
	}
	c.next, c.end = 0, n
	if n > 0 || err == nil {
		return nil // an error comes again
	}
	return c.readError(err, cause)
}

// readError says what it means that reading failed.
func (c *Conn) readError(err error, cause Cause) error {
	if c.isDraining() {
		return io.EOF
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		c.l.hooks.timeout(cause)
		return os.ErrDeadlineExceeded
	}
	return err
}

// deadline is how long to wait for bytes, and why not longer. The zero time means
// for ever.
func (c *Conn) deadline(now time.Time) (by time.Time, cause Cause) {
	limits := &c.rules.limits
	switch {
	case c.parser.partial():
		by, cause = now.Add(limits.HalfCommand-c.waited), CauseHalfCommand
	case limits.Idle > 0:
		by, cause = now.Add(limits.Idle), CauseIdle
	}
	if c.authenticated.Load() {
		return by, cause
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if by.IsZero() || c.authBy.Before(by) {
		by, cause = c.authBy, CauseAuth
	}
	return by, cause
}

// arm sets the socket's read deadline. It returns false if the connection is
// being drained, so that no wait may begin.
func (c *Conn) arm(deadline time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.draining {
		return false
	}
	if !deadline.Equal(c.armed) {
		c.armed = deadline
		// Failure means that the socket is closed; reading will tell.
		_ = c.raw.SetReadDeadline(deadline)
	}
	return true
}

// handshake does the TLS handshake, within its time.
func (c *Conn) handshake() error {
	deadline := c.born.Add(c.rules.limits.HandshakeTime)
	if !c.arm(deadline) {
		return io.EOF
	}
	_ = c.raw.SetWriteDeadline(deadline) // as in arm
	err := c.stream.(*tls.Conn).Handshake()
	if err == nil {
		c.shaken.Store(true)
		return nil
	}
	if !errors.Is(err, os.ErrDeadlineExceeded) && !c.isDraining() {
		c.l.hooks.handshakeFail(err)
		return fmt.Errorf("TLS handshake: %w", err)
	}
	return c.readError(err, CauseHandshake)
}

// refuse ends a connection whose bytes are no command: it tells the client.
func (c *Conn) refuse() {
	reply := c.fault.reply()
	if reply == "" {
		return
	}
	if _, err := c.Write([]byte(reply)); err != nil {
		return
	}
	c.linger()
}

// linger says goodbye and reads on for a moment, because closing a socket with unread
// bytes resets it, and a reset may overtake the last replies.
func (c *Conn) linger() {
	if t, ok := c.stream.(*tls.Conn); ok && t.CloseWrite() != nil {
		return
	}
	if half, ok := c.raw.(interface{ CloseWrite() error }); !ok || half.CloseWrite() != nil {
		return
	}
	c.mu.Lock()
	c.lingers = true
	_ = c.raw.SetReadDeadline(time.Now().Add(lingerTime)) // as in arm
	c.mu.Unlock()
	if c.in == nil {
		c.in = make([]byte, readBytes)
	}
	for total := 0; total < lingerBytes; {
		n, err := c.raw.Read(c.in)
		if err != nil {
			return
		}
		total += n
	}
}

// Write sends replies. It fails if the client has not taken them within
// WriteStall.
func (c *Conn) Write(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil // redcon flushes also what is empty
	}
	if !c.shaken.Load() {
		return 0, errNoHandshake // it would wait for the client, perhaps in Accept's loop
	}
	n, err := socket.WriteNow(c.stream, b)
	if err == nil && n < len(b) {
		n, err = c.writeRest(b, n)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		c.l.hooks.timeout(CauseWriteStall)
	}
	if n >= turnBytes {
		c.l.turns.Pass()
	}
	return n, err
}

// writeRest writes what follows the first n bytes, which have been taken, and has a
// deadline for it: mostly there is nothing to wait for, and none is needed.
func (c *Conn) writeRest(b []byte, n int) (int, error) {
	if err := c.limitWrite(); err != nil {
		return n, err
	}
	c.replying.Store(true)
	defer c.replying.Store(false)
	more, err := c.stream.Write(b[n:])
	return n + more, err
}

// limitWrite gives what is written from now on its time.
func (c *Conn) limitWrite() error {
	return c.raw.SetWriteDeadline(time.Now().Add(c.l.rules.Load().limits.WriteStall))
}

// HungUp tells, without waiting, whether the client has closed its end or the connection
// is broken: then a reply would reach nobody. It sees TLS's goodbye too. False may mean
// that nothing is known, or not yet, or that the system is not Linux.
func (c *Conn) HungUp() bool { return c.socket != nil && socket.HungUp(c.socket) }

// drain lets Read return io.EOF when it has no whole command left, and wakes it if
// it waits for one.
func (c *Conn) drain() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.draining = true
	if !c.lingers { // which ends soon by itself
		_ = c.raw.SetReadDeadline(time.Unix(1, 0)) // as in arm
	}
}

func (c *Conn) isDraining() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.draining
}

// Close closes the connection; a second time it does nothing.
func (c *Conn) Close() error {
	c.closing.Do(func() {
		if _, isTLS := c.stream.(*tls.Conn); isTLS {
			// crypto/tls would wait up to five seconds for a client that does
			// not read, and redcon closes connections one after the other.
			hurry := time.AfterFunc(partingTime, func() { c.raw.Close() })
			defer hurry.Stop()
		}
		c.closeErr = c.stream.Close()
		c.share.end()
		c.l.remove(c)
	})
	return c.closeErr
}

// LocalAddr is our end's address.
func (c *Conn) LocalAddr() net.Addr { return c.raw.LocalAddr() }

// RemoteAddr is the client's address.
func (c *Conn) RemoteAddr() net.Addr { return c.raw.RemoteAddr() }

// SetDeadline is not supported: the time limits are the Listener's.
func (c *Conn) SetDeadline(time.Time) error { return errors.ErrUnsupported }

// SetReadDeadline is not supported: the time limits are the Listener's.
func (c *Conn) SetReadDeadline(time.Time) error { return errors.ErrUnsupported }

// SetWriteDeadline is not supported: the time limits are the Listener's.
func (c *Conn) SetWriteDeadline(time.Time) error { return errors.ErrUnsupported }
