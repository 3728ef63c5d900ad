package proxy

import (
	"errors"
	"time"

	"github.com/rs/zerolog"

	"redlockproxy/proxy/metrics"
	"redlockproxy/quorum"
)

// results are the words for outcomes in log lines. Those of an acquisition differ in
// part.
var results = [...]string{
	metrics.Done: "done", metrics.Refused: "refused", metrics.Unavailable: "unavailable", metrics.Failed: "error",
}

// acquisitionResults are the words for the outcomes of an acquisition.
var acquisitionResults = [...]string{
	metrics.Done: "acquired", metrics.Refused: "taken", metrics.Unavailable: "unavailable", metrics.Failed: "error",
	metrics.Split: "split", metrics.Expired: "expired", metrics.ClientGone: "client gone",
}

// logAcquisition counts an attempt to get a lock, and writes the one line that each
// of them leaves. The token never stands in it.
func (s *Server) logAcquisition(a acquisition, ended time.Time, locks []quorum.Lock) {
	took := ended.Sub(a.start)
	s.metrics.Acquisition(a.result, ended, took)
	e := s.log.Info()
	if e == nil {
		return
	}
	e.Str("topology", s.topology).Str("resource", shown(a.resource))
	if a.minted {
		e.Int64("fencing_token", a.token)
	}
	if s.single() {
		e.Bool("replica_promoted", s.promoted())
	} else {
		e.Int("nodes_reached", a.tally.Reached())
	}
	e.Int64("ttl_ms", a.ttl.Milliseconds())
	if len(locks) > 0 && locks[0].TTL > 0 {
		e.Int64("validity_ms", locks[0].Validity(ended).Milliseconds())
	}
	e.Float64("elapsed_ms", millis(took)).Str("result", acquisitionResults[a.result]).Msg("acquisition")
}

// steps are the words for operations in log lines.
var steps = [...]string{metrics.Release: "release", metrics.Extend: "extension", metrics.Count: "counter"}

// logStep counts a release, an extension or a counter, and writes a line, at debug.
func (s *Server) logStep(op metrics.Operation, resource string, start time.Time, t quorum.Tally, result metrics.Outcome, more func(*zerolog.Event)) {
	s.metrics.Ended(op, result)
	e := s.log.Debug()
	if e == nil {
		return
	}
	e.Str("topology", s.topology).Str("resource", shown(resource))
	if t.N > 0 && !s.single() {
		e.Int("nodes_reached", t.Reached())
	}
	if more != nil {
		more(e)
	}
	e.Float64("elapsed_ms", millis(time.Since(start))).Str("result", results[result]).Msg(steps[op])
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

// outcome is how a step ended.
func outcome(done bool, err error) metrics.Outcome {
	var short *quorum.UnavailableError
	switch {
	case errors.As(err, &short):
		return metrics.Unavailable
	case errors.Is(err, quorum.ErrChanged):
		return metrics.Refused
	case err != nil:
		return metrics.Failed
	case done:
		return metrics.Done
	}
	return metrics.Refused
}
