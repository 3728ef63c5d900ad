// Package embedded runs Redis stand-ins inside the process, for a first try and for
// tests: they keep nothing when the process ends, and being in one process they fail
// together, which is just what a group of backends is meant not to do.
package embedded

import (
	"context"
	"net"
	"sync"

	"github.com/alicebob/miniredis/v2"
)

// Backend is one stand-in.
type Backend struct{ server *miniredis.Miniredis }

// Start starts n stand-ins, empty, whose keys expire by the clock.
func Start(n int) []*Backend {
	all := make([]*Backend, n)
	for i := range all {
		server := miniredis.NewMiniRedis()
		server.ClockTTL(true)
		all[i] = &Backend{server}
	}
	return all
}

// Dial connects to the stand-in without a socket; network and address mean nothing
// to it. It has the form of a dialer of go-redis.
func (b *Backend) Dial(context.Context, string, string) (net.Conn, error) {
	conn, err := b.server.Dial()
	if err != nil {
		return nil, err
	}
	return newBuffered(conn), nil
}

// Close ends the stand-in; what it held is gone.
func (b *Backend) Close() { b.server.Close() }

// buffered makes writes to a net.Pipe return at once. A pipe has no buffer, and a
// server that answers the first command of a pipeline before it has read the last
// would wait for us while we wait for it. What is buffered is one pipeline at most:
// a lane reads all answers before it writes again.
type buffered struct {
	net.Conn
	pending chan struct{}
	done    chan struct{}

	mu     sync.Mutex
	data   []byte
	closed bool
}

func newBuffered(conn net.Conn) *buffered {
	b := &buffered{Conn: conn, pending: make(chan struct{}, 1), done: make(chan struct{})}
	go b.copy()
	return b
}

// copy writes what is pending until the connection is closed.
func (b *buffered) copy() {
	defer close(b.done)
	for range b.pending {
		b.mu.Lock()
		data := b.data
		b.data = nil
		b.mu.Unlock()
		if _, err := b.Conn.Write(data); err != nil {
			return // whoever reads the answers finds out
		}
	}
}

func (b *buffered) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return 0, net.ErrClosed
	}
	b.data = append(b.data, p...)
	select {
	case b.pending <- struct{}{}:
	default: // what is pending already is taken together with this
	}
	return len(p), nil
}

// Close implements net.Conn, and waits for the goroutine that writes.
func (b *buffered) Close() error {
	b.mu.Lock()
	if !b.closed {
		b.closed = true
		close(b.pending)
	}
	b.mu.Unlock()
	err := b.Conn.Close()
	<-b.done
	return err
}
