package lane

import (
	"context"
	"fmt"
	"runtime"
	"slices"
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
		l.forgetRelogin()
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
	s := session{lane: l, conn: conn, dialect: g.dialect(), right: l.standing.meets(l.cfg.Admission, g)}
	defer l.standing.leaves()
	// A read that waits for the backend knows nothing of ctx's end; closing the
	// connection under it does.
	unblock := context.AfterFunc(ctx, func() { _ = conn.client.Close() })
	defer unblock()
	l.look(g)
	l.up()
	err := s.stands(g) // not before requests are taken
	up()
	tick := time.NewTicker(s.probeInterval())
	defer tick.Stop()
	for known := s.right; err == nil; {
		if s.right != known {
			known = s.right
			tick.Reset(s.probeInterval())
			if err = s.stands(g); err != nil {
				break
			}
		}
		select {
		case <-l.wake:
			l.gather()
			err = s.batch(ctx)
		case <-tick.C:
			l.again()
			l.aside.rest()
			l.report(State(l.state.Load()), l.noVote(), g) // if there were too many changes to log them all
			if err = s.probe(ctx); err == nil {
				err = s.lookAgain(ctx)
			}
		case <-l.probes:
			err = s.probe(ctx)
		case <-l.logins:
			err = s.login(ctx)
		case <-ctx.Done():
			err = errClosed
		}
	}
	l.down(err)
	return err
}

// gathering bounds how often a batch waits for more: where it goes on to grow after
// that, the processors are so busy that waiting costs more than it saves.
const gathering = 4

// gather lets everybody else who can run go first, as long as that adds to the batch:
// the fewer the batches, the fewer the system calls, here and at the backend. Without
// load nobody else can run, and this costs nothing.
func (l *Lane) gather() {
	before, full := l.waiting()
	for n := 0; n < gathering && !full; n++ {
		runtime.Gosched()
		var more int
		if more, full = l.waiting(); more == before {
			return
		}
		before = more
	}
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
	if s.right.token == "" {
		return learnerProbe
	}
	return probeEvery
}

// A session is the use of one connection.
type session struct {
	lane    *Lane
	conn    connection
	dialect dialect
	right   right // by which the backend votes: see standing
	counts  bool  // whether the votes that are delivered count
	replica bool  // the backend has said that it is one: the connection is about to end

	// Of the batch under way, in memory that serves all batches.
	items  []item
	ops    []quorum.Op         // of each item
	places []place             // of each item
	alone  []bool              // of each item: it has a command of its own
	before map[quorum.Key]bool // keys of items that come before and are alone

	// The commands that were sent, and where they are.
	sent     []sent
	cmds     []redis.Cmd
	attempts []attempt

	used   time.Time // when something was sent last
	looked time.Time // when the backend was last asked what it is
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
	commands := s.compose()
	s.sent = s.sent[:0]
	s.cmds = slices.Grow(s.cmds[:0], len(commands))
	s.attempts = slices.Grow(s.attempts[:0], len(commands))
	for _, words := range commands {
		s.queue(ctx, pipe, words)
	}
	end := s.addLast(ctx, pipe)
	trouble := exec(ctx, pipe)
	for i := range s.attempts {
		s.attempts[i].read()
	}
	for _, cmd := range s.sent {
		s.listen(cmd)
	}
	s.counts = s.see(end)
	if s.lane.cfg.RoundTrip != nil {
		s.lane.cfg.RoundTrip(time.Since(s.used))
	}
	for _, cmd := range s.sent {
		stamp(cmd, trouble)
	}
	err := s.askAgain(ctx)
	clear(s.cmds) // what was large in them is not kept
	clear(s.attempts)
	return err
}

// queue adds a command to a pipeline. There is room for it.
func (s *session) queue(ctx context.Context, pipe redis.Pipeliner, words []any) {
	if isAttempt(words) {
		s.attempts = append(s.attempts, newAttempt(ctx, words))
		cmd := &s.attempts[len(s.attempts)-1]
		_ = pipe.Process(ctx, &cmd.RawCmd) // only queues it
		s.sent = append(s.sent, cmd)
		return
	}
	s.cmds = append(s.cmds, *redis.NewCmd(ctx, words...))
	cmd := &s.cmds[len(s.cmds)-1]
	_ = pipe.Process(ctx, cmd)
	s.sent = append(s.sent, cmd)
}

// prepared is an operation's words, for the backends of one dialect.
type prepared struct {
	dialect dialect
	words   []any
}

// words are the words of a command for one item alone. All backends get the same, so
// the first lane that comes to a call makes them for the others too.
func (s *session) words(i int) []any {
	it := s.items[i]
	if it.call == nil {
		return s.dialect.encode(s.ops[i])
	}
	if p, ok := it.call.Prepared.Load().(*prepared); ok && p.dialect == s.dialect {
		return p.words
	}
	words := s.dialect.encode(it.call.Op)
	it.call.Prepared.Store(&prepared{s.dialect, words})
	return words
}

// exec sends a pipeline and returns the trouble with the connection, if there was any.
// The error that the pipeline itself gives is that of some command, which has it too (an
// attempt's is in its reply, and not given); or else it is the backend's to the login
// that go-redis sends first on a new connection, and nothing was done after it.
func exec(ctx context.Context, pipe redis.Pipeliner) error {
	cmds, err := pipe.Exec(ctx)
	switch {
	case err == nil:
		return nil
	case !isReply(err):
		return err
	case slices.ContainsFunc(cmds, func(c redis.Cmder) bool { return c.Err() != nil }):
		return nil
	}
	return fmt.Errorf("login: %w", err)
}

// stamp gives a command the trouble that it met: go-redis leaves commands without an
// error that it could not send at all.
func stamp(cmd sent, trouble error) {
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
