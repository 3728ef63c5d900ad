package lua

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"redlockproxy/proxy/turnstile"
	"redlockproxy/resp"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// oneMachine gives a machine that every script of a test runs on, one after the other.
func oneMachine(t *testing.T) func(text string) string {
	t.Helper()
	v := newVM()
	return func(text string) string {
		t.Helper()
		s, err := Compile(text, Limits{})
		if err != nil {
			t.Fatal(err)
		}
		v.meter.reset(context.Background(), *s.limits.Load(), turnstile.New(heavyRuns))
		v.host, v.resp3, v.random = newMapHost(), false, randomStart
		reply, err := v.run(s, []string{"key"}, []string{"arg"})
		if err != nil {
			return "void: " + err.Error()
		}
		if v.broken {
			t.Fatalf("%s: the machine would not be used again", text)
		}
		v.protos = nil
		return show(reply)
	}
}

// What a script leaves behind on purpose, and a second one that looks for it on the
// same machine.
func TestNothingIsLeftForTheNextScript(t *testing.T) {
	for _, c := range []struct{ leave, look, clean string }{
		{`pcall(function() x = 'leak' end) return 1`, `return tostring(rawget(_G, 'x'))`, `"nil"`},
		{`pcall(rawset, _G, 'x', 'leak') return 1`, `return tostring(rawget(_G, 'x'))`, `"nil"`},
		{`pcall(function() _G.x = 'leak' end) return 1`, `return tostring(rawget(_G, 'x'))`, `"nil"`},
		{`pcall(function() string.x = 'leak' end) return 1`, `return tostring(string.x)`, `"nil"`},
		{`pcall(rawset, string, 'x', 'leak') return 1`, `return tostring(('').x)`, `"nil"`},
		{`pcall(function() getmetatable('').x = 'leak' end) return 1`, `return tostring(getmetatable('').x)`, `"nil"`},
		{`pcall(function() getmetatable('').__index.x = 'leak' end) return 1`, `return tostring(('').x)`, `"nil"`},
		{`pcall(rawset, getmetatable('').__index, 'x', 'leak') return 1`, `return tostring(('').x)`, `"nil"`},
		{`pcall(setmetatable, _G, {__index = function() return 'leak' end}) return 1`, `return tostring(pcall(function() return nothing end))`, `"false"`},
		{`pcall(setmetatable, string, {}) return 1`, `return ('x'):rep(2)`, `"xx"`},
		{`pcall(table.insert, redis, 'leak') return 1`, `return #redis`, `:0`},
		{`pcall(table.insert, _G, 'leak') return 1`, `return tostring(rawget(_G, 1))`, `"nil"`},
		{`pcall(table.sort, math, function() end) return 1`, `return type(math.floor)`, `"function"`},
		{`pcall(function() redis.call = function() return 'leak' end end) return 1`, `return redis.call('ECHO', 'x')`, `"x"`},
		{`KEYS[1] = 'leak' KEYS.x = 'leak' return 1`, `return {KEYS[1], tostring(KEYS.x), #KEYS}`, `["key" "nil" :1]`},
		{`ARGV[2] = 'leak' table.insert(ARGV, 'leak') return 1`, `return {ARGV[1], #ARGV}`, `["arg" :1]`},
		{`setmetatable(KEYS, {__index = function() return 'leak' end}) return 1`, `return tostring(KEYS[5])`, `"nil"`},
		{`math.randomseed(99) return math.random(1000)`, `return math.random(1, 100)`, `:40`},
		{`redis.setresp(3) return 1`, `return redis.call('GET', 'none') == false`, `:1`},
		{`local t = {} t[1] = t return type(t)`, `return 1`, `:1`},
		{`local up = 'leak' local f = function() return up end return f()`, `local a local f = function() return a end return tostring(f())`, `"nil"`},
		{`pcall(function() local up = 'leak' local f = function() return up end error('x') end) return 1`, `return tostring((function() local a return a end)())`, `"nil"`},
		{`return loadstring('local x = "leak" return x')()`, `local x return tostring(x)`, `"nil"`},
		{`for k in pairs(_G) do pcall(function() _G[k] = nil end) end return 1`, `return {type(redis), type(string), type(pcall), type(KEYS)}`, `["table" "table" "function" "table"]`},
		{`local s = 'x' .. 'y' return s`, `return #KEYS`, `:1`},
		{`pcall(function() cjson.null = 1 end) return 1`, `return type(cjson.null)`, `"userdata"`},
		{`pcall(setmetatable, cjson.null, {__index = {x = 'leak'}}) return 1`, `return tostring(pcall(function() return cjson.null.x end))`, `"false"`},
		{`local up = 'leak' local f = function() return up end error('x')`, `local a local f = function() return a end return tostring(f())`, `"nil"`},
		{`local a, b, c = 'leak', 'leak', 'leak' local f = function() a = b return c end redis.call('NOSUCH')`, `local a, b, c local f = function() return tostring(a) .. tostring(b) .. tostring(c) end b = 1 return f()`, `"nil1nil"`},
		{`local function f(n) local up = n local g = function() return up end return 1 + f(n + 1) + g() end f(1)`, `local a, b local function f(n) local up = n return function() return up end end return f(5)()`, `:5`},
		{`KEYS = nil`, `return #KEYS`, `:1`},
		{`local k = KEYS k[5] = 'leak' error({err = 'E x'})`, `return tostring(KEYS[5])`, `"nil"`},
		{`pcall(setmetatable, tostring, {}) return 1`, `return 1`, `:1`},
	} {
		run := oneMachine(t)
		if first := run(c.leave); strings.HasPrefix(first, "void") {
			t.Errorf("%s: %s", c.leave, first)
		}
		if got := run(c.look); got != c.clean {
			t.Errorf("after %s\n  %s gives %s, not %s", c.leave, c.look, got, c.clean)
		}
	}
}

