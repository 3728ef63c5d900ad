package proxy

import (
	"context"
	"errors"
	"time"

	"github.com/rs/zerolog"

	"redlockproxy/proxy/engine"
	"redlockproxy/proxy/metrics"
	"redlockproxy/quorum"
	"redlockproxy/resp"
)

// execute carries out one request on keys, by the kind of decision that it needs.
func (s *Server) execute(ctx context.Context, client *session, request resp.Request) answer {
	if refusal := s.engine.Refuse(request); refusal != "" {
		return plain(refusal)
	}
	switch r := request.(type) {
	case resp.Set:
		if ttl, expires := engine.TTL(r.Expiry); r.Cond == resp.IfAbsent && !r.Get && (!expires || ttl > 0) {
			return s.acquire(ctx, client, r, ttl)
		}
	case resp.Incr:
		return s.increment(ctx, r)
	case resp.Del:
		return s.remove(ctx, r.Keys)
	case resp.Eval:
		return s.eval(ctx, r)
	case resp.ScriptLoad, resp.ScriptExists, resp.ScriptFlush:
		return plain(script(s.answered(ctx), s.scripts.cache, request))
	case resp.Get:
		return s.read(ctx, request, false, r.Key)
	case resp.MGet:
		return s.read(ctx, request, false, r.Keys...)
	case resp.Exists:
		return s.read(ctx, request, false, r.Keys...)
	case resp.StrLen:
		return s.read(ctx, request, false, r.Key)
	case resp.Digest:
		return s.read(ctx, request, false, r.Key)
	case resp.GetRange:
		return s.read(ctx, request, false, r.Key)
	case resp.TTL:
		return s.read(ctx, request, true, r.Key)
	case resp.Type:
		return s.read(ctx, request, true, r.Key)
	}
	return s.transact(ctx, request)
}

// acquire is SET NX, with and without a ttl, and SETNX.
func (s *Server) acquire(ctx context.Context, client *session, r resp.Set, ttl time.Duration) answer {
	yes, no := r.Outcome(true), r.Outcome(false)
	if ttl == 0 {
		s.warnLasting(client, r.Key)
	}
	line := acquisition{resource: r.Key, ttl: ttl, start: time.Now()}
	a, err := s.group.Acquire(ctx, quorum.Key(r.Key), r.Value, ttl)
	line.tally = a.Tally
	switch {
	case err != nil:
		line.result = outcome(false, err)
	case a.Late:
		line.result = metrics.Expired
	case a.Split:
		line.result = metrics.Split
	case !a.Won:
		line.result = metrics.Refused
	default:
		line.result = metrics.Done
		return answer{reply: yes, grant: &grant{locks: []quorum.Lock{a.Lock}, instead: no, line: line}}
	}
	s.logAcquisition(line, time.Now(), nil)
	if err != nil {
		return plain(s.unavailable(err, no))
	}
	return plain(no)
}

// unavailable is the reply to an acquisition without a quorum; by configuration it
// is the one of a lock that is taken, for clients that know no other.
func (s *Server) unavailable(err error, no resp.Reply) resp.Reply {
	var short *quorum.UnavailableError
	if s.cfg().Server.UnavailableReply == "nil" && errors.As(err, &short) {
		return no
	}
	return s.failure(err)
}

// warnLasting says, once per client, that it takes locks which never expire: if
// the client dies, everybody else waits for ever.
func (s *Server) warnLasting(client *session, key string) {
	if client.warned.CompareAndSwap(false, true) {
		s.log.Warn().Str("client", client.addr).Str("resource", shown(key)).
			Msg("a lock without a time to live: if its owner dies, nobody gets it again; use SET key token NX PX milliseconds")
	}
}

func (s *Server) increment(ctx context.Context, r resp.Incr) answer {
	start := time.Now()
	c, err := s.group.Increment(ctx, quorum.Key(r.Key), r.By)
	s.logStep(metrics.Count, r.Key, start, c.Tally, outcome(true, err), func(e *zerolog.Event) {
		if err == nil {
			e.Int64("fencing_token", c.Number)
		}
	})
	if err != nil {
		return plain(s.failure(err))
	}
	return plain(resp.Int(c.Number))
}

