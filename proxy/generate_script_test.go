package proxy_test

import (
	"fmt"
	"strconv"
	"strings"

	"redlockproxy/resp"
)

// A genScript is a text with the number of keys and of arguments that it wants.
type genScript struct {
	keys, args int
	text       string
}

// The first of genScripts are what libraries lock with.
var genScripts = []genScript{
	{1, 1, release}, {1, 2, extend},
	{1, 2, `if redis.call("SET",KEYS[1],ARGV[1],"NX","PX",ARGV[2]) then return 1 else return 0 end`},
	{1, 2, `local v = redis.call("GET",KEYS[1]) if v == false or v == ARGV[1] then redis.call("SET",KEYS[1],ARGV[1],"PX",ARGV[2]) return 1 end return redis.call("PTTL",KEYS[1]) > 0 and -3 or -1`},
	{2, 2, `for _, k in ipairs(KEYS) do if redis.call("exists", k) == 1 then return 0 end end for _, k in ipairs(KEYS) do redis.call("set", k, ARGV[1], "PX", ARGV[2]) end return #KEYS`},
	{2, 1, `local n = 0 for _, k in ipairs(KEYS) do if redis.call("type", k).ok == "string" and redis.call("get", k) == ARGV[1] then n = n + redis.call("del", k) end end return n`},
	{2, 2, `if redis.call('setnx',KEYS[1],ARGV[1]) == 1 then redis.call('pexpire',KEYS[1],ARGV[2]) return redis.call('pcall' and 'incr',KEYS[2]) end return redis.call('get',KEYS[1])`},
	{1, 1, `local r = redis.pcall('incr', KEYS[1]) if type(r) == 'table' then return r.err end return r + tonumber(#ARGV[1])`},
	{2, 0, `return {redis.call('exists', KEYS[1]), redis.call('strlen', KEYS[2]), redis.call('type', KEYS[1])}`},
	{1, 2, `return {KEYS[1], ARGV[2], ARGV[1], #ARGV, 3.99, true, false, 'end'}`},
	{1, 0, `redis.call('set', KEYS[1], 'once') redis.call('set', KEYS[1], 'twice') return redis.call('get', KEYS[1])`},
	{1, 0, `local t = redis.call('ttl', KEYS[1]) if t == -2 then return 'absent' elseif t == -1 then return 'lasting' end return 'volatile'`},
	{0, 1, `return redis.error_reply('MINE ' .. #ARGV[1])`}, {0, 0, `return redis.sha1hex('x')`}, {0, 1, `return cjson.encode({a = #ARGV[1]})`},
	{0, 0, `return redis.call('nosuch')`}, {1, 0, `return redis.call('get')`}, {1, 0, `return redis.pcall('incrby', KEYS[1], 'x')`},
	{0, 0, `error('on purpose')`}, {0, 0, `return {err='ERR mine'}`}, {0, 0, `return {ok='fine'}`},
	{0, 0, `return {double=0.1}`}, {0, 0, `return {set={a=true}}`}, {0, 0, `return {big_number='-12345678901234567890'}`}, {0, 0, `redis.setresp(3) return {true, false, {map={k=false}}, {verbatim_string={format='txt', string='x'}}}`},
	{0, 0, `undefined = 1`}, {0, 0, `return`},
}

func (g *generator) eval() []string {
	if g.IntN(4) == 0 {
		return g.program()
	}
	s := pick(g, g.scripts...)
	name, text := pick(g, "EVAL", "EVAL", "EVAL", "EVAL_RO"), s.text+g.remark
	if g.IntN(3) == 0 {
		name, text = pick(g, "EVALSHA", "EVALSHA", "EVALSHA", "EVALSHA_RO"), digest(text)
	}
	args := []string{g.odd(name), text, strconv.Itoa(s.keys)}
	key := g.key
	if strings.Contains(s.text, "incr") {
		key = g.number
	}
	for range s.keys {
		args = append(args, key())
	}
	for i := range s.args {
		if i == 1 {
			args = append(args, fmt.Sprint(g.millis()))
		} else {
			args = append(args, g.value())
		}
	}
	return args
}

// newScripts makes the commands that follow have two scripts that no server knows, so that
// what they do is met by its digest before and after it is loaded. What it returns ends that.
func (g *generator) newScripts() (end func()) {
	remark := g.remark
	g.remark += strconv.FormatUint(g.Uint64(), 36)
	g.scripts = []genScript{pick(g, genScripts...), pick(g, genScripts...)}
	return func() { g.remark, g.scripts = remark, genScripts }
}

// texts is SCRIPT EXISTS or SCRIPT LOAD.
func (g *generator) texts() []string {
	text := pick(g, g.scripts...).text + g.remark
	if g.IntN(2) == 0 {
		return []string{"SCRIPT", g.odd("LOAD"), text}
	}
	return []string{"SCRIPT", "EXISTS", digest(text), strings.ToUpper(digest(text)), g.value()}
}

// interpreter is a script that carries out the commands in its arguments, each behind
// the number of its words, and answers what came of them.
const interpreter = `local i, out = 1, {} while i <= #ARGV do local n = tonumber(ARGV[i]) local r = redis.pcall(unpack(ARGV, i + 1, i + n))
if type(r) == 'table' and r.err then r = 'error: ' .. r.err elseif type(r) == 'table' and r.ok then r = 'status: ' .. r.ok elseif r == false then r = 'nil' end
out[#out + 1] = r i = i + n + 1 end return out`

// program is a script that carries out some commands.
func (g *generator) program() []string {
	var keys, rest []string
	for range 1 + g.IntN(4) {
		command := g.read()
		switch g.IntN(8) {
		case 0, 1, 2, 3:
			command = g.write()
		case 4:
			command = g.conditional()
		}
		if strings.HasSuffix(strings.ToUpper(command[0]), "TTL") || strings.HasSuffix(strings.ToUpper(command[0]), "EXPIRETIME") {
			command = []string{"GET", g.key()} // numbers in a list are not compared with tolerance
		}
		keys = append(keys, resp.Keys(command)...)
		rest = append(append(rest, strconv.Itoa(len(command))), command...)
	}
	args := append([]string{g.odd("EVAL"), interpreter + g.remark, strconv.Itoa(len(keys))}, keys...)
	return append(args, rest...)
}