// Every value that a script can reach from its globals is either read-only or new
// in each run: this walks them all and tries to write.
func TestEverythingReachableIsReadOnly(t *testing.T) {
	got := ours(t, `
		local open, seen = {}, {[KEYS] = true, [ARGV] = true}
		local function walk(path, t)
			if type(t) ~= 'table' or seen[t] then return end
			seen[t] = true
			if pcall(function() t.written = 1 end) then open[#open + 1] = path .. ' by assignment' end
			if pcall(rawset, t, 'written', 1) then open[#open + 1] = path .. ' by rawset' end
			if pcall(setmetatable, t, {}) then open[#open + 1] = path .. ' by setmetatable' end
			if pcall(table.insert, t, 1) then open[#open + 1] = path .. ' by insert' end
			for k, v in pairs(t) do walk(path .. '.' .. tostring(k), v) end
			local m = getmetatable(t)
			walk(path .. ':meta', m)
		end
		walk('_G', _G)
		walk('string', getmetatable(''))
		return open`, nil, nil, newMapHost())
	if got != "[]" {
		t.Errorf("writable: %s", got)
	}
}

func TestDangerousNamesAreAbsent(t *testing.T) {
	for _, name := range []string{
		"io", "os", "debug", "package", "require", "module", "dofile", "loadfile", "print",
		"getfenv", "setfenv", "newproxy", "channel", "_printregs", "_GOPHER_LUA_VERSION",
	} {
		want := fmt.Sprintf("-ERR user_script:1: Script attempted to access nonexistent global variable '%s' script: ", name)
		if got := ours(t, "return "+name, nil, nil, newMapHost()); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s", name, got)
		}
	}
	got := ours(t, `local r = {} for k in pairs(_G) do r[#r + 1] = k end table.sort(r) return table.concat(r, ' ')`, nil, nil, newMapHost())
	want := `"ARGV KEYS _G _VERSION assert bit cjson collectgarbage error gcinfo getmetatable ipairs load loadstring math next pairs pcall rawequal rawget rawset redis select server setmetatable string table tonumber tostring type unpack xpcall"`
	if got != want {
		t.Errorf("the globals are %s", got)
	}
}

