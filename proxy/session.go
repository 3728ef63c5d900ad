package proxy

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"redlockproxy/proxy/guard"
	"redlockproxy/resp"
)

// A session is the state of one client's connection. It belongs to the goroutine
// that redcon runs for the connection, except for what is marked as shared.
type session struct {
	s      *Server
	conn   *guard.Conn
	id     int64
	addr   string
	since  time.Time
	proto  resp.Proto
	authed bool
	ending bool // QUIT was answered: nothing that follows is run
	multi  multi
	out    []byte // memory for replies, of at most keepOut bytes

	warned atomic.Bool // about locks without a time to live; shared

	// What CLIENT LIST shows of proto and multi; shared.
	speaks, queuing atomic.Int64

	mu      sync.Mutex // guards what follows, which CLIENT LIST shows; shared
	name    string
	library string
	version string
	listens subscriptions
	last    string    // the last command, by its name in the table; "" if it is not there
	active  time.Time // when it came
}

// serve carries out what the client sent together, writes the replies in order,
// and tells whether the connection is to go on.
func (c *session) serve(ctx context.Context, batch [][]string) bool {
	c.s.stats.commands.Add(int64(len(batch)))
	p := pipeline{c: c, ctx: ctx, out: c.out[:0]}
	if len(batch) == 1 {
		a := c.dispatch(ctx, batch[0], nil)
		p.write(a, c.proto) // HELLO's own reply is in the protocol that it chose
		return p.flush() && !c.ending
	}
	for _, args := range batch {
		if c.ending {
			break
		}
		p.start(args)
	}
	return p.finish() && !c.ending
}

// dispatch carries out one command, or hands it to run, if given, when it may be
// carried out beside others.
func (c *session) dispatch(ctx context.Context, args []string, run func(keys []string, f func() answer)) answer {
	info, err := resp.Check(args)
	c.noteCommand(info.Name)
	defer c.noteState()
	// As in Redis, what is wrong with the words of a command is said before the login
	// is asked for; what is served is not.
	if !c.authed && info.Flags&resp.NoAuth == 0 && (err == nil || info.Family == resp.Refused) {
		err = resp.ErrNoAuth
	}
	if err != nil {
		return plain(c.refuse(info, err))
	}
	if c.proto == resp.RESP2 && c.listens.any() && !whileSubscribed(info) {
		return plain(c.refuse(info, resp.Subscribed(info.Name)))
	}
	if c.multi.open && !transactional(info.Name) {
		return plain(c.multi.queue(c, info, args))
	}
	switch info.Family {
	case resp.Local:
		return plain(c.local(info.Name, args))
	case resp.Session:
		if run != nil {
			run(nil, nil) // it speaks of what was before it: wait for that
		}
		if err := resp.Reserved(args); err != "" && !c.multi.open {
			return plain(err)
		}
		return c.transaction(ctx, info.Name, args)
	}
	request, err := resp.Parse(args)
	if err != nil {
		return plain(failure(err))
	}
	if info.Family == resp.Walk {
		if run != nil {
			run(nil, nil) // it speaks of all keys: wait for what was before it
		}
		return plain(c.s.walk(ctx, request))
	}
	if run == nil {
		return c.s.execute(ctx, c, request)
	}
	keys := resp.Keys(args)
	if r, ok := request.(resp.Eval); ok {
		confined, err := c.s.scripts.prepare(c.s.answered(ctx), r)
		if err != nil {
			return plain(failure(err))
		}
		if !confined {
			keys = nil
		}
	}
	run(keys, func() answer { return c.s.execute(ctx, c, request) })
	return answer{}
}

// refuse is the reply to a command that can't be begun.
func (c *session) refuse(info resp.Info, err error) resp.Reply {
	reply := failure(err)
	if because, isError := reply.(resp.Error); isError && info.Name == "exec" {
		c.multi.forget()
		return resp.ExecAborted(because)
	}
	c.multi.spoil()
	return reply
}

// gone tells whether the client has hung up.
func (c *session) gone() bool { return c.conn.HungUp() }

func (c *session) noteCommand(name string) {
	now := time.Now()
	c.mu.Lock()
	c.last, c.active = name, now
	c.mu.Unlock()
}

// noteState makes known to CLIENT LIST what the last command has changed.
func (c *session) noteState() {
	c.speaks.Store(int64(c.proto))
	c.queuing.Store(c.multi.count())
}
