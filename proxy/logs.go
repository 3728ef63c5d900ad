package proxy

import (
	"errors"
	"time"

	"github.com/rs/zerolog"

	"redlockproxy/quorum"
)

// Results in log lines.
const (
	acquired    = "acquired"
	taken       = "taken"
	unavailable = "unavailable"
)

// logAcquisition writes the one line that each attempt to get a lock leaves. The
// token never stands in it.
func (s *Server) logAcquisition(a acquisition, locks []quorum.Lock) {
	e := s.log.Info()
	if e == nil {
		return
	}
	e.Str("topology", s.topology).Str("resource", shown(a.resource))
	if a.minted {
		e.Int64("fencing_token", a.token)
	}
	e.Int("nodes_reached", a.tally.Reached()).Int64("ttl_ms", a.ttl.Milliseconds())
	if len(locks) > 0 && locks[0].TTL > 0 {
		e.Int64("validity_ms", locks[0].Validity().Milliseconds())
	}
	e.Float64("elapsed_ms", millis(time.Since(a.start))).Str("result", a.result).Msg("acquisition")
}

// logStep writes a line, at debug, for a release, an extension or a counter.
func (s *Server) logStep(kind, resource string, start time.Time, t quorum.Tally, result string, more func(*zerolog.Event)) {
	e := s.log.Debug()
	if e == nil {
		return
	}
	e.Str("topology", s.topology).Str("resource", shown(resource))
	if t.N > 0 {
		e.Int("nodes_reached", t.Reached())
	}
	if more != nil {
		more(e)
	}
	e.Float64("elapsed_ms", millis(time.Since(start))).Str("result", result).Msg(kind)
}

// maxShown is how many bytes of a key stand in a log line. Keys can be as long as
// commands, and thousands of lines may wait for a slow reader of the log.
const maxShown = 256

// shown is a key as it stands in a log line.
func shown(key string) string {
	if len(key) <= maxShown {
		return key
	}
	return key[:maxShown] + "…"
}

func millis(d time.Duration) float64 {
	return float64(d.Microseconds()) / 1000
}

// outcome is the word for how a step ended.
func outcome(done bool, err error) string {
	var short *quorum.UnavailableError
	switch {
	case errors.As(err, &short):
		return unavailable
	case err != nil:
		return "error"
	case done:
		return "done"
	}
	return "refused"
}
