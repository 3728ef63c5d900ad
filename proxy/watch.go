package proxy

import (
	"context"
	"fmt"
	"time"

	"redlockproxy/proxy/lane"
	"redlockproxy/quorum"
)

// watchEvery is how often the watch looks at the lanes: soon enough for a log that
// people read, seldom enough to cost nothing.
const watchEvery = 100 * time.Millisecond

// stallLines is how many lines about stalls there may be for each backend in a
// minute. A backend that is at its limit stalls again and again.
const stallLines = 10

// watch remembers how the backends are, and logs those that stop answering and those
// that answer again, until ctx ends. A lane that waits for its backend can't say so itself; all other changes of
// its state the lane logs.
func (s *Server) watch(ctx context.Context) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	stalls := make([]stall, len(s.lanes))
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		s.noteHealth(time.Now())
		for i, l := range s.lanes {
			s.watchOne(l, &stalls[i])
		}
	}
}

// A stall is what the watch remembers of a backend.
type stall struct {
	since  time.Time // of the stall that was logged; zero for none
	from   time.Time // of the minute in which lines are counted
	lines  int
	silent int // stalls that were not logged
}

func (s *Server) watchOne(l *lane.Lane, was *stall) {
	now := time.Now()
	state := l.State()
	if now.Sub(was.from) > time.Minute {
		was.from, was.lines = now, 0
	}
	switch {
	case state == lane.Stalled && was.since.IsZero():
		was.since = now
		if was.lines++; was.lines > stallLines {
			was.silent++
			return
		}
		e := s.log.Warn().Str("backend", l.Name()).Str("state", state.String()).
			Str("reason", fmt.Sprintf("it has not answered for %s (lane.vote)", s.cfg().Lane.Vote)).Str("votes", s.votes())
		if was.silent > 0 {
			e.Int("stalls_not_logged", was.silent)
			was.silent = 0
		}
		e.Msg("backend has no vote")
	case state != lane.Stalled && !was.since.IsZero():
		if state >= lane.Learner && was.lines <= stallLines { // of one that is down its lane tells
			s.log.Info().Str("backend", l.Name()).Str("state", state.String()).
				Dur("stalled_ms", now.Sub(was.since)).Str("votes", s.votes()).Msg("backend answers again")
		}
		was.since = time.Time{}
	}
}

// votes says how far the group is from making no decisions.
func (s *Server) votes() string {
	<-s.opened
	n, needed := s.voters(), quorum.Majority(len(s.lanes))
	text := fmt.Sprintf("%d of %d can vote, %d needed, ", n, len(s.lanes), needed)
	switch spare := n - needed; {
	case spare < 0:
		return text + "no decisions"
	case spare == 0:
		return text + "none to spare"
	default:
		return text + fmt.Sprint(spare) + " to spare"
	}
}