func (s *Server) remove(ctx context.Context, names []string) answer {
	start := time.Now()
	n, err := s.group.Remove(ctx, unique(names))
	s.logStep(metrics.Release, names[0], start, quorum.Tally{}, outcome(n > 0, err), nil)
	if err != nil {
		return plain(s.failure(err))
	}
	return plain(resp.Int(n))
}

// unique is the keys without those named a second time.
func unique(names []string) []quorum.Key {
	keys := make([]quorum.Key, 0, len(names))
	seen := make(map[string]bool, len(names))
	for _, n := range names {
		if !seen[n] {
			seen[n] = true
			keys = append(keys, quorum.Key(n))
		}
	}
	return keys
}

// read answers a command that only looks, by one quorum read.
func (s *Server) read(ctx context.Context, request resp.Request, full bool, names ...string) answer {
	keys := unique(names)
	held, err := s.group.Read(ctx, keys, full)
	s.metrics.Ended(metrics.Read, outcome(true, err))
	if err != nil {
		return plain(s.failure(err))
	}
	reply, err := fitting(s.engine.Apply(quorum.Known(keys, held), request))
	if err != nil {
		return plain(s.failure(err))
	}
	return plain(reply)
}

// transact carries out a command that writes under a condition, or reads and
// writes.
func (s *Server) transact(ctx context.Context, request resp.Request) answer {
	var reply resp.Reply
	a, _ := s.commit(ctx, metrics.Write, engine.Assume(request), name(request), func(v *quorum.View) (err error) {
		reply, err = s.engine.Apply(v, request)
		return err
	}, func() resp.Reply { return reply })
	return a
}

// commit runs a program, logs and counts what it was about, and makes its answer.
// otherwise is what it counts as if it did nothing that has a name of its own.
func (s *Server) commit(ctx context.Context, otherwise metrics.Operation, assume quorum.Assumption, resource string,
	program quorum.Program, reply func() resp.Reply) (answer, quorum.Transaction) {
	start := time.Now()
	t, err := s.group.Transact(ctx, assume, program)
	a := answer{}
	if err != nil {
		a.reply = s.failure(err)
	} else {
		a.reply = reply()
	}
	switch result := outcome(t.Wrote, err); {
	case t.Tried&quorum.Creates != 0:
		a.grant = s.noteAcquisition(t, err, resource, start)
	case t.Tried&quorum.Removes != 0:
		s.logStep(metrics.Release, resource, start, t.Tally, result, nil)
	case t.Tried&quorum.Prolongs != 0:
		s.logStep(metrics.Extend, resource, start, t.Tally, result, nil)
	case t.Tried&quorum.Counts != 0:
		s.logStep(metrics.Count, resource, start, t.Tally, result, func(e *zerolog.Event) {
			if t.Wrote {
				e.Int64("fencing_token", t.Number)
			}
		})
	case otherwise == metrics.Script:
		s.metrics.Ended(otherwise, outcome(true, err)) // whether it refused, only it knows
	default:
		s.metrics.Ended(otherwise, result)
	}
	return a, t
}

// noteAcquisition logs a program that wanted to create keys and did not; if it did,
// the line is written with the reply. Nothing but an error is true of a program
// whose locks are over before its reply is out, since only it knows what its refusal
// would be.
func (s *Server) noteAcquisition(t quorum.Transaction, err error, resource string, start time.Time) *grant {
	line := acquisition{resource: resource, start: start, tally: t.Tally, result: metrics.Done}
	if len(t.Locks) > 0 {
		line.resource, line.ttl = string(t.Locks[0].Key), t.Locks[0].TTL
		line.token, line.minted = t.Number, t.Tried&quorum.Counts != 0
		return &grant{locks: t.Locks, line: line, instead: resp.ErrLockOver}
	}
	if t.Wrote {
		s.metrics.Ended(metrics.Script, metrics.Done)
		return nil // it created keys and removed them again
	}
	line.result = metrics.Refused
	if err != nil {
		line.result = outcome(false, err)
	}
	s.logAcquisition(line, time.Now(), nil)
	return nil
}

// name is the key that stands for a request in a log line.
func name(request resp.Request) string {
	switch r := request.(type) {
	case resp.Set:
		return r.Key
	case resp.MSet:
		return r.Keys[0]
	case resp.GetDel:
		return r.Key
	case resp.DelEx:
		return r.Key
	case resp.Expire:
		return r.Key
	case resp.Persist:
		return r.Key
	}
	return ""
}
