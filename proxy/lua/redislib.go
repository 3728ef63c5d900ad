package lua

import (
	"strconv"
	"strings"
	"time"

	gl "github.com/yuin/gopher-lua"

	"redlockproxy/resp"
)

func (v *vm) redisLibrary() *gl.LTable {
	t := v.library(map[string]func(call) int{
		"call":               func(c call) int { return c.command(true) },
		"pcall":              func(c call) int { return c.command(false) },
		"error_reply":        redisErrorReply,
		"status_reply":       redisStatusReply,
		"sha1hex":            redisSHA1Hex,
		"log":                redisLog,
		"setresp":            redisSetResp,
		"set_repl":           redisSetRepl,
		"replicate_commands": func(c call) int { return c.push(gl.LTrue) },
		"breakpoint":         func(c call) int { return c.push(gl.LFalse) },
		"debug":              func(call) int { return 0 },
	})
	for name, n := range map[string]int{
		"LOG_DEBUG": 0, "LOG_VERBOSE": 1, "LOG_NOTICE": 2, "LOG_WARNING": 3,
		"REPL_NONE": 0, "REPL_AOF": 1, "REPL_SLAVE": 2, "REPL_REPLICA": 2, "REPL_ALL": 3,
	} {
		t.RawSetString(name, gl.LNumber(n))
	}
	v.redis = t
	return t
}

// tell sets the version that a script finds in redis.REDIS_VERSION, and the number with a
// byte for each of its parts.
func (v *vm) tell(version string) {
	if v.version == version {
		return
	}
	v.version = version
	num := 0
	for part := range strings.SplitSeq(version, ".") {
		n, _ := strconv.Atoi(part)
		num = num<<8 | n
	}
	v.redis.RawSetString("REDIS_VERSION", gl.LString(version))
	v.redis.RawSetString("REDIS_VERSION_NUM", gl.LNumber(num))
}

// command is redis.call, which raises what redis.pcall returns.
func (c call) command(raises bool) int {
	n := c.L.GetTop()
	if n == 0 {
		return c.giveError("Please specify at least one argument for this redis lib call", raises)
	}
	c.pay(16, 64+16*n)
	args := make([]string, n)
	for i := range args {
		switch x := c.L.Get(i + 1).(type) {
		case gl.LString:
			args[i] = string(x)
		case gl.LNumber:
			args[i] = formatG(float64(x), 17)
		default:
			return c.giveError("Lua redis lib command arguments must be strings or integers", raises)
		}
	}
	reply, err := c.ask(args)
	if err != nil {
		c.fail(err)
		c.stop(c.L)
	}
	if e, ok := reply.(resp.Error); ok {
		return c.giveError("-"+string(e), raises)
	}
	c.L.Push(c.value(reply, 0))
	return 1
}

// ask hands a command to the host, and stops the run's clock meanwhile.
func (c call) ask(args []string) (resp.Reply, error) {
	started := !c.read.IsZero()
	if started {
		c.clock()
	}
	reply, err := c.host.Call(args)
	if started {
		c.read = time.Now()
	}
	if err == nil {
		err = c.ctx.Err()
	}
	return reply, err
}

// giveError returns an error as a table, or raises it.
func (c call) giveError(text string, raises bool) int {
	t := c.errorTable(text)
	if raises {
		c.L.Error(t, 1)
	}
	return c.push(t)
}

// errorTable makes the table that stands for an error. A text with a minus in
// front starts with its error code; any other gets the code ERR.
func (c call) errorTable(text string) *gl.LTable {
	code := "ERR"
	if rest, coded := strings.CutPrefix(text, "-"); coded {
		text = rest
		if before, after, ok := strings.Cut(text, " "); ok {
			code, text = before, after
		}
	}
	text = code + " " + strings.Trim(text, "\r\n")
	c.payText(len(text))
	c.pay(0, tableBytes)
	t := c.L.CreateTable(0, 1)
	t.RawSetString("err", gl.LString(text))
	return t
}

func redisErrorReply(c call) int {
	text, ok := c.L.Get(1).(gl.LString)
	if c.L.GetTop() != 1 || !ok {
		return c.giveError("wrong number or type of arguments", false)
	}
	return c.giveError("-"+strings.TrimPrefix(string(text), "-"), false)
}

func redisStatusReply(c call) int {
	text, ok := c.L.Get(1).(gl.LString)
	if c.L.GetTop() != 1 || !ok {
		return c.giveError("wrong number or type of arguments", false)
	}
	c.pay(0, tableBytes)
	t := c.L.CreateTable(0, 1)
	t.RawSetString("ok", text)
	return c.push(t)
}

func redisSHA1Hex(c call) int {
	if c.L.GetTop() != 1 {
		return c.giveError("wrong number of arguments", true)
	}
	text, _ := toText(c.L.Get(1))
	c.pay(1+len(text)/16, 64+len(text))
	return c.push(gl.LString(Digest(text)))
}

// redisLog checks what Redis checks and writes nothing: a client's script does
// not get to fill the proxy's log.
func redisLog(c call) int {
	if c.L.GetTop() < 2 {
		return c.giveError("redis.log() requires two arguments or more.", true)
	}
	level, ok := toNumber(c.L.Get(1))
	if !ok {
		return c.giveError("First argument must be a number (log level).", true)
	}
	if n := toInteger(level); n < 0 || n > 3 {
		return c.giveError("Invalid debug level.", true)
	}
	return 0
}

func redisSetResp(c call) int {
	if c.L.GetTop() != 1 {
		return c.giveError("redis.setresp() requires one argument.", true)
	}
	version, _ := toNumber(c.L.Get(1))
	if n := toInteger(version); n != 2 && n != 3 {
		return c.giveError("RESP version must be 2 or 3.", true)
	}
	c.resp3 = toInteger(version) == 3
	return 0
}

func redisSetRepl(c call) int {
	if c.L.GetTop() != 1 {
		return c.giveError("redis.set_repl() requires two arguments.", true)
	}
	flags, _ := toNumber(c.L.Get(1))
	if n := toInteger(flags); n < 0 || n > 3 {
		return c.giveError("Invalid replication flags. Use REPL_AOF, REPL_REPLICA, REPL_ALL or REPL_NONE.", true)
	}
	return 0
}
