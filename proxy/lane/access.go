package lane

import (
	"context"
	"crypto/tls"
	"net"
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"redlockproxy/proxy/socket"
)

// A Login is what a backend asks of those who connect.
type Login struct {
	User, Password string      // as in AUTH; no password: no AUTH is sent
	TLS            *tls.Config // nil: no TLS. Not to be changed afterwards
}

// An Access is how to get into one backend now. It may be replaced at any time, by any
// goroutine: connections that are made afterwards go by the new one.
type Access struct{ login atomic.Pointer[Login] }

// NewAccess makes an Access of a Login.
func NewAccess(l Login) *Access {
	a := &Access{}
	a.login.Store(&l)
	return a
}

// Replace puts another Login in force, and tells whether user or password differ from
// those before.
func (a *Access) Replace(l Login) (credentials bool) {
	old := a.login.Swap(&l)
	return old.User != l.User || old.Password != l.Password
}

// Options are go-redis's for connections that ask the Access each time they are made.
// network is "tcp" or "unix".
func (a *Access) Options(network, addr string) redis.Options {
	return redis.Options{
		Network: network, Addr: addr,
		CredentialsProvider: func() (user, password string) {
			l := a.login.Load()
			return l.User, l.Password
		},
		Dialer: a.dial,
	}
}

// dial connects within the time of ctx, to which go-redis gives the limit for dialling.
// Sockets without TLS are those that cost less to use; with TLS there is no socket to
// be seen.
func (a *Access) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	if config := a.login.Load().TLS; config != nil {
		return (&tls.Dialer{Config: config}).DialContext(ctx, network, addr)
	}
	c, err := (&net.Dialer{}).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return socket.Direct(c), nil
}

// Relogin makes the lane show the credentials that are in force by now on the
// connection that it has, between two batches. The connection stays, whatever the
// backend says to them, and with it the login that it had: those that owe their
// removals to its order must not be cut off for an administrator's mistake.
func (l *Lane) Relogin() {
	select {
	case l.logins <- struct{}{}:
	default: // one to come is enough
	}
}

// forgetRelogin is for a connection that is yet to be made: it begins with the
// credentials that are in force.
func (l *Lane) forgetRelogin() {
	select {
	case <-l.logins:
	default:
	}
}

// login is one AUTH in place. An error means that the connection is of no use any more.
func (s *session) login(ctx context.Context) error {
	l := s.lane
	provider := l.cfg.Options.CredentialsProvider
	if provider == nil {
		return nil
	}
	user, password := provider()
	if password == "" {
		return nil // nothing can be said that would take a login back
	}
	words := []any{"AUTH", user, password}
	if user == "" {
		words = []any{"AUTH", password}
	}
	ctx, done := s.busy(ctx)
	defer done()
	cmd := s.conn.Do(ctx, words...)
	if err := lost(nil, cmd); err != nil {
		return err
	}
	log := l.cfg.Log.With().Str("backend", l.cfg.Name).Logger()
	if err := cmd.Err(); err != nil {
		log.Error().Err(err).Msg("the backend does not take the new credentials: the connection stays as it was logged in, but the next one will fail")
		return nil
	}
	log.Info().Msg("the backend has taken the new credentials")
	return nil
}
