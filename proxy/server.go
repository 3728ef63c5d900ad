package proxy

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/rs/zerolog"
	"github.com/tidwall/redcon"

	"redlockproxy/conf"
	"redlockproxy/proxy/embedded"
	"redlockproxy/proxy/engine"
	"redlockproxy/proxy/guard"
	"redlockproxy/proxy/lane"
	"redlockproxy/proxy/look"
	"redlockproxy/proxy/metrics"
	"redlockproxy/proxy/replication"
	"redlockproxy/proxy/status"
	"redlockproxy/quorum"
	"redlockproxy/quorum/admission"
)

// A Server is one proxy: a listener for clients, and a group of backends. Listen
// starts it and Shutdown ends it.
type Server struct {
	settings atomic.Pointer[conf.Config] // in force now: see cfg and Reload
	log      zerolog.Logger
	version  string
	topology string
	runID    string
	started  time.Time

	lanes   []*lane.Lane
	access  []*lane.Access      // to each of the backends; none for the stand-ins
	own     []*embedded.Backend // the stand-ins, when there are no other backends
	group   *quorum.Group
	keeper  *admission.Keeper // nil where backends need no admission
	twins   twins
	engine  engine.Engine
	scripts *scripts
	clients clients
	stats   stats
	metrics *metrics.Metrics
	health  *status.Health
	look    *look.Looker
	lag     *replication.Watch // topology single
	opened  chan struct{}      // closed when lanes is complete
	watches sync.WaitGroup

	droppedLines func() int64 // by the log's writer, which does not wait for a slow reader

	listener *guard.Listener
	ctx      context.Context // ends when the last client has gone
	stop     context.CancelFunc
	served   chan error
}

// stats are the few numbers that the server itself counts.
type stats struct {
	connections, commands, rejected atomic.Int64

	limits        map[string]*atomic.Int64 // what clients have hit
	promotions    atomic.Int64             // of the one backend, when the last acquisition was logged
	reloadRefused atomic.Bool              // the last one
}

// New makes a server and begins to connect to its backends. The backends' TLS
// settings are read here.
func New(cfg conf.Config, version string, log zerolog.Logger, readFile func(string) ([]byte, error)) (*Server, error) {
	ctx, stop := context.WithCancel(context.Background())
	s := &Server{
		log: log, version: version, topology: redlock, runID: newRunID(),
		started: time.Now(),
		engine:  engine.Engine{MaxTTL: cfg.Group.MaxTTL},
		scripts: newScripts(scriptCache(cfg), cfg.Script.Cache),
		ctx:     ctx, stop: stop,
		served:       make(chan error, 1),
		opened:       make(chan struct{}),
		health:       status.NewHealth(healthSlots, metrics.SlotTime),
		droppedLines: func() int64 { return 0 },
	}
	s.settings.Store(&cfg)
	s.stats.limits = newLimits()
	configs, err := s.laneConfigs(readFile)
	if err != nil {
		stop()
		return nil, err
	}
	if len(configs) == 1 {
		s.topology = single
	}
	s.metrics = metrics.New(metrics.Options{Topology: s.topology, Backends: names(configs), Version: version, Source: observed{s}})
	s.look = s.looker(configs)
	if s.single() {
		s.lag = replication.Open(configs[0].Options)
	}
	backends := make([]quorum.Backend, len(configs))
	for i, lc := range configs {
		l := lane.Open(lc)
		s.lanes = append(s.lanes, l)
		backends[i] = l
	}
	close(s.opened)
	s.group, err = quorum.NewGroup(backends, quorum.Config{
		VoteLimit: cfg.Lane.Vote, AnswerWithin: cfg.Server.AnswerWithin,
		Attempts: cfg.Lock.Attempts, RetryDelay: cfg.Lock.RetryDelay, RetryJitter: cfg.Lock.RetryJitter,
		PadTTL: cfg.Group.PadTTL, MaxTTL: cfg.Group.MaxTTL, Random: rand.Reader,
	})
	if err != nil {
		s.closeLanes()
		return nil, err
	}
	s.watches.Go(func() { s.watch(ctx) })
	s.keep(ctx)
	return s, nil
}

// cfg is the configuration in force. What a Reload may change is to be asked for each
// time it is needed.
func (s *Server) cfg() *conf.Config { return s.settings.Load() }

