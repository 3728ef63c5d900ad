package proxy

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rs/zerolog"

	"redlockproxy/conf"
	"redlockproxy/proxy/lane"
)

// ballast is memory that is never touched, so that it takes none, and counts as in
// use when the collector decides on its next run. What a proxy really has in use is
// so little that the collector would otherwise run after every 3 MB of garbage, many
// times a second, which costs a tenth of the processor time. More than this much
// would show in the memory of a proxy with many clients.
const ballast = 8 << 20

// softMemory is from how much memory on the collector works harder: clients that send
// large commands all at once would otherwise be given twice what they need. It bounds
// nothing; what clients may take is bounded elsewhere. GOMEMLIMIT overrides it.
const softMemory = 160 << 20

// limitMemory sets the soft limit, and gives back how to take it away.
func limitMemory() (undo func()) {
	if os.Getenv("GOMEMLIMIT") != "" {
		return func() {}
	}
	before := debug.SetMemoryLimit(softMemory)
	return func() { debug.SetMemoryLimit(before) }
}

// threads is how many processors to use. GOMAXPROCS, which starts as what the machine or
// the container allows, bounds it where nothing is configured.
func threads(c conf.Server) int {
	if c.Threads > 0 {
		return c.Threads
	}
	return max(1, runtime.GOMAXPROCS(0)/2)
}

// Run serves until ctx ends, and then lets what has begun end. Meanwhile it reloads its
// configuration when it is asked to.
func Run(ctx context.Context, cfg conf.Config, version string, out, errs io.Writer, readFile func(string) ([]byte, error), reload Reload) error {
	defer zerolog.SetGlobalLevel(zerolog.GlobalLevel())
	zerolog.SetGlobalLevel(logLevel(cfg.Log))
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(threads(cfg.Server)))
	defer limitMemory()()
	weight := make([]byte, ballast)
	defer runtime.KeepAlive(weight)
	writer := newLogBuffer(logFormat(cfg.Log, errs))
	defer closeLog(writer)
	log := zerolog.New(writer).With().Timestamp().Logger()
	redis.SetLogger(libraryLog{log})

	s, err := New(cfg, version, log, readFile)
	if err != nil {
		return err
	}
	s.droppedLines = writer.dropped.Load
	s.awaitBackends(ctx)
	if err := s.mistaken(); err != nil {
		s.closeLanes()
		return fmt.Errorf("the list of backends can't be used:\n%w", err)
	}
	s.awaitVotes(ctx)
	adm, err := s.serveAdmin()
	if err != nil {
		s.closeLanes()
		return err
	}
	defer adm.close()
	addr, err := s.Listen(readFile)
	if err != nil {
		s.closeLanes()
		return err
	}
	s.noteFiles()
	if cfg.Embedded {
		_, _ = fmt.Fprint(out, embeddedNotice(addr.String()))
	}
	log.Info().Str("addr", addr.String()).Str("version", version).Str("group", cfg.Group.Name).Int("backends", len(s.lanes)).
		Int("quorum", s.group.Q()).Str("topology", s.topology).Msg("listening")

	for serving := true; serving; {
		select {
		case <-ctx.Done():
			serving = false
		case <-reload.Asked:
			s.reload(reload.Load, readFile)
		case err = <-s.Failed():
			s.Shutdown()
			return fmt.Errorf("the listener ended: %w", err)
		}
	}
	log.Info().Msg("stopping: commands that have begun are answered first")
	s.Shutdown()
	log.Info().Int64("log_lines_dropped", writer.dropped.Load()).Msg("stopped")
	return nil
}

// awaitBackends gives every backend one chance to be connected before the first
// client comes; one that is down costs a start no more than that.
func (s *Server) awaitBackends(ctx context.Context) {
	for _, l := range s.lanes {
		select {
		case <-l.Tried():
		case <-ctx.Done():
			return
		}
	}
}

// votesWait is how long a start waits for a quorum of votes where there are
// connections enough: a new group is founded in a few milliseconds, and backends that
// have restarted are refilled in less than a second.
const votesWait = time.Second

// awaitVotes lets the first client find a group that can decide, if that is a matter
// of a moment.
func (s *Server) awaitVotes(ctx context.Context) {
	const look = 5 * time.Millisecond
	for range votesWait / look {
		able := 0 // to vote as soon as they are admitted
		for _, l := range s.lanes {
			if l.State() >= lane.Learner {
				able++
			}
		}
		if s.voters() >= s.group.Q() || able < s.group.Q() {
			return
		}
		select {
		case <-time.After(look):
		case <-ctx.Done():
			return
		}
	}
}

// closeTime is how long the end of the program waits for the reader of its log.
const closeTime = time.Second

// closeLog writes the lines that wait. A log that nobody reads does not keep the
// program from ending, which also ends the goroutine that is left behind then.
func closeLog(writer io.Closer) {
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		_ = writer.Close() // there is nowhere to report it
	}()
	select {
	case <-closed:
	case <-time.After(closeTime):
	}
}

// logFormat is where log lines go, and in what form.
func logFormat(c conf.Log, w io.Writer) io.Writer {
	if c.Format == "console" {
		return perLine{zerolog.ConsoleWriter{Out: w, TimeFormat: time.RFC3339}}
	}
	return w
}

// logLevel is the level that is set for the whole process: there is one Run in it, and
// the loggers that were handed on can't be changed any more.
func logLevel(c conf.Log) zerolog.Level {
	level, err := zerolog.ParseLevel(c.Level)
	if err != nil {
		return zerolog.InfoLevel // conf lets no other word through
	}
	return level
}

// libraryLog takes what go-redis has to say; it is about connections, which the
// lanes report themselves.
type libraryLog struct{ log zerolog.Logger }

// Printf implements go-redis's logging interface.
func (l libraryLog) Printf(_ context.Context, format string, v ...any) {
	l.log.Debug().Str("library", "go-redis").Msgf(format, v...)
}

// embeddedNotice says what runs when nothing is configured.
func embeddedNotice(addr string) string {
	return fmt.Sprintf(`redlock-proxy listens on %[1]s with five embedded backends, because none were named.

This is good for a first try and for nothing else: the five live in this one process,
fail together, and forget every lock and every number when it ends. For real use:

  redlock-proxy -backends 10.0.1.1:6379,10.0.2.1:6379,10.0.3.1:6379,10.0.4.1:6379,10.0.5.1:6379

Three lines to try:

  redis-cli%[2]s SET lock:job my-token NX PX 30000
  redis-cli%[2]s EVAL "if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('del',KEYS[1]) else return 0 end" 1 lock:job my-token
  redis-cli%[2]s INCR lock:job:fence

`, addr, cliAddress(addr))
}

// cliAddress is how redis-cli is told where to connect.
func cliAddress(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return " -s " + addr
	}
	if host == "127.0.0.1" {
		return " -p " + port
	}
	return " -h " + host + " -p " + port
}
