package guard

import (
	"crypto/tls"
	"errors"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"redlockproxy/proxy/turnstile"
)

// Between two tries to accept after the system could not: too many open files
// does not pass by itself, and trying at once would burn a core.
const (
	firstBackoff = 5 * time.Millisecond
	lastBackoff  = time.Second
)

// A Listener accepts clients for redcon. Its connections are *Conn.
//
// It is in use until Close, or until Drain has run its course.
type Listener struct {
	ln    net.Listener
	rules atomic.Pointer[rules] // in force now
	hooks Hooks
	large large
	turns *turnstile.Turnstile // for clients that send or are sent much

	closed  chan struct{} // Close was called
	drained chan struct{} // Drain was called and no client is left

	mu       sync.Mutex
	clients  map[*Conn]struct{} // at most MaxClients
	draining bool
	ended    bool // closed is closed
}

var _ net.Listener = (*Listener)(nil)

// Listen puts a guard in front of ln, a TCP or Unix listener. It owns ln from
// then on.
func Listen(ln net.Listener, limits Limits, hooks Hooks) *Listener {
	return ListenTLS(ln, nil, limits, hooks)
}

// ListenTLS is Listen for clients that speak TLS: config is the server's, as
// crypto/tls wants it. The handshake is a connection's own affair, in its first
// Read. With a nil config there is no TLS.
func ListenTLS(ln net.Listener, config *tls.Config, limits Limits, hooks Hooks) *Listener {
	l := &Listener{
		ln:      ln,
		hooks:   hooks,
		turns:   turnstile.New(runtime.GOMAXPROCS(0)),
		closed:  make(chan struct{}),
		drained: make(chan struct{}),
		clients: make(map[*Conn]struct{}),
	}
	l.Change(config, limits)
	return l
}

// Accept waits for a client and returns its *Conn. The only error it returns is
// net.ErrClosed: redcon would call again at once after any other, so those are
// waited out here.
//
// After Drain it returns only when the last client is gone or Close is called,
// because redcon closes all its connections as soon as Accept has failed.
func (l *Listener) Accept() (net.Conn, error) {
	backoff := firstBackoff
	for {
		raw, err := l.ln.Accept()
		if err == nil {
			backoff = firstBackoff
			if c := l.admit(raw); c != nil {
				return c, nil
			}
			continue
		}
		if l.isDraining() {
			select {
			case <-l.closed:
			case <-l.drained:
			}
			return nil, net.ErrClosed
		}
		if errors.Is(err, net.ErrClosed) {
			return nil, net.ErrClosed
		}
		l.hooks.acceptError(err)
		if !l.pause(backoff) {
			return nil, net.ErrClosed
		}
		backoff = min(2*backoff, lastBackoff)
	}
}

// pause waits, and returns false if Close was called meanwhile.
func (l *Listener) pause(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-l.closed:
		return false
	}
}

// admit makes raw a client, or tells it why not and closes it.
func (l *Listener) admit(raw net.Conn) *Conn {
	c := newConn(l, raw)
	l.mu.Lock()
	refused := l.draining || l.ended
	full := !refused && len(l.clients) >= c.rules.limits.MaxClients
	if !refused && !full {
		l.clients[c] = struct{}{}
	}
	l.mu.Unlock()

	switch {
	case full:
		l.hooks.refused()
		if c.rules.config == nil {
			// The buffer of a new socket has room for this. Before a TLS
			// handshake nothing can be said.
			raw.SetWriteDeadline(time.Now().Add(firstBackoff))
			raw.Write([]byte("-ERR max number of clients reached\r\n"))
		}
		fallthrough
	case refused:
		raw.Close()
		return nil
	}
	if tcp, ok := raw.(*net.TCPConn); ok {
		idle := max(c.rules.limits.KeepAlive, time.Second)
		// Failure means that the client is gone; the first Read will tell.
		_ = tcp.SetKeepAliveConfig(net.KeepAliveConfig{
			Enable: true, Idle: idle, Interval: max(idle/3, time.Second), Count: 3,
		})
	}
	l.hooks.accepted()
	return c
}

// remove forgets a client that has been closed.
func (l *Listener) remove(c *Conn) {
	l.mu.Lock()
	delete(l.clients, c)
	l.noteDrained()
	l.mu.Unlock()
	l.hooks.closed()
}

// noteDrained must be called with mu held.
func (l *Listener) noteDrained() {
	if !l.draining || len(l.clients) > 0 {
		return
	}
	select {
	case <-l.drained:
	default:
		close(l.drained)
	}
}

// Clients is the number of clients connected now.
func (l *Listener) Clients() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.clients)
}

// Drain lets the clients go in order: no new ones are accepted, and each
// connection ends as soon as the whole commands that have been read from it are
// answered; an idle one at once. The channel is closed when none is left. A
// handler may take long, so give up on the channel after a while and Close.
func (l *Listener) Drain() <-chan struct{} {
	l.mu.Lock()
	first := !l.draining
	l.draining = true
	l.noteDrained()
	clients := make([]*Conn, 0, len(l.clients))
	for c := range l.clients {
		clients = append(clients, c)
	}
	l.mu.Unlock()
	if first {
		l.ln.Close()
		for _, c := range clients {
			c.drain()
		}
	}
	return l.drained
}

func (l *Listener) isDraining() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.draining
}

// Close stops accepting and makes Accept return. It leaves the clients alone, but
// redcon closes all of them as soon as Accept has returned; for an orderly end
// call Drain first.
func (l *Listener) Close() error {
	l.mu.Lock()
	if !l.ended {
		l.ended = true
		close(l.closed)
	}
	drained := l.draining
	l.mu.Unlock()
	err := l.ln.Close()
	if drained {
		return nil // Drain closed it
	}
	return err
}

// Addr is the address of the listener underneath.
func (l *Listener) Addr() net.Addr { return l.ln.Addr() }
