package lane

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
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
	l.report(to, err, Greeting{})
}

// serve opens the queue and sends batches until the connection fails or ctx ends.
func (l *Lane) serve(ctx context.Context, conn connection, g Greeting, up func()) error {
	s := session{lane: l, conn: conn, dialect: g.dialect(), token: l.standing.meets(l.cfg.Admission, g)}
	defer l.standing.leaves()
	// A read that waits for the backend knows nothing of ctx's end; closing the
	// connection under it does.
	unblock := context.AfterFunc(ctx, func() { _ = conn.client.Close() })
	defer unblock()
	l.up()
	err := s.stands(g) // not before requests are taken
	up()
	tick := time.NewTicker(probeEvery)
	defer tick.Stop()
	for token := always; err == nil; {
		if s.token != token {
			token = s.token
			err = s.stands(g)
			tick.Reset(s.probeInterval())
		}
		select {
		case <-l.wake:
			// Whoever else can run now goes first: what they send joins this batch.
			// Without load nobody else can, and this costs nothing.
			runtime.Gosched()
			err = s.batch(ctx)
		case <-tick.C:
			l.again()
			l.report(State(l.state.Load()), nil, g) // if there were too many changes to log them all
			err = s.probe(ctx)
		case <-l.probes:
			err = s.probe(ctx)
		case <-ctx.Done():
			err = errClosed
		}
	}
	l.down(err)
	return err
}

// probeEvery is how often the connection is tried. On an idle one, a backend that has
// restarted meanwhile would otherwise be noticed by the first request, which fails by
// it: after a restart of one backend after the other at night, the first of the morning
// would find no quorum.
const probeEvery = time.Second

// learnerProbe is how often a backend without a vote is looked at: another proxy may
// have refilled it.
const learnerProbe = 50 * time.Millisecond

func (s *session) probeInterval() time.Duration {
	if s.token == "" {
		return learnerProbe
	}
	return probeEvery
}

// A session is the use of one connection.
type session struct {
	lane    *Lane
	conn    connection
	dialect dialect
	token   string // with which the backend votes, "" if it does not: see standing
	counts  bool   // whether the votes that are delivered count

	items []item
	cmds  []redis.Cmd // the items' commands, in one piece of memory for all batches
	used  time.Time   // when something was sent last
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
	s.cmds = slices.Grow(s.cmds[:0], len(s.items))[:len(s.items)]
	for i, it := range s.items {
		s.cmds[i] = *redis.NewCmd(ctx, s.words(it)...)
		_ = pipe.Process(ctx, &s.cmds[i]) // only queues it
	}
	end := s.addLast(ctx, pipe)
	trouble := exec(ctx, pipe)
	s.counts = s.see(end)
	if s.lane.cfg.RoundTrip != nil {
		s.lane.cfg.RoundTrip(time.Since(s.used))
	}
	for i := range s.cmds {
		stamp(&s.cmds[i], trouble)
	}
	return s.askAgain(ctx)
}

// prepared is an operation's words, for the backends of one dialect.
type prepared struct {
	dialect dialect
	words   []any
}

// words are the words of an item's command. All backends get the same, so the
// first lane that comes to a call makes them for the others too.
func (s *session) words(it item) []any {
	if it.call == nil {
		return s.dialect.encode(it.op())
	}
	if p, ok := it.call.Prepared.Load().(*prepared); ok && p.dialect == s.dialect {
		return p.words
	}
	words := s.dialect.encode(it.call.Op)
	it.call.Prepared.Store(&prepared{s.dialect, words})
	return words
}

// exec sends a pipeline and returns the trouble with the connection, if there was any.
// The error that the pipeline itself gives is that of some command, and each has its
// own.
func exec(ctx context.Context, pipe redis.Pipeliner) error {
	if _, err := pipe.Exec(ctx); err != nil && !isReply(err) {
		return err
	}
	return nil
}

// stamp gives a command the trouble that it met: go-redis leaves commands without an
// error that it could not send at all.
func stamp(cmd *redis.Cmd, trouble error) {
	if trouble != nil && cmd.Err() == nil && cmd.Val() == nil { // null would have an error
		cmd.SetErr(trouble)
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
		answer, more := s.dialect.decode(it.op(), &s.cmds[i])
		if broken = lost(broken, &s.cmds[i]); broken == nil && (more || isNoScript(s.cmds[i].Err())) {
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
			second[n] = withText(ctx, &s.cmds[i])
		} else {
			second[n] = redis.NewCmd(ctx, "GET", string(s.items[i].op().(quorum.Increment).Key))
		}
		_ = pipe.Process(ctx, second[n])
	}
	var trouble error
	if broken == nil {
		end := s.addLast(ctx, pipe)
		trouble = exec(ctx, pipe)
		s.counts = s.see(end)
	}
	for n, i := range again {
		stamp(second[n], trouble)
		broken = lost(broken, second[n])
		s.deliver(s.items[i], s.second(s.items[i].op(), &s.cmds[i], second[n]))
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
	if !s.counts && answer.Vote != quorum.Failed {
		answer = quorum.Answer{Vote: quorum.Failed, Err: errLearner}
	}
	if answer.Err != nil {
		answer.Err = fmt.Errorf("backend %s: %w", s.lane.cfg.Name, answer.Err)
	}
	s.lane.vote(it.call, answer)
}

// lost is the first trouble with the connection itself, as opposed to an error that
// the backend replied; but a reply that says that the backend is not what it was is
// trouble too. The next greeting finds out what it is now.
func lost(before error, cmd *redis.Cmd) error {
	err := cmd.Err()
	if before != nil || err == nil || isReply(err) && !turned(err) {
		return before
	}
	return err
}

// turned tells whether a backend has become something that must not be used: a
// replica, a server that reads its data again, one that wants another login.
func turned(err error) bool {
	word, _, _ := strings.Cut(err.Error(), " ")
	switch word {
	case "READONLY", "LOADING", "MASTERDOWN", "NOAUTH":
		return true
	}
	return false
}
