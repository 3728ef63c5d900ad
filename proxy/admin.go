package proxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"redlockproxy/conf"
	"redlockproxy/proxy/lane"
	"redlockproxy/proxy/look"
	"redlockproxy/proxy/status"
)

// adminConns is how many connections the admin address has at once: a few scrapers,
// health checks and browsers. One more waits until there is room.
const adminConns = 64

// admin is what is served by HTTP for whoever watches over the proxy.
type admin struct {
	http *http.Server
	addr net.Addr
	done chan struct{}
}

// serveAdmin begins to serve the admin address; nil if there is none.
func (s *Server) serveAdmin() (*admin, error) {
	if s.cfg().Server.Admin == "" {
		return nil, nil
	}
	network, address := conf.SplitAddress(s.cfg().Server.Admin)
	ln, err := net.Listen(network, address)
	if err != nil {
		return nil, fmt.Errorf("can't listen on %s (server.admin; \"\" turns it off): %w", s.cfg().Server.Admin, err)
	}
	a := &admin{
		http: &http.Server{
			Handler: s.Admin(),
			// Whoever is slower than this is no health check.
			ReadHeaderTimeout: 2 * time.Second, ReadTimeout: 2 * time.Second,
			WriteTimeout: 5 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 8 << 10,
		},
		addr: ln.Addr(),
		done: make(chan struct{}),
	}
	go func() {
		defer close(a.done)
		if err := a.http.Serve(limited(ln, adminConns)); !errors.Is(err, http.ErrServerClosed) {
			s.log.Error().Err(err).Msg("the admin address is served no more")
		}
	}()
	s.log.Info().Str("addr", ln.Addr().String()).Msg("admin address")
	return a, nil
}

// close ends the admin server and waits for it.
func (a *admin) close() {
	if a == nil {
		return
	}
	_ = a.http.Close() // it ends either way
	<-a.done
}

// Admin is what the admin address serves.
func (s *Server) Admin() http.Handler {
	return status.Handler(status.Options{
		Metrics: s.metrics.Handler(),
		Facts:   s.facts,
		Voters:  func() (int, int) { return s.voters(), len(s.lanes) },
		Locks:   func(ctx context.Context, part string) (look.Locks, error) { return s.look.Locks(ctx, part) },
		Pprof:   s.cfg().Server.AdminPprof,
	})
}

// voters is how many backends can vote at the moment.
func (s *Server) voters() int {
	n := 0
	for _, l := range s.lanes {
		if l.State() == lane.Voter {
			n++
		}
	}
	return n
}

// limited is ln with no more than n connections at once.
func limited(ln net.Listener, n int) net.Listener {
	return &limitedListener{Listener: ln, room: make(chan struct{}, n), closed: make(chan struct{})}
}

type limitedListener struct {
	net.Listener
	room   chan struct{} // a place is taken by each connection
	once   sync.Once
	closed chan struct{}
}

// Accept implements net.Listener. Connections that find no room wait in the kernel.
func (l *limitedListener) Accept() (net.Conn, error) {
	select {
	case l.room <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	conn, err := l.Listener.Accept()
	if err != nil {
		<-l.room
		return nil, err
	}
	return &limitedConn{Conn: conn, leave: sync.OnceFunc(func() { <-l.room })}, nil
}

// Close implements net.Listener.
func (l *limitedListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

type limitedConn struct {
	net.Conn
	leave func()
}

// Close implements net.Conn.
func (c *limitedConn) Close() error {
	err := c.Conn.Close()
	c.leave()
	return err
}
