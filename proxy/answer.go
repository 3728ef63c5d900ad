package proxy

import (
	"context"
	"errors"
	"time"

	"redlockproxy/proxy/engine"
	"redlockproxy/proxy/metrics"
	"redlockproxy/quorum"
	"redlockproxy/resp"
)

// An answer is what came of a command: the reply and, if the reply says that the
// client holds something, what that is. It becomes bytes only if that is still true
// by then.
type answer struct {
	reply resp.Reply
	grant *grant
}

// A grant is what a reply promises.
type grant struct {
	locks   []quorum.Lock
	instead resp.Reply // the refusal that is true if the locks can't be given any more
	line    acquisition
}

func plain(reply resp.Reply) answer { return answer{reply: reply} }

// fitting is an error where a reply would be too long, before anything is written: then
// nobody would hear what was done.
func fitting(reply resp.Reply, err error) (resp.Reply, error) {
	if err == nil && !resp.Fits(reply) {
		return nil, resp.ErrReplySize
	}
	return reply, err
}

// failure puts an error of the group into a reply.
func (s *Server) failure(err error) resp.Reply {
	reply := failure(err)
	var short *quorum.UnavailableError
	if why := s.noQuorumBecause(); why != "" && errors.As(err, &short) {
		return reply.(resp.Error).Because(why)
	}
	return reply
}

// failure puts an error into a reply.
func failure(err error) resp.Reply {
	var refusal resp.Error
	var short *quorum.UnavailableError
	switch err = engine.CounterError(err); {
	case errors.As(err, &refusal):
		return refusal
	case errors.As(err, &short):
		return resp.Unavailable(short.Granted, short.Refused, short.Failed, short.N, quorum.Majority(short.N))
	case errors.Is(err, quorum.ErrChanged):
		return resp.NullArray{}
	case errors.Is(err, context.Canceled):
		return resp.ErrStopping
	case errors.Is(err, context.DeadlineExceeded):
		return resp.ErrTooLate
	}
	return resp.UnavailableReason(err.Error())
}

// finish makes the last check before a reply is written (quorum I3): a lock whose
// time is over by now, or whose client has hung up, is undone and not given. It tells
// whether the reply gives one.
func (s *Server) finish(a answer, gone func() bool) (reply resp.Reply, given bool) {
	g := a.grant
	if g == nil {
		return a.reply, false
	}
	now, valid := time.Now(), true
	for _, l := range g.locks {
		valid = valid && l.Valid(now)
	}
	switch {
	case !valid:
		g.line.result = metrics.Expired
	case gone():
		g.line.result = metrics.ClientGone
	default:
		s.logAcquisition(g.line, now, g.locks)
		return a.reply, true
	}
	s.undo(g.locks)
	s.logAcquisition(g.line, now, nil)
	return g.instead, false
}

func (s *Server) undo(locks []quorum.Lock) {
	for _, l := range locks {
		s.group.Undo(l)
	}
}

// An acquisition is what its log line tells.
type acquisition struct {
	resource string
	ttl      time.Duration
	start    time.Time
	tally    quorum.Tally
	result   metrics.Outcome
	token    int64 // a fencing number minted in the same step
	minted   bool
}
