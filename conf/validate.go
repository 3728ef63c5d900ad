package conf

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
)

// validate checks what no row of the table can see for itself: how settings go
// together.
func (l *loader) validate(cmd Command) []error {
	errs := l.checkOrder()
	if err := l.checkProtected(); err != nil {
		errs = append(errs, err)
	}
	if s := &l.cfg.Server; s.Listen == s.Admin && !strings.HasSuffix(s.Listen, ":0") {
		errs = append(errs, l.problem("clients and HTTP need an address each; change one", "server.listen", "server.admin"))
	}
	errs = append(errs, l.checkBackends(cmd)...)
	return append(errs, l.checkTLS()...)
}

// checkOrder holds pairs of settings of which one bounds the other.
func (l *loader) checkOrder() (errs []error) {
	c := &l.cfg
	for _, pair := range []struct {
		small, large string
		ok           bool
		why          string
	}{
		{
			"lane.vote", "server.answer_within", c.Lane.Vote <= c.Server.AnswerWithin,
			"a round cannot wait for a vote longer than the client waits for the answer",
		},
		{
			"lane.vote", "lane.stall", c.Lane.Vote <= c.Lane.Stall,
			"a connection must not be given up while a round still waits for it",
		},
		{
			"lock.retry_delay", "server.answer_within", c.Lock.RetryDelay <= c.Server.AnswerWithin,
			"no second round would ever begin",
		},
		{
			"lane.backoff_min", "lane.backoff_max", c.Lane.BackoffMin <= c.Lane.BackoffMax,
			"pauses grow from the one to the other",
		},
		{
			"lane.batch_requests", "lane.queue", c.Lane.BatchRequests <= c.Lane.Queue,
			"a batch is taken from the queue",
		},
		{
			"script.max_time", "server.answer_within", c.Script.MaxTime <= c.Server.AnswerWithin,
			"a script has to end before its answer is due",
		},
		{
			"script.max_source", "server.max_command_bytes", c.Script.MaxSource < c.Server.MaxCommandBytes,
			"a script arrives in a command, with its arguments",
		},
		{
			"server.max_command_bytes", "server.max_large_bytes", c.Server.MaxCommandBytes <= c.Server.MaxLargeBytes,
			"the largest command could never be sent",
		},
		{
			"server.max_inline_bytes", "server.max_command_bytes", c.Server.MaxInlineBytes <= c.Server.MaxCommandBytes,
			"a line is a command",
		},
	} {
		if !pair.ok {
			errs = append(errs, l.problem("the first must be the smaller one: "+pair.why, pair.small, pair.large))
		}
	}
	return errs
}

// checkProtected refuses a server that strangers can use without anybody having
// said so.
func (l *loader) checkProtected() error {
	s := &l.cfg.Server
	if !s.Protected || s.Password.IsSet() || s.TLSClientCA != "" {
		return nil
	}
	network, address := SplitAddress(s.Listen)
	if network == "unix" {
		return nil // the rights of the file decide
	}
	if host, _, err := net.SplitHostPort(address); err == nil && isLoopback(normalHost(host)) {
		return nil
	}
	return l.problem("other machines can reach this address, and nothing is asked of them: set server.password_file, "+
		"server.password or server.tls_client_ca, or listen on 127.0.0.1; server.protected = false "+
		"overrides this and leaves every lock to whoever can connect", "server.listen")
}

// checkBackends looks at the group as a whole; parseBackends has counted it.
func (l *loader) checkBackends(cmd Command) (errs []error) {
	g := &l.cfg.Group
	if len(g.Backends) == 0 && (cmd.Action == Init || cmd.Action == Inspect || cmd.Action == Check && !cmd.Ping) {
		errs = append(errs, l.problem(fmt.Sprintf("`%s` needs to know the backends: set -backends, %sGROUP_BACKENDS "+
			"or group.backends in the file", cmd.Action, envPrefix), "group.backends"))
	}
	if g.BackendUser.IsSet() && !g.BackendPassword.IsSet() {
		errs = append(errs, l.problem("a user needs a password: set group.backend_password or group.backend_password_file",
			"group.backend_user"))
	}
	for i, b := range g.Backends {
		if b.User.IsSet() && !b.Password.IsSet() {
			errs = append(errs, l.problem(fmt.Sprintf("entry %d has a user but no password: write redis://user:password@host:port", i+1),
				"group.backends"))
		}
	}
	return errs
}

// checkTLS looks at how the settings of certificates go together.
func (l *loader) checkTLS() (errs []error) {
	c := &l.cfg
	if (c.Server.TLSCert == "") != (c.Server.TLSKey == "") {
		errs = append(errs, l.problem("set both or none", "server.tls_cert", "server.tls_key"))
	}
	if c.Server.TLSClientCA != "" && c.Server.TLSCert == "" {
		errs = append(errs, l.problem("clients show certificates only in TLS: set server.tls_cert and server.tls_key", "server.tls_client_ca"))
	}
	if (c.Group.TLSCert == "") != (c.Group.TLSKey == "") {
		errs = append(errs, l.problem("set both or none", "group.tls_cert", "group.tls_key"))
	}
	anyTLS := false
	for _, b := range c.Group.Backends {
		anyTLS = anyTLS || b.TLS
	}
	if !anyTLS && len(c.Group.Backends) > 0 && (c.Group.TLSCA != "" || c.Group.TLSCert != "") {
		errs = append(errs, l.problem("no backend is reached by TLS: write its address as rediss://host:port, or remove the certificates",
			"group.backends"))
	}
	return errs
}

// readCertificates reads the certificates once, so that a wrong path shows at the
// start and in `check`, not at the first handshake.
func (c *Config) readCertificates(readFile func(string) ([]byte, error)) error {
	_, err := c.Server.TLS(readFile)
	errs := []error{err}
	for i := range c.Group.Backends {
		_, err := c.Group.TLS(i, readFile)
		errs = append(errs, err)
	}
	// The backends that share a file share its mistakes.
	var once []error
	for _, err := range errs {
		if err != nil && !slices.ContainsFunc(once, func(e error) bool { return e.Error() == err.Error() }) {
			once = append(once, err)
		}
	}
	return errors.Join(once...)
}
