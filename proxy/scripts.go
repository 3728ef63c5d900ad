package proxy

import (
	"context"
	"slices"
	"sync"
	"time"

	"redlockproxy/proxy/lua"
	"redlockproxy/proxy/metrics"
	"redlockproxy/quorum"
	"redlockproxy/resp"
)

// scripts are the texts that clients run, and what was learned about each. Scripts
// run in the proxy; backends never see one.
type scripts struct {
	cache *lua.Cache

	mu      sync.Mutex
	guesses map[string]guess // by digest
	most    int
}

// A guess says what made a script's first run right the last time.
type guess struct {
	kind quorum.AssumptionKind
	arg  int // for AssumeValue: the argument that was the value
}

func newScripts(cache *lua.Cache, most int) *scripts {
	return &scripts{cache: cache, guesses: make(map[string]guess), most: most}
}

// change puts other limits in force.
func (x *scripts) change(most int, limits lua.Limits) {
	x.cache.Change(most, limits)
	x.mu.Lock()
	x.most = most
	x.mu.Unlock()
}

// assume is the guess for the next run. A script that was not seen yet is taken for
// a release or an extension by the owner, which has its token in the first argument:
// acquisitions are mostly plain SET commands.
func (x *scripts) assume(digest string, args []string) quorum.Assumption {
	x.mu.Lock()
	g, known := x.guesses[digest]
	x.mu.Unlock()
	if !known {
		g = guess{kind: quorum.AssumeValue}
	}
	if g.kind == quorum.AssumeValue {
		if g.arg >= len(args) {
			return quorum.Assumption{}
		}
		return quorum.Assumption{Kind: g.kind, Value: args[g.arg]}
	}
	return quorum.Assumption{Kind: g.kind}
}

