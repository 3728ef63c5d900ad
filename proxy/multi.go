package proxy

import (
	"context"
	"slices"
	"strings"

	"redlockproxy/proxy/lua"
	"redlockproxy/proxy/metrics"
	"redlockproxy/quorum"
	"redlockproxy/resp"
)

// multi is a connection's transaction: MULTI, what was queued, and WATCH.
type multi struct {
	open    bool
	spoiled bool // a command could not be queued: EXEC must refuse
	blind   bool // a WATCH failed: EXEC must refuse, since some clients ignore WATCH's reply
	queued  []queued
	watched []watched
	bytes   int // of all that is kept
	named   int // keys of what is queued
}

// A queued command waits for EXEC: a request on keys or, if that is nil, a command
// that the proxy answers itself.
type queued struct {
	request resp.Request
	name    string
	args    []string
	keys    []string
	writes  bool
	refused resp.Reply // what EXEC is to say of a command with wrong arguments
}

// A watched key is one whose change makes EXEC answer null.
type watched struct {
	key quorum.Key
	was quorum.Holding
}

// maxQueued bounds the commands of one MULTI, maxNamed the keys that they name, and
// maxWatched those of WATCH: they become one operation at the backends, in a single step,
// which others wait for. Together they may have as many bytes as one command, and a
// queued word, were it empty, takes wordBytes of them.
const (
	maxQueued  = 1024
	maxNamed   = 4096
	maxWatched = 1024
	wordBytes  = 16
)

// room takes n bytes more on; false if that is too many.
func (m *multi) room(c *session, n int) bool {
	if m.bytes+n > c.s.cfg().Server.MaxCommandBytes {
		return false
	}
	m.bytes += n
	return true
}

// transactional tells whether a command acts on the transaction instead of being
// queued in it.
func transactional(name string) bool {
	switch name {
	case "multi", "exec", "discard", "watch", "quit", "reset":
		return true
	}
	return false
}

func (m *multi) spoil() {
	if m.open {
		m.spoiled = true
	}
}

// count is how many commands are queued, or -1 outside of MULTI.
func (m *multi) count() int64 {
	if !m.open {
		return -1
	}
	return int64(len(m.queued))
}

// forget ends the transaction, its watches included.
func (m *multi) forget() { *m = multi{} }

func (m *multi) queue(c *session, info resp.Info, args []string) resp.Reply {
	if info.Family == resp.Walk || info.Flags&resp.PubSub != 0 {
		// All keys can't be guarded by one step, and a subscription has more than one reply.
		m.spoil()
		return resp.ErrNotInMulti
	}
	q := queued{name: info.Name, args: args, keys: resp.Keys(args), writes: info.Flags&resp.Write != 0}
	if info.Family != resp.Local && info.Family != resp.Session {
		request, err := resp.Parse(args)
		if err != nil {
			q.refused = failure(err) // as in Redis, the others are carried out
		}
		q.request = request
	}
	size := 0
	for _, a := range args {
		size += len(a) + wordBytes
	}
	m.named += len(q.keys)
	if len(m.queued) >= maxQueued || m.named > maxNamed || !m.room(c, size) {
		m.spoil()
		return resp.ErrTooManyQueued
	}
	m.queued = append(m.queued, q)
	return resp.Status("QUEUED")
}

// transaction carries out MULTI, EXEC, DISCARD, WATCH and UNWATCH.
func (c *session) transaction(ctx context.Context, name string, args []string) answer {
	m := &c.multi
	switch name {
	case "multi":
		if m.open {
			return plain(resp.ErrNestedMulti)
		}
		m.open = true
	case "discard":
		if !m.open {
			return plain(resp.ErrDiscardWithoutMulti)
		}
		m.forget()
	case "unwatch":
		m.forget()
	case "watch":
		if m.open {
			return plain(resp.ErrWatchInMulti)
		}
		reply := c.watch(ctx, args[1:])
		m.blind = m.blind || reply != resp.OK
		return plain(reply)
	case "exec":
		return c.exec(ctx)
	}
	return plain(resp.OK)
}