// newRunID is 40 characters, like those of a Redis process.
func newRunID() string {
	var b [20]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// Listen begins to serve clients and returns the address, which is of interest when
// the configured port is 0.
func (s *Server) Listen(readFile func(string) ([]byte, error)) (net.Addr, error) {
	network, address := conf.SplitAddress(s.cfg().Server.Listen)
	config, err := s.cfg().Server.TLS(readFile)
	if err != nil {
		return nil, err
	}
	ln, err := net.Listen(network, address)
	if err != nil {
		return nil, fmt.Errorf("can't listen on %s (server.listen): %w", s.cfg().Server.Listen, err)
	}
	s.noteCertificate(config)
	s.serve(ln, config)
	return ln.Addr(), nil
}

func (s *Server) serve(ln net.Listener, config *tls.Config) {
	s.listener = guard.ListenTLS(ln, config, limits(s.cfg().Server), guard.Hooks{
		Accepted: func() { s.stats.connections.Add(1) },
		Refused:  func() { s.stats.rejected.Add(1); s.hit(limitClients) },
		Timeout:  func(cause guard.Cause) { s.hit(string(cause)) },
		ProtocolError: func(cause guard.Cause) {
			s.hit(string(cause))
			s.log.Debug().Str("cause", string(cause)).Msg("a client broke the protocol and was cut off")
		},
		HandshakeFail: s.noteHandshake,
		AcceptError:   func(err error) { s.log.Error().Err(err).Msg("clients can't be accepted") },
	})
	server := redcon.NewServer("", s.handle, s.accept, s.closed)
	go func() {
		s.served <- server.Serve(s.listener)
		close(s.served)
	}()
}

// noteHandshake counts a TLS handshake that failed, unless somebody only looked whether
// the port is open, as load balancers do every few seconds.
func (s *Server) noteHandshake(err error) {
	if errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) {
		return
	}
	s.hit(string(guard.CauseTLS))
	s.log.Debug().Err(err).Msg("a client's TLS handshake failed")
}

// accept makes the session of a new client.
func (s *Server) accept(conn redcon.Conn) bool {
	gc, ok := conn.NetConn().(*guard.Conn)
	if !ok {
		return false
	}
	c := &session{s: s, conn: gc, addr: conn.RemoteAddr(), since: time.Now(), proto: 2, authed: gc.Authenticated()}
	c.active = c.since
	c.noteState()
	s.clients.add(c)
	conn.SetContext(c)
	return true
}

func (s *Server) closed(conn redcon.Conn, _ error) {
	if c, ok := conn.Context().(*session); ok {
		s.clients.remove(c)
	}
}

// handle takes a command, and all that came with it, to the client's session.
// Replies are written there: redcon's writer knows only RESP2, and only flushes at
// the end of what came together.
func (s *Server) handle(conn redcon.Conn, first redcon.Command) {
	c := conn.Context().(*session)
	rest := conn.ReadPipeline()
	batch := make([][]string, 0, 1+len(rest))
	batch = append(batch, words(first))
	for _, cmd := range rest {
		batch = append(batch, words(cmd))
	}
	if !c.serve(s.ctx, batch) {
		_ = conn.Close() // the client is gone, or said QUIT
	}
}

func words(cmd redcon.Command) []string {
	// One string for all words: they live and die together. Who keeps one longer makes a
	// copy of it.
	n := 0
	for _, a := range cmd.Args {
		n += len(a)
	}
	var b strings.Builder
	b.Grow(n)
	for _, a := range cmd.Args {
		b.Write(a)
	}
	all := b.String()
	list := make([]string, len(cmd.Args))
	for i, a := range cmd.Args {
		list[i], all = all[:len(a)], all[len(a):]
	}
	return list
}

// Shutdown lets every command that has begun end, sees that what is to be undone is
// undone, and closes everything. It takes no longer than the drain time and the little
// that closing needs.
func (s *Server) Shutdown() {
	ctx, cancel := context.WithTimeout(context.Background(), s.cfg().Server.Drain)
	defer cancel()
	if s.listener != nil {
		timer := time.NewTimer(s.cfg().Server.Drain * 9 / 10)
		select {
		case <-s.listener.Drain():
		case <-timer.C:
			s.log.Warn().Int("clients", s.listener.Clients()).Msg("clients did not take their replies in time")
		}
		timer.Stop()
		_ = s.listener.Close() // redcon ends, and with it the clients that are left
		if err := <-s.served; err != nil && !errors.Is(err, net.ErrClosed) {
			s.log.Error().Err(err).Msg("the listener ended")
		}
	}
	s.stop()
	s.flush(ctx)
	s.closeLanes()
}

// flush waits for the stragglers of rounds that are decided and for the removals that
// they bring about, at the backends that can be reached. A straggler on one lane may
// owe a removal to another, so one pass is not enough.
func (s *Server) flush(ctx context.Context) {
	const passes = 3
	ctx, cancel := context.WithTimeout(ctx, 10*s.cfg().Lane.Vote)
	defer cancel()
	for range passes {
		for _, l := range s.lanes {
			l.Flush(ctx)
		}
	}
}

// Failed delivers the error if the listener ends by itself.
func (s *Server) Failed() <-chan error { return s.served }

func (s *Server) closeLanes() {
	s.stop()
	s.watches.Wait()
	if s.lag != nil {
		s.lag.Close()
	}
	for _, l := range s.lanes {
		l.Close()
	}
	for _, b := range s.own {
		b.Close()
	}
}

// port is the TCP port that clients connect to, for INFO.
func (s *Server) port() string {
	if s.listener == nil {
		return "0"
	}
	if tcp, ok := s.listener.Addr().(*net.TCPAddr); ok {
		return fmt.Sprint(tcp.Port)
	}
	return "0"
}
