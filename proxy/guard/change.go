package guard

import "crypto/tls"

// rules are what may be changed while the Listener is in use.
type rules struct {
	config *tls.Config // nil: no TLS
	limits Limits      // normal
}

// Change puts another TLS configuration and other limits in force, and closes no
// connection. Clients that come from now on are under all of it. Those that are
// connected keep their TLS and their login, and are under the new limits from the next
// command that they begin; a time that runs already runs out as it was.
func (l *Listener) Change(config *tls.Config, limits Limits) {
	limits = limits.normal()
	l.rules.Store(&rules{config: config, limits: limits})
	l.large.most.Store(int64(limits.Large))
}

// follow takes over rules that have changed. A command that has begun ends under those
// with which it began.
func (c *Conn) follow() {
	if now := c.l.rules.Load(); now != c.rules && !c.parser.partial() {
		c.rules, c.parser.limits = now, now.limits
	}
}
