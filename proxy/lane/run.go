package lane

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"redlockproxy/quorum"
)

// run keeps a connection and serves the queue until ctx ends.
func (l *Lane) run(ctx context.Context) {
	backoff := l.cfg.BackoffMin
	tried := sync.OnceFunc(func() { close(l.tried) })
	defer tried()
	for ctx.Err() == nil {
		conn, greeting, err := l.connect(ctx)
		if err == nil {
			backoff = l.cfg.BackoffMin
			err = l.serve(ctx, conn, greeting, tried)
			conn.close()
		}
		if ctx.Err() != nil {
			return
		}
		l.change(err)
		tried()
		timer := time.NewTimer(backoff)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
		backoff = min(2*backoff, l.cfg.BackoffMax)
	}
}

// change notes once that there is no connection, or none that can be used.
func (l *Lane) change(err error) {
	to := Down
	if _, unfit := err.(unfitError); unfit {
		to = Unfit
	}
	l.state.Store(int32(to))
	if l.reported != to {
		l.reported = to
		l.cfg.Log.Warn().Str("backend", l.cfg.Name).Str("state", to.String()).AnErr("reason", err).
			Msg("backend has no vote")
	}
}

// serve opens the queue and sends batches until the connection fails or ctx ends.
func (l *Lane) serve(ctx context.Context, conn connection, g Greeting, up func()) error {
	s := session{lane: l, conn: conn, dialect: g.dialect(), voter: l.cfg.Standing == nil || l.cfg.Standing(g)}
	state := Voter
	if !s.voter {
		state = Learner
	}
	l.state.Store(int32(state))
	l.reported = state
	l.cfg.Log.Info().Str("backend", l.cfg.Name).Str("state", state.String()).Str("run_id", g.RunID).
		Str("version", g.Version).Msg("backend is connected")
	// A read that waits for the backend knows nothing of ctx's end; closing the
	// connection under it does.
	unblock := context.AfterFunc(ctx, func() { _ = conn.client.Close() })
	defer unblock()
	l.up()
	up()
	tick := time.NewTicker(probeEvery)
	defer tick.Stop()
	var err error
	for err == nil {
		select {
		case <-l.wake:
			err = s.batch(ctx)
		case <-tick.C:
			l.again()
			err = s.probe(ctx)
		case <-ctx.Done():
			err = errClosed
		}
	}
	l.down(err)
	return err
}

// probeEvery is how often an idle connection is tried. A backend that has restarted
// meanwhile would otherwise be noticed by the first request, which fails by it: after
// a restart of one backend after the other at night, the first of the morning would
// find no quorum.
const probeEvery = time.Second

// A session is the use of one connection.
type session struct {
	lane    *Lane
	conn    connection
	dialect dialect
	voter   bool

	items []item
	cmds  []*redis.Cmd
	used  time.Time // when something was sent last
}

// probe sees whether the connection of an idle lane is still good.
func (s *session) probe(ctx context.Context) error {
	if time.Since(s.used) < probeEvery {
		return nil
	}
	ctx, done := s.busy(ctx)
	defer done()
	if err := s.conn.Ping(ctx).Err(); err != nil && !isReply(err) {
		return err
	}
	return nil
}

// busy begins a wait for the backend, and returns how to end it. Meanwhile the lane
// becomes stalled when it takes too long.
func (s *session) busy(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithTimeout(ctx, s.lane.cfg.Stall)
	s.used = time.Now()
	s.lane.busySince.Store(s.used.UnixNano())
	return ctx, func() {
		s.lane.busySince.Store(0)
		cancel()
	}
}

// batch sends what waits as one pipeline and delivers the answers. An error means
// that the connection is of no use any more.
func (s *session) batch(ctx context.Context) error {
	s.items = s.lane.take(s.items[:0])
	if len(s.items) == 0 {
		return nil
	}
	ctx, done := s.busy(ctx)
	defer done()

	pipe := s.conn.Pipeline()
	s.cmds = s.cmds[:0]
	for _, it := range s.items {
		cmd := s.dialect.encode(ctx, it.op())
		s.cmds = append(s.cmds, cmd)
		_ = pipe.Process(ctx, cmd) // only queues it
	}
	exec(ctx, pipe, s.cmds)
	return s.askAgain(ctx)
}

