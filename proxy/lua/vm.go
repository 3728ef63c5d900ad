package lua

import (
	"context"
	"reflect"
	"sync"

	gl "github.com/yuin/gopher-lua"

	"redlockproxy/proxy/turnstile"
	"redlockproxy/resp"
)

// A Host carries out the commands of a script.
type Host interface {
	// Call carries out one redis.call or redis.pcall; args is never empty, and the
	// host may keep it. A reply that is a resp.Error is an error of the command:
	// redis.call raises it, redis.pcall returns it, and the script may go on. An
	// error makes the whole run void: the machine stops at once, nothing in the
	// script can catch it, and Run returns it as it is.
	Call(args []string) (resp.Reply, error)
}

// Run runs the script with KEYS and ARGV set to keys and args.
//
// The reply is what Redis would send for the script's value; a script that fails
// by itself gives a resp.Error as its reply. The error says that the run is void,
// and that nothing the script asked for may take effect: it is the host's own
// error, the context's, or a resp.Error for a run that went over its Limits.
//
// The run ends at ctx's deadline also where ctx's Done knows nothing of it.
//
// Whether a script may write is for the host to know: it sees every command.
func (s *Script) Run(ctx context.Context, keys, args []string, host Host) (resp.Reply, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	v := s.idle.get()
	limits := *s.limits.Load()
	v.meter.reset(ctx, limits, s.idle.turns)
	v.tell(limits.Version)
	v.host, v.resp3, v.random = host, false, randomStart
	reply, err := v.run(s, keys, args)
	v.yield()
	s.idle.put(v)
	return reply, err
}

// A thread is a stack of the virtual machine.
type thread struct {
	state *gl.LState
	frame reflect.Value // the field currentFrame of state
}

func newThread(L *gl.LState) *thread {
	t := &thread{state: L}
	if layoutKnown {
		t.frame = reflect.ValueOf(L).Elem().Field(layout.currentFrame)
	}
	return t
}

// A vm is one virtual machine. It runs one script at a time, and afterwards holds
// nothing that the next one could see: all tables that scripts reach are
// read-only, but for KEYS, ARGV and what a script makes itself, which are new in
// each run. After a run that was stopped, or met a bug of the machine, it is thrown
// away.
type vm struct {
	meter
	main    *thread
	current *thread   // the one that executes
	spare   []*thread // for pcall, idle
	depth   int       // of nested pcalls
	broken  bool      // not to be used again

	global *gl.LTable                // what global names mean
	frozen map[*gl.LTable]*gl.LTable // read-only tables, and what they show
	protos map[uintptr]*gl.FunctionProto

	stringMeta *gl.LTable    // what getmetatable shows for a string
	nextIndex  *gl.LFunction // what ipairs iterates with
	jsonNull   *gl.LUserData // cjson.null
	redis      *gl.LTable    // the library
	version    string        // that it tells

	host   Host
	resp3  bool   // after redis.setresp(3)
	random uint64 // state of math.random
}

// A pool keeps idle machines: building one takes some 50 microseconds, a usual
// script two. Scripts that share it take turns when they are heavy.
type pool struct {
	idle  sync.Pool
	turns *turnstile.Turnstile
}

func newPool() *pool { return &pool{turns: turnstile.New(heavyRuns)} }

func (p *pool) get() *vm {
	if v, ok := p.idle.Get().(*vm); ok {
		return v
	}
	return newVM()
}

func (p *pool) put(v *vm) {
	if v.broken {
		return
	}
	v.host, v.ctx, v.watch, v.protos = nil, nil, nil, nil
	p.idle.Put(v)
}

func (v *vm) run(s *Script, keys, args []string) (reply resp.Reply, err error) {
	// The machine turns its own panics into errors; this is for those of the code
	// around it, so that no script can end the process.
	defer func() {
		if r := recover(); r != nil {
			v.broken = true
			reply, err = nil, resp.Error("ERR Script stopped: it cannot be run")
		}
	}()
	v.use(s.code)
	L := v.main.state
	v.global.RawSetString("KEYS", stringTable(L, keys))
	v.global.RawSetString("ARGV", stringTable(L, args))
	L.Push(L.NewFunctionFromProto(s.code.main))
	raised := L.PCall(0, 1, nil)
	if v.failure != nil {
		v.broken = true
		return nil, v.void(s)
	}
	v.forget()
	if raised != nil {
		v.broken = panicked(raised)
		return resp.Error(oneLine(scriptError(raised) + " script: " + s.digest + position(raised))), nil
	}
	reply = v.reply(L.Get(-1), 0)
	L.SetTop(0)
	if v.failure != nil {
		return nil, v.void(s)
	}
	return reply, nil
}