// learn keeps what would have been the right guess. Only runs that wrote something
// count: a release that comes too late, or an attempt on a lock that is taken, says
// nothing of the usual case.
func (x *scripts) learn(digest string, t quorum.Transaction, args []string) {
	if !t.Wrote {
		return
	}
	g := guess{kind: t.Seen.Kind}
	if g.kind == quorum.AssumeValue {
		if g.arg = slices.Index(args, t.Seen.Value); g.arg < 0 {
			g = guess{kind: quorum.AssumeNothing}
		}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if _, known := x.guesses[digest]; !known && len(x.guesses) >= x.most {
		clear(x.guesses) // they are learned again at a round's cost each
	}
	x.guesses[digest] = g
}

// texts are the scripts that are known: those of the proxy, or as a transaction has them.
type texts interface {
	Load(ctx context.Context, text string) (*lua.Script, error)
	Get(ctx context.Context, digest string) (*lua.Script, bool)
	Exists(digest string) bool
	Flush()
}

var (
	_ texts = (*lua.Cache)(nil)
	_ texts = (*lua.Draft)(nil)
)

// script answers SCRIPT LOAD, EXISTS and FLUSH.
func script(ctx context.Context, known texts, request resp.Request) resp.Reply {
	switch r := request.(type) {
	case resp.ScriptLoad:
		script, err := known.Load(ctx, r.Script)
		if err != nil {
			return failure(err)
		}
		return resp.Bulk(script.Digest())
	case resp.ScriptExists:
		list := make(resp.Array, len(r.Digests))
		for i, d := range r.Digests {
			list[i] = resp.Int(0)
			if known.Exists(d) {
				list[i] = resp.Int(1)
			}
		}
		return list
	}
	known.Flush()
	return resp.OK
}

// find is the script that a client means, and whether it must not write.
func find(ctx context.Context, known texts, r resp.Eval) (script *lua.Script, readOnly bool, err error) {
	if !r.ByDigest {
		script, err = known.Load(ctx, r.Script)
	} else if known, ok := known.Get(ctx, r.Script); ok {
		script = known
	} else {
		err = resp.ErrNoScript
	}
	switch {
	case err != nil:
		return nil, false, err
	case r.ReadOnly && script.Promise() == lua.Writes:
		return nil, false, resp.ErrWritingScript
	}
	return script, r.ReadOnly || script.Promise() == lua.NoWrites, nil
}

// prepare loads the text of an EVAL that is about to run, so that an EVALSHA sent
// right behind it finds the script, although both run side by side. It tells whether the
// script is confined to its keys: others wait for all before them, and all behind them for
// those. The error says that there is no script to run: one whose text comes later was not
// there, whatever runs first.
func (x *scripts) prepare(ctx context.Context, r resp.Eval) (confined bool, err error) {
	if !r.ByDigest {
		script, err := x.cache.Load(ctx, r.Script)
		return err == nil && script.Confined(), err
	}
	script, ok := x.cache.Get(ctx, r.Script)
	if !ok {
		return false, resp.ErrNoScript
	}
	return script.Confined(), nil
}

// A due is a context with a deadline of which only those know who ask for it. It needs no
// timer, and hardly any script runs for so long that it has to ask.
type due struct {
	context.Context
	end time.Time
}

// Deadline implements context.Context.
func (d due) Deadline() (time.Time, bool) { return d.end, true }

// over tells whether nobody waits for the answer any more.
func over(ctx context.Context) bool {
	end, ends := ctx.Deadline()
	return ends && time.Now().After(end)
}

// answered is a context for scripts that begin now: nobody waits for them when the time
// for the answer is over, and they need not keep others from computing.
func (s *Server) answered(ctx context.Context) context.Context {
	return due{ctx, time.Now().Add(s.cfg().Server.AnswerWithin)}
}

// eval runs a client's script as a transaction.
func (s *Server) eval(ctx context.Context, r resp.Eval) answer {
	ctx = s.answered(ctx)
	script, readOnly, err := find(ctx, s.scripts.cache, r)
	if err != nil {
		return plain(s.failure(err))
	}
	r.ReadOnly = readOnly
	resource := ""
	if len(r.Keys) > 0 {
		resource = r.Keys[0]
	}
	var reply resp.Reply
	var last *quorum.View
	assume := s.scripts.assume(script.Digest(), r.Args)
	var keys []quorum.Key
	if len(r.Keys) > 1 {
		keys = unique(r.Keys)
	}
	a, t := s.commit(ctx, metrics.Script, assume, resource, func(v *quorum.View) (err error) {
		last = v
		v.Announce(keys...)
		reply, err = script.Run(ctx, r.Keys, r.Args, s.host(v, r.ReadOnly))
		return err
	}, func() resp.Reply { return reply })
	if !t.Wrote && s.stale(ctx, script, r, last) {
		s.metrics.Stale()
	}
	s.scripts.learn(script.Digest(), t, r.Args)
	return a
}

// runScript runs a script as one step of an EXEC.
func (s *Server) runScript(ctx context.Context, v *quorum.View, known texts, r resp.Eval) (resp.Reply, error) {
	script, readOnly, err := find(ctx, known, r)
	if err != nil {
		return failure(err), nil
	}
	return script.Run(ctx, r.Keys, r.Args, s.host(v, readOnly))
}

// A host carries out what a script calls, on the transaction's view.
type host struct {
	s        *Server
	v        *quorum.View
	readOnly bool
}

var _ lua.Host = (*host)(nil)

func (s *Server) host(v *quorum.View, readOnly bool) *host {
	return &host{s: s, v: v, readOnly: readOnly}
}

// Call implements lua.Host. A command that is not served makes the script fail, and
// nothing of it is written.
func (h *host) Call(args []string) (resp.Reply, error) {
	info, err := resp.Check(args)
	if err != nil {
		return h.inScript(args, info, err)
	}
	switch {
	case info.Flags&resp.NoScript != 0, info.Family == resp.Walk:
		return resp.ErrNotInScript, nil
	case h.readOnly && info.Flags&resp.Write != 0:
		return resp.ErrReadOnlyScript, nil
	case info.Family == resp.Local:
		return h.local(info.Name, args), nil
	}
	request, err := resp.Parse(args)
	if err != nil {
		return failure(err), nil
	}
	return h.s.engine.Apply(h.v, request)
}

// inScript is an error of resp.Check in the words that Redis has for it in scripts.
// For a command or subcommand that is not served it ends the run.
func (h *host) inScript(args []string, checked resp.Info, err error) (resp.Reply, error) {
	info, known := resp.Lookup(args[0])
	switch {
	case !known:
		return resp.ErrUnknownInScript, nil
	case info.Name == "publish":
		return h.publish(args), nil
	case info.Family == resp.Refused || checked.Family == resp.Refused:
		return nil, err
	case len(args) > 1 && err == error(resp.UnknownSubcommand(info.Name, args[1])):
		return resp.ErrUnknownInScript, nil
	case err == error(resp.WrongArity(info.Name)), err == error(resp.WrongArity(checked.Name)):
		return resp.ErrArityInScript, nil
	}
	return failure(err), nil
}

// publish tells nobody, and says so: it answers 0. Some libraries release a lock and
// tell of it in one script, so that others need not wait until they look again; an
// error would take the release back. A PUBLISH by itself is refused, since there
// the message is all that is wanted.
func (h *host) publish(args []string) resp.Reply {
	switch {
	case len(args) != 3:
		return resp.ErrArityInScript
	case h.readOnly:
		return resp.ErrReadOnlyScript
	}
	return resp.Int(0)
}

// local answers what Redis lets scripts ask of the server.
func (h *host) local(name string, args []string) resp.Reply {
	if name == "ping" {
		return ping(args)
	}
	if reply := h.s.local(name, args); reply != nil {
		return reply
	}
	return resp.ErrNotInScript
}