// watch remembers what a majority holds now of the keys that are not watched yet: of all
// of them or, if it answers an error, of none.
func (c *session) watch(ctx context.Context, names []string) resp.Reply {
	keys := slices.DeleteFunc(unique(names), func(k quorum.Key) bool {
		return slices.ContainsFunc(c.multi.watched, func(w watched) bool { return w.key == k })
	})
	if len(keys) == 0 {
		return resp.OK
	}
	if len(c.multi.watched)+len(keys) > maxWatched {
		return resp.ErrTooManyWatched
	}
	held, err := c.s.group.Read(ctx, keys, true)
	if err != nil {
		return c.s.failure(err)
	}
	size := 0
	for i, k := range keys {
		size += len(k) + len(held[i].Stored)
	}
	if !c.multi.room(c, size) {
		return resp.ErrTooManyWatched
	}
	for i, k := range keys {
		c.multi.watched = append(c.multi.watched, watched{key: quorum.Key(strings.Clone(string(k))), was: held[i]})
	}
	return resp.OK
}

// exec carries out the queued commands in one step, if what is watched is as it was.
func (c *session) exec(ctx context.Context) answer {
	if !c.multi.open {
		return plain(resp.ErrExecWithoutMulti)
	}
	ctx = c.s.answered(ctx)
	m := c.multi
	c.multi.forget()
	if m.spoiled {
		return plain(resp.ErrExecAbort)
	}
	if m.blind {
		return plain(resp.ErrUnwatched)
	}
	// What the proxy answers itself is done after the rest, once: the transaction may be
	// run several times, or come to nothing.
	var replies resp.Array
	var known *lua.Draft
	finish := func() resp.Reply {
		known.Keep(ctx)
		for i, q := range m.queued {
			if q.request == nil && q.refused == nil {
				replies[i] = c.localInMulti(q)
				if !resp.Fits(replies) { // what was written stays, and is told
					replies[i] = resp.ErrReplySize
				}
			}
		}
		return replies
	}
	assume, resource, written := quorum.Assumption{}, "", false
	var names []string
	for _, q := range m.queued {
		if q.request == nil {
			continue
		}
		// What log lines call it: by the first key that it may write or, for want of one, by
		// the first.
		if len(q.keys) > 0 && (resource == "" || q.writes && !written) {
			resource, written = q.keys[0], q.writes
		}
		names = append(names, q.keys...)
	}
	for _, w := range m.watched {
		names = append(names, string(w.key))
	}
	keys := unique(names)
	a, _ := c.s.commit(ctx, metrics.Script, assume, resource, func(v *quorum.View) error {
		v.Announce(keys...)
		replies, known = make(resp.Array, 0, len(m.queued)), c.s.scripts.cache.Draft()
		for _, w := range m.watched {
			if err := v.Expect(w.key, w.was); err != nil {
				return err
			}
		}
		for _, q := range m.queued {
			if over(ctx) {
				return context.DeadlineExceeded
			}
			reply, err := c.step(ctx, v, known, q)
			if err != nil {
				return err
			}
			replies = append(replies, reply)
		}
		_, err := fitting(replies, nil)
		return err
	}, finish)
	return a
}

func (c *session) localInMulti(q queued) resp.Reply {
	if q.name == "unwatch" {
		return resp.OK
	}
	return c.local(q.name, q.args)
}

// step is one queued command, as far as it is about keys. The error is for the
// transaction, not for the client.
func (c *session) step(ctx context.Context, v *quorum.View, known texts, q queued) (resp.Reply, error) {
	if q.refused != nil {
		return q.refused, nil
	}
	switch r := q.request.(type) {
	case nil:
		return nil, nil // finish gives the reply
	case resp.Eval:
		return c.s.runScript(ctx, v, known, r)
	case resp.ScriptLoad, resp.ScriptExists, resp.ScriptFlush:
		return script(ctx, known, r), nil
	}
	return c.s.engine.Apply(v, q.request)
}