func TestServerIsRedis(t *testing.T) {
	if got := ours(t, `return server.call('ECHO', server == redis and 'same' or 'other')`, nil, nil, newMapHost()); got != `"same"` {
		t.Error(got)
	}
}

func TestHostRepliesBecomeLuaValues(t *testing.T) {
	for _, c := range []struct {
		reply        resp.Reply
		resp2, resp3 string
	}{
		{resp.Int(5), "number 5", "number 5"},
		{resp.Int(9007199254740993), "number 9.007199254741e+15", "number 9.007199254741e+15"},
		{resp.Bulk("a\x00b"), "string a\x00b", "string a\x00b"},
		{resp.Status("OK"), "ok OK", "ok OK"},
		{resp.Error("CODE text"), "err CODE text", "err CODE text"},
		{resp.Error("ALONE"), "err ERR ALONE", "err ERR ALONE"},
		{resp.Null{}, "boolean false", "nil nil"},
		{resp.NullArray{}, "boolean false", "nil nil"},
		{nil, "boolean false", "nil nil"},
		{resp.Array{resp.Int(1), resp.Null{}, resp.Array{resp.Bulk("x")}}, "list 1 false x", "list 1 nil x"},
		{resp.Verbatim("text"), "string text", "string text"},
	} {
		for version, want := range map[int]string{2: c.resp2, 3: c.resp3} {
			got := ours(t, fmt.Sprintf(`redis.setresp(%d) local v = redis.pcall('X')
				if type(v) ~= 'table' then return type(v) .. ' ' .. tostring(v) end
				if v.ok then return 'ok ' .. v.ok end
				if v.err then return 'err ' .. v.err end
				return 'list ' .. v[1] .. ' ' .. tostring(v[2]) .. ' ' .. v[3][1]`, version), nil, nil, fixedHost{c.reply})
			if got != show(resp.Bulk(want)) {
				t.Errorf("%v in version %d: %s, not %q", c.reply, version, got, want)
			}
		}
	}
}

// A fixedHost always gives one reply.
type fixedHost struct{ reply resp.Reply }

func (h fixedHost) Call([]string) (resp.Reply, error) { return h.reply, nil }

func TestReplyThatNestsTooDeepEnds(t *testing.T) {
	for _, text := range []string{
		`local t = {} t[1] = t return t`,
		`local t = {} t.map = {x = t} return t`,
		`local t = {} for i = 1, 500 do t = {t} end return t`,
	} {
		if got := ours(t, text, nil, nil, newMapHost()); !strings.Contains(got, "-ERR reached lua stack limit") {
			t.Errorf("%s: %.100s", text, got)
		}
	}
}

func TestOneScriptRunsManyTimesAtOnce(t *testing.T) {
	s, err := Compile(`local t = {} for i = 1, 50 do t[i] = KEYS[1] .. i end redis.call('SET', KEYS[1], t[50]) return redis.call('GET', KEYS[1])`, Limits{MaxTime: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			key := fmt.Sprintf("key%d-", i)
			host := newMapHost()
			for range 100 {
				reply, err := s.Run(context.Background(), []string{key}, nil, host)
				if err != nil || reply != resp.Reply(resp.Bulk(key+"50")) {
					t.Errorf("reply %v, error %v", reply, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

func TestDigestsOfKnownScripts(t *testing.T) {
	for text, want := range map[string]string{
		"": "da39a3ee5e6b4b0d3255bfef95601890afd80709",
		"if redis.call(\"get\",KEYS[1]) == ARGV[1] then\n    return redis.call(\"del\",KEYS[1])\nelse\n    return 0\nend": "647c65a442733a1aa440f99908d249d13b4d6c4a",
	} {
		if got := Digest(text); got != want {
			t.Errorf("%q: %s, not %s", text, got, want)
		}
	}
}
