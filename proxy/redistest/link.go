package redistest

import (
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"time"
)

// maxQueued bounds the chunks that one direction of a connection holds back;
// the sender then waits, as it would for a full TCP window.
const (
	maxQueued = 1024
	maxChunk  = 32 << 10
)

// chunk is what one read brought. Without bytes it is the end of the stream.
type chunk struct {
	bytes []byte
	came  time.Time
	delay time.Duration
}

// link is one connection through a relay. For each direction one goroutine reads
// and another writes, so that what is held back in one place never delays the
// clock of what comes after it.
type link struct {
	relay *Relay
	conns [2]net.Conn   // the client's, the server's: direction d goes from conns[d] to the other
	done  chan struct{} // closed when the link is

	once sync.Once
	// Under relay.mu:
	lossy  bool   // bytes have vanished
	doomed bool   // the next reply closes the link instead of being delivered
	tail   string // the end of the last request, in case a text is split over two reads
	ends   int    // directions that have come to their end
}

// close closes both connections. It may be called with relay.mu held; the link
// is taken off the relay's list when its goroutines notice.
func (l *link) close() {
	l.once.Do(func() {
		close(l.done)
		_, _ = l.conns[0].Close(), l.conns[1].Close()
	})
}

// read takes bytes from one side until the link or that side ends.
func (l *link) read(d Direction, queue chan<- chunk) {
	defer l.forget()
	buf := make([]byte, maxChunk)
	for {
		n, err := l.conns[d].Read(buf)
		came := time.Now()
		if n > 0 {
			delay, deliver, ok := l.judge(d, buf[:n])
			if !ok {
				l.close()
				return
			}
			if deliver && !l.enqueue(queue, chunk{append([]byte(nil), buf[:n]...), came, delay}) {
				return
			}
		}
		if err != nil {
			delay, _, _ := l.judge(d, nil)
			l.enqueue(queue, chunk{nil, came, delay})
			return
		}
	}
}

// judge applies the rule of direction d to bytes that just came: how long they
// are to wait, whether to deliver them at all, and whether the link goes on.
func (l *link) judge(d Direction, b []byte) (delay time.Duration, deliver, ok bool) {
	r := l.relay
	r.mu.Lock()
	defer r.mu.Unlock()
	rule := r.rules[d]
	switch {
	case len(b) == 0:
	case rule.cut:
		return 0, false, false
	case rule.vanish:
		l.lossy = true
		return 0, false, true
	case d == Replies && l.doomed:
		return 0, false, false
	case d == Requests && r.doom != "":
		text := l.tail + string(b)
		l.doomed = l.doomed || strings.Contains(text, r.doom)
		l.tail = text[max(0, len(text)-len(r.doom)+1):]
	}
	return rule.delay + rand.N(rule.jitter+1), true, true
}

func (l *link) enqueue(queue chan<- chunk, c chunk) bool {
	select {
	case queue <- c:
		return true
	case <-l.done:
		return false
	}
}

// write hands chunks on when they are due and not held.
func (l *link) write(d Direction, queue <-chan chunk) {
	defer l.forget()
	to := l.conns[1-d]
	for {
		select {
		case <-l.done:
			return
		case c := <-queue:
			if !l.due(d, c) {
				return
			}
			if c.bytes == nil {
				l.end(to)
				return
			}
			if _, err := to.Write(c.bytes); err != nil {
				l.close()
				return
			}
		}
	}
}

// due waits until c may be handed on; false if the link ended first.
func (l *link) due(d Direction, c chunk) bool {
	if wait := time.Until(c.came.Add(c.delay)); wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-l.done:
			return false
		}
	}
	for {
		l.relay.mu.Lock()
		held, changed := l.relay.rules[d].hold, l.relay.changed
		l.relay.mu.Unlock()
		if !held {
			return true
		}
		select {
		case <-changed:
		case <-l.done:
			return false
		}
	}
}

// end passes the end of one direction on, and closes the link at the second.
func (l *link) end(to net.Conn) {
	l.relay.mu.Lock()
	l.ends++
	last := l.ends == 2
	l.relay.mu.Unlock()
	if last {
		l.close()
		return
	}
	if half, ok := to.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite() // the other side may have gone already
	}
}

// forget takes a closed link off the relay's list.
func (l *link) forget() {
	select {
	case <-l.done:
		l.relay.mu.Lock()
		delete(l.relay.links, l)
		l.relay.mu.Unlock()
	default:
	}
}
