package proxy

import (
	"crypto/tls"
	"errors"
	"os"
	"time"

	"github.com/rs/zerolog"

	"redlockproxy/conf"
	"redlockproxy/proxy/guard"
)

// Reload is how Run is told to take over another configuration. The zero value never
// tells it.
type Reload struct {
	Asked <-chan os.Signal            // each value asks once
	Load  func() (conf.Config, error) // makes a checked configuration, as at the start
}

// reload loads a configuration and takes it over, or says in the log why not.
func (s *Server) reload(load func() (conf.Config, error), readFile func(string) ([]byte, error)) {
	before := logLevel(s.cfg().Log)
	cfg, err := load()
	var changed []string
	if err == nil {
		changed, err = s.Reload(cfg, readFile)
	}
	s.stats.reloadRefused.Store(err != nil)
	if err != nil {
		s.log.Error().Err(err).Msg("the configuration was not reloaded: the one in force stays, all of it")
		return
	}
	after := logLevel(cfg.Log)
	zerolog.SetGlobalLevel(min(before, after)) // the line belongs to both
	s.log.Info().Strs("changed", changed).Msg("the configuration was reloaded")
	zerolog.SetGlobalLevel(after)
}

// Reload puts another configuration in force, without closing a connection of a client
// or to a backend, and returns the settings that have changed. Files that it names are
// read anew, so renewed certificates are taken over even if no setting has changed. If
// something is wrong, or something has changed that can't, nothing changes at all; the
// error says what. It is called by one goroutine, after New.
//
// Clients that are logged in stay so; those that come later need the new password, and
// meet the new certificate. A lane shows new credentials on the connection that it has,
// and goes by new certificates when it connects next.
func (s *Server) Reload(cfg conf.Config, readFile func(string) ([]byte, error)) (changed []string, err error) {
	changed, err = s.cfg().Change(cfg)
	// All that can fail comes first.
	config, tlsErr := cfg.Server.TLS(readFile)
	logins, loginErr := logins(cfg.Group, readFile)
	if err := errors.Join(err, tlsErr, loginErr); err != nil {
		return nil, err
	}
	s.settings.Store(&cfg)
	s.noteFiles()
	s.scripts.change(cfg.Script.Cache, scriptLimits(cfg))
	if s.listener != nil {
		s.noteCertificate(config)
		s.listener.Change(config, limits(cfg.Server))
	}
	for i, login := range logins {
		if s.access[i].Replace(login) {
			s.lanes[i].Relogin()
		}
	}
	return changed, nil
}

// noteCertificate says until when the certificate is good that clients are shown, so
// that somebody who has renewed it sees whether the proxy has it.
func (s *Server) noteCertificate(config *tls.Config) {
	if config == nil {
		return
	}
	leaf := config.Certificates[0].Leaf
	if leaf == nil {
		return // GODEBUG=x509keypairleaf=0
	}
	line := s.log.Info()
	text := "certificate for clients"
	if time.Now().After(leaf.NotAfter) {
		line = s.log.Warn()
		text = "the certificate for clients is over: they will refuse it; renew it and send SIGHUP"
	}
	line.Time("good_until", leaf.NotAfter).Msg(text)
}

// limits are what each client is bound to.
func limits(c conf.Server) guard.Limits {
	return guard.Limits{
		MaxClients:   c.MaxClients,
		AuthRequired: c.Password.IsSet(),
		After:        guard.Size{Args: c.MaxArgs, Bulk: c.MaxCommandBytes, Command: c.MaxCommandBytes},
		Large:        c.MaxLargeBytes,
		Line:         c.MaxInlineBytes,
		HalfCommand:  c.HalfCommand, HandshakeTime: c.Handshake, WriteStall: c.WriteStall, Idle: c.Idle,
	}
}
