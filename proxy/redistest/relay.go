package redistest

import (
	"errors"
	"net"
	"sync"
	"testing"
	"time"
)

// Direction is one of the two ways through a Relay.
type Direction int

// The directions.
const (
	Requests Direction = iota // from the client to the server
	Replies                   // from the server to the client
)

// rule is what happens to the bytes of one direction.
type rule struct {
	hold   bool          // keep them until the rule is gone
	delay  time.Duration // hand each chunk on this long after it came
	jitter time.Duration // and up to this much longer, each chunk by chance
	vanish bool          // throw them away
	cut    bool          // throw them away and close the connection
}

// Relay is a TCP relay in front of a server. It listens on its own port of
// 127.0.0.1 and passes everything on until told otherwise. Each of its setters
// replaces what was set for the directions it is given, both if none, and holds
// for the connections there are and those to come.
type Relay struct {
	tb     testing.TB
	target string
	addr   string
	all    sync.WaitGroup // every goroutine of the relay

	mu       sync.Mutex
	listener net.Listener // nil while the port is closed
	rules    [2]rule
	doom     string        // requests that contain it lose their reply, "" for none
	reject   bool          // close what is accepted
	changed  chan struct{} // closed and replaced whenever a setter was called
	links    map[*link]bool
	accepted int
	closed   bool
}

// NewRelay starts a relay in front of target, a host:port. It is closed when the
// test ends.
func NewRelay(tb testing.TB, target string) *Relay {
	tb.Helper()
	l, err := listenBelowDynamic()
	if err != nil {
		tb.Fatal(err)
	}
	r := &Relay{
		tb: tb, target: target, addr: l.Addr().String(),
		changed: make(chan struct{}), links: make(map[*link]bool),
	}
	r.serve(l)
	tb.Cleanup(r.Close)
	return r
}

// NewRelays starts a relay in front of each target.
func NewRelays(tb testing.TB, targets []string) (relays []*Relay, addrs []string) {
	tb.Helper()
	for _, target := range targets {
		r := NewRelay(tb, target)
		relays, addrs = append(relays, r), append(addrs, r.Addr())
	}
	return relays, addrs
}

// Addr is the host:port at which the relay stands for its server.
func (r *Relay) Addr() string { return r.addr }

// Accepted is the number of connections accepted so far, rejected ones included.
func (r *Relay) Accepted() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.accepted
}

// Pass takes back all that was set: bytes pass in both directions, those held
// are delivered, and the port is open. A connection that lost bytes is closed:
// what follows would make no sense to either side.
func (r *Relay) Pass() {
	r.tb.Helper()
	r.set(func() {
		r.rules = [2]rule{}
		r.doom, r.reject = "", false
		for l := range r.links {
			if l.lossy {
				l.close()
			}
		}
	})
	r.reopen()
}

// Hold keeps what comes until Pass or another setter for that direction; then it
// is delivered, late. TCP over a link that is cut for a while looks like this.
func (r *Relay) Hold(dirs ...Direction) { r.setRule(rule{hold: true}, dirs) }

// Delay hands each chunk on d after it came: latency, not a lower throughput.
func (r *Relay) Delay(d time.Duration, dirs ...Direction) { r.setRule(rule{delay: d}, dirs) }

// Jitter hands each chunk on between d and d+more after it came, by chance, in order.
func (r *Relay) Jitter(d, more time.Duration, dirs ...Direction) {
	r.setRule(rule{delay: d, jitter: more}, dirs)
}

// BlackHole lets bytes vanish. Connections stay open and are accepted.
func (r *Relay) BlackHole(dirs ...Direction) { r.setRule(rule{vanish: true}, dirs) }

// Cut drops the next bytes that come and closes their connection.
func (r *Relay) Cut(dirs ...Direction) { r.setRule(rule{cut: true}, dirs) }

// ForwardThenClose forwards requests but closes the connection instead of
// delivering the reply, once a request contained the text given: the server has
// done what it was asked, and the client can't know.
func (r *Relay) ForwardThenClose(containing string) {
	r.set(func() { r.doom = containing })
}

// Disconnect closes all connections there are. New ones are served.
func (r *Relay) Disconnect() {
	r.set(func() {
		for l := range r.links {
			l.close()
		}
	})
}

// Reset ends all connections there are with a TCP reset, on both sides: what the
// receivers have not read yet is lost, too. New ones are served.
func (r *Relay) Reset() {
	r.set(func() {
		for l := range r.links {
			for _, c := range l.conns {
				if tcp, ok := c.(*net.TCPConn); ok {
					_ = tcp.SetLinger(0) // fails if it is closed already
				}
			}
			l.close()
		}
	})
}

// Retarget lets new connections go to another server, and closes those there are: an
// address that moves to another machine.
func (r *Relay) Retarget(target string) {
	r.set(func() {
		r.target = target
		for l := range r.links {
			l.close()
		}
	})
}

// Refuse closes the port and all connections, until Pass.
func (r *Relay) Refuse() {
	r.set(func() {
		if r.listener != nil {
			_ = r.listener.Close()
			r.listener = nil
		}
		for l := range r.links {
			l.close()
		}
	})
}

// Reject closes all connections, and those to come as soon as they are accepted,
// until Pass. Unlike Refuse it counts the attempts.
func (r *Relay) Reject() {
	r.set(func() {
		r.reject = true
		for l := range r.links {
			l.close()
		}
	})
}

// Close ends the relay and waits for all its goroutines.
func (r *Relay) Close() {
	r.set(func() { r.closed = true })
	r.Refuse()
	r.all.Wait()
}

func (r *Relay) setRule(to rule, dirs []Direction) {
	if len(dirs) == 0 {
		dirs = []Direction{Requests, Replies}
	}
	r.set(func() {
		for _, d := range dirs {
			r.rules[d] = to
		}
	})
}

// set changes the relay's state and wakes all that wait for a change.
func (r *Relay) set(change func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change()
	close(r.changed)
	r.changed = make(chan struct{})
}

// reopen listens again on the relay's port after Refuse.
func (r *Relay) reopen() {
	r.tb.Helper()
	r.mu.Lock()
	open := r.listener != nil || r.closed
	r.mu.Unlock()
	if open {
		return
	}
	l, err := net.Listen("tcp", r.addr)
	if err != nil {
		r.tb.Fatalf("relay can't have its port back: %v", err)
	}
	r.serve(l)
}

// serve accepts connections from l until it is closed.
func (r *Relay) serve(l net.Listener) {
	r.mu.Lock()
	r.listener = l
	r.mu.Unlock()
	r.all.Go(func() {
		for {
			conn, err := l.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err == nil {
				r.all.Go(func() { r.connect(conn) })
			}
		}
	})
}

// connect joins an accepted connection to the server. If the server can't be
// reached, the client's connection is closed.
func (r *Relay) connect(client net.Conn) {
	r.mu.Lock()
	r.accepted++
	unwanted := r.closed || r.reject
	target := r.target
	r.mu.Unlock()
	if unwanted {
		_ = client.Close()
		return
	}
	server, err := net.DialTimeout("tcp", target, 2*time.Second)
	if err != nil {
		_ = client.Close()
		return
	}
	l := &link{relay: r, conns: [2]net.Conn{client, server}, done: make(chan struct{})}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || r.reject || r.listener == nil {
		_, _ = client.Close(), server.Close()
		return
	}
	r.links[l] = true
	for _, d := range []Direction{Requests, Replies} {
		queue := make(chan chunk, maxQueued)
		r.all.Go(func() { l.read(d, queue) })
		r.all.Go(func() { l.write(d, queue) })
	}
}