// exec sends a pipeline. The error that it gives is that of some command, and each has
// its own; but go-redis leaves commands without one that it could not send at all.
func exec(ctx context.Context, pipe redis.Pipeliner, cmds []*redis.Cmd) {
	_, err := pipe.Exec(ctx)
	if err == nil || isReply(err) {
		return
	}
	for _, cmd := range cmds {
		if cmd.Err() == nil && cmd.Val() == nil { // nil without an error is no reply: null has one
			cmd.SetErr(err)
		}
	}
}

// op is the operation of an item; a debt is a removal guarded by what it removes.
func (it item) op() quorum.Op {
	if it.call != nil {
		return it.call.Op
	}
	return quorum.Commit{
		Guards: []quorum.Guard{{Kind: quorum.StoredIs, Key: it.debt.Key, Text: string(it.debt.Stored)}},
		Writes: []quorum.Write{{Kind: quorum.Delete, Key: it.debt.Key}},
	}
}

// askAgain delivers the answers that are whole. For the others it sends a second
// pipeline: commands whose script the backend did not have (it has not done
// anything for them), and looks at keys that could not be incremented.
func (s *session) askAgain(ctx context.Context) error {
	var again []int
	var pipe redis.Pipeliner
	var broken error
	for i, it := range s.items {
		answer, more := s.dialect.decode(it.op(), s.cmds[i])
		if broken = lost(broken, s.cmds[i]); broken == nil && (more || isNoScript(s.cmds[i].Err())) {
			if pipe == nil {
				pipe = s.conn.Pipeline()
			}
			again = append(again, i)
			continue
		}
		s.deliver(it, answer)
	}
	if pipe == nil {
		return broken
	}
	second := make([]*redis.Cmd, len(again))
	for n, i := range again {
		if isNoScript(s.cmds[i].Err()) {
			second[n] = withText(ctx, s.cmds[i])
		} else {
			second[n] = redis.NewCmd(ctx, "GET", string(s.items[i].op().(quorum.Increment).Key))
		}
		_ = pipe.Process(ctx, second[n])
	}
	if broken == nil {
		exec(ctx, pipe, second)
	}
	for n, i := range again {
		broken = lost(broken, second[n])
		s.deliver(s.items[i], s.second(s.items[i].op(), s.cmds[i], second[n]))
	}
	return broken
}

// second is the answer to an item that took two commands.
func (s *session) second(op quorum.Op, first, cmd *redis.Cmd) quorum.Answer {
	if isNoScript(first.Err()) {
		answer, _ := s.dialect.decode(op, cmd)
		return answer
	}
	answer, _ := s.dialect.decode(op, first)
	look, _ := s.dialect.decode(quorum.Read{Keys: []quorum.Key{op.(quorum.Increment).Key}}, cmd)
	if look.Vote != quorum.Granted {
		return quorum.Answer{Vote: quorum.Failed, Unsent: true, Err: look.Err}
	}
	answer.Held = look.Held
	return answer
}

// deliver hands an answer to its round, or sees that a debt is not forgotten.
func (s *session) deliver(it item, answer quorum.Answer) {
	if it.call == nil {
		if answer.Vote == quorum.Failed {
			s.lane.unpaid(it.debt)
		}
		return
	}
	if !s.voter && answer.Vote != quorum.Failed {
		answer = quorum.Answer{Vote: quorum.Failed, Err: errLearner}
	}
	if answer.Err != nil {
		answer.Err = fmt.Errorf("backend %s: %w", s.lane.cfg.Name, answer.Err)
	}
	it.call.Round.Vote(s.lane.cfg.Index, answer)
}

// lost is the first trouble with the connection itself, as opposed to an error
// that the backend replied. One of these is trouble too: a backend that only reads has
// become a replica, which a new greeting will show, and go-redis gives up a connection
// on which it has read that.
func lost(before error, cmd *redis.Cmd) error {
	err := cmd.Err()
	if before != nil || err == nil || isReply(err) && !isReadOnly(err) {
		return before
	}
	return err
}