// forget drops what the run has made global.
func (v *vm) forget() {
	v.global.RawSetString("KEYS", gl.LNil)
	v.global.RawSetString("ARGV", gl.LNil)
}

// panicked tells whether an error is a panic of the machine rather than one raised
// in Lua. Only the latter closes the variables that closures share with the stack,
// so only then the stack can be used again.
func panicked(err error) bool {
	e, ok := err.(*gl.ApiError)
	return !ok || e.Type != gl.ApiErrorRun
}

// void is what Run returns for a run that has failed: a limit by its text and the
// script's digest, any other error as it came.
func (v *vm) void(s *Script) error {
	if l, ok := v.failure.(limit); ok {
		return resp.Error(string(l) + " script: " + s.digest)
	}
	return v.failure
}

// use makes the machine ready for a piece of code.
func (v *vm) use(c *chunk) {
	if !c.watched {
		return
	}
	if v.watch == nil {
		v.protos = c.protos
		v.watchWith(v.inspect)
		return
	}
	// A second piece, from loadstring: the first one's map belongs to its Script.
	both := make(map[uintptr]*gl.FunctionProto, len(v.protos)+len(c.protos))
	for _, m := range []map[uintptr]*gl.FunctionProto{v.protos, c.protos} {
		for k, p := range m {
			both[k] = p
		}
	}
	v.protos = both
}

func stringTable(L *gl.LState, list []string) *gl.LTable {
	t := L.CreateTable(len(list), 0)
	for _, s := range list {
		t.Append(gl.LString(s))
	}
	return t
}

// protect calls the function at the bottom of L's stack with the values above it.
// It replaces them all by the results, or by the error, and reports which.
//
// It uses a thread of its own, because gopher-lua, when an error passes, detaches
// the variables that closures share with functions further out: those of the same
// thread, even outside the pcall. An own thread keeps them together.
func (v *vm) protect(L *gl.LState) bool {
	if v.depth >= maxProtected {
		raise(L, "stack overflow")
	}
	t := v.takeThread(L)
	n := L.GetTop()
	for i := 1; i <= n; i++ {
		t.state.Push(L.Get(i))
	}
	L.SetTop(0)
	outer := v.current
	v.current = t
	v.depth++
	raised := t.state.PCall(n-1, gl.MultRet, nil)
	v.depth--
	v.current = outer
	if v.failure != nil {
		v.stop(L)
	}
	if raised != nil {
		v.spend(32, 1024) // the trace that comes with an error
		L.Push(raisedValue(raised))
		if !panicked(raised) {
			v.spare = append(v.spare, t)
		}
		return false
	}
	for i, n := 1, t.state.GetTop(); i <= n; i++ {
		L.Push(t.state.Get(i))
	}
	t.state.SetTop(0)
	v.spare = append(v.spare, t)
	return true
}

// takeThread takes an idle thread or makes one.
func (v *vm) takeThread(L *gl.LState) *thread {
	v.mustSpend(L, 8, 256)
	if n := len(v.spare); n > 0 {
		t := v.spare[n-1]
		v.spare = v.spare[:n-1]
		return t
	}
	v.mustSpend(L, 100, 32<<10)
	// NewThread derives a context for the thread; it is to have ours instead.
	main := v.main.state
	main.RemoveContext()
	state, _ := main.NewThread()
	main.SetContext(&v.meter)
	state.SetContext(&v.meter)
	return newThread(state)
}

// mustSpend spends, or raises the error that ends the run. It looks at the clock
// too, since a library function may work long without an instruction between.
func (v *vm) mustSpend(L *gl.LState, steps, bytes int64) {
	if v.spend(steps, bytes) && v.sinceNow >= 4*stride {
		v.checkTime()
	}
	if v.failure != nil {
		v.stop(L)
	}
}

// stop leaves the function that is running; the run is over.
func (v *vm) stop(L *gl.LState) {
	L.Error(gl.LString(v.failure.Error()), 0)
}
