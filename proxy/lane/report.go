package lane

import (
	"errors"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rs/zerolog"
)

// A backend that comes and goes gets stormLines lines in stormTime, and then no more
// until that is over; the line after that says how many changes were left out.
const (
	stormLines = 10
	stormTime  = 10 * time.Second
)

// A reporter writes the lines about a lane's state. It belongs to the run goroutine.
type reporter struct {
	told    State  // the state that was logged last
	because string // what the backend itself gave as the reason for it
	from    time.Time
	lines   int // since from
	skipped int
}

// report notes the lane's state, and logs it if that is new.
func (l *Lane) report(state State, reason error, g Greeting) {
	now := time.Now()
	l.mu.Lock()
	changed := l.since.IsZero() || l.noted != state
	if changed {
		l.noted, l.since = state, now
	}
	l.reason = ""
	if reason != nil {
		l.reason = reason.Error()
	}
	l.mu.Unlock()
	r := &l.reporter
	because := saidByItself(reason)
	if r.told == state && r.because == because {
		if changed {
			r.skipped++ // it was away for a while that nobody was told of
		}
		return
	}
	if now.Sub(r.from) > stormTime {
		r.from, r.lines = now, 0
	}
	if r.lines >= stormLines {
		if changed {
			r.skipped++
		}
		return
	}
	r.lines++
	r.told, r.because = state, because
	e := l.cfg.Log.Warn()
	if state >= Learner {
		e = l.cfg.Log.Info()
	}
	l.line(e, state, reason, g)
	r.skipped = 0
}

func (l *Lane) line(e *zerolog.Event, state State, reason error, g Greeting) {
	e.Str("backend", l.cfg.Name).Str("state", state.String()).AnErr("reason", reason)
	if state >= Learner {
		e.Str("run_id", g.RunID).Str("version", g.Version)
	}
	if l.cfg.Votes != nil {
		e.Str("votes", l.cfg.Votes())
	}
	if l.reporter.skipped > 0 {
		e.Int("changes_not_logged", l.reporter.skipped)
	}
	switch state {
	case Voter:
		e.Msg("backend is connected")
	case Learner:
		e.Msg("backend is connected, and has no vote")
	default:
		e.Msg("backend has no vote")
	}
}

// saidByItself is the part of a reason that the backend gave: that it must not be used
// for what it is, or the word that its reply begins with. A server that was restarted and
// reads its data first is down as it was before, and is waited for in another way. What
// the network says of one that is gone changes from one try to the next, and is left out.
func saidByItself(reason error) string {
	var unfit unfitError
	var reply redis.Error
	switch {
	case errors.As(reason, &unfit):
		return string(unfit)
	case errors.As(reason, &reply):
		word, _, _ := strings.Cut(reply.Error(), " ")
		return word
	}
	return ""
}
