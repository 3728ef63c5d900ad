package lua

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"redlockproxy/resp"
)

// bombs are scripts that would never end, or fill the memory.
var bombs = map[string]string{
	"loop":                    `while true do end`,
	"repeat":                  `repeat until false`,
	"goto":                    `::a:: goto a`,
	"loop in pcall":           `while true do pcall(function() while true do end end) end`,
	"loop of failing pcalls":  `while true do pcall(error, 'x') end`,
	"loop in xpcall handler":  `xpcall(error, function() while true do end end) while true do end`,
	"pcall of pcall":          `local function f() pcall(f) pcall(f) end while true do f() end`,
	"recursion":               `local function f() return 1 + f() end while true do pcall(f) end`,
	"mutual tail calls":       `local f, g function g() return f() end function f() return g() end f()`,
	"endless tail call":       `local function f() return f() end return f()`,
	"metamethod recursion":    `local t = setmetatable({}, {}) getmetatable(t).__index = function(t, k) return t[k + 1] end while true do pcall(function() return t[1] end) end`,
	"string doubling":         `local s = 'x' while true do s = s .. s end`,
	"string doubling, caught": `local s = 'x' while true do pcall(function() s = s .. s end) end`,
	"long concat":             `local s = string.rep('x', 100000) local t = {} for i = 1, 1e6 do t[i] = s .. i end`,
	"rep":                     `return string.rep('x', 1e9)`,
	"rep of rep":              `return ('x'):rep(1e6):rep(1e6)`,
	"rep with huge count":     `return ('x'):rep(1e300)`,
	"rep kept":                `local t = {} for i = 1, 1e6 do t[i] = ('x'):rep(1e6) end`,
	"format width":            `local s = '' while true do s = s .. string.format('%99d', 1) end`,
	"format of format":        `local s = '%s%s' while true do s = ('%s%s'):format(s, s) end`,
	"table filled":            `local t = {} local i = 0 while true do i = i + 1 t[i] = i end`,
	"table of tables":         `local t = {} local i = 0 while true do i = i + 1 t[i] = {} end`,
	"table of strings":        `local t = {} local i = 0 while true do i = i + 1 t['k' .. i] = true end`,
	"table with float keys":   `local t = {} local i = 0 while true do i = i + 0.5 t[i] = i end`,
	"table with a huge index": `local t = {} t[67108863] = 1 return #t`,
	"huge index, no loop":     `local t = {} t[KEYS and 5e7] = 1`,
	"huge index by rawset":    `local t = {} rawset(t, 67108863, 1)`,
	"huge index by insert":    `local t = {} table.insert(t, 67108863, 1)`,
	"nested tables":           `local t = {} while true do t = {t} end`,
	"closures kept":           `local t = {} local i = 0 while true do i = i + 1 t[i] = function() return i end end`,
	"concat of a table":       `local t = {} for i = 1, 1000 do t[i] = ('x'):rep(1000) end while true do local s = table.concat(t) .. table.concat(t) end`,
	"concat over a range":     `return table.concat({}, 'x', -1e15, 1e15)`,
	"concat separator":        `local t = {} for i = 1, 1000 do t[i] = '' end return table.concat(t, ('x'):rep(1e5))`,
	"unpack":                  `return unpack({}, 1, 1e9)`,
	"unpack often":            `local t = {} for i = 1, 7000 do t[i] = i end while true do local n = select('#', unpack(t)) end`,
	"sort with a liar":        `local t = {} for i = 1, 1000 do t[i] = i end while true do table.sort(t, function() return true end) end`,
	"gsub grows":              `local s = 'x' while true do s = s:gsub('x', 'xx') end`,
	"gsub with long text":     `return (('x'):rep(1000):gsub('x', ('y'):rep(10000)))`,
	"find, exponential":       `return (('a'):rep(40)):find(('a?'):rep(40) .. ('a'):rep(40))`,
	"find, cubic":             `return (('a'):rep(100000)):find('.-.-.-b')`,
	"match, quadratic":        `return (('a'):rep(1000000)):match('(a*)b')`,
	"match, back reference":   `return (('a'):rep(100000)):match('(.+)%1b')`,
	"match, balance":          `return (('('):rep(1000000)):match('%b()')`,
	"deep pattern":            `return (('a'):rep(10000)):find(('a?'):rep(5000)), ('x'):rep(1e9)`,
	"gmatch":                  `while true do for w in ('a b c'):gmatch('%a') do end end`,
	"byte":                    `local s = ('x'):rep(7000) while true do local n = select('#', s:byte(1, -1)) end`,
	"compare long strings":    `local a, b = ('x'):rep(1e6), ('x'):rep(1e6) local n = 0 while a <= b do n = n + 1 end`,
	"reverse":                 `local s = ('x'):rep(1e6) while true do s = s:reverse() end`,
	"loadstring":              `while true do loadstring('return ' .. ('1+'):rep(50) .. '1') end`,
	"load":                    `load(function() return 'x ' end) while true do end`,
	"load of loads":           `local s = 'while true do end' loadstring('loadstring("' .. s .. '")()')()`,
	"bomb in loadstring":      `loadstring('local s = "x" while true do s = s .. s end')()`,
	"bomb in gsub callback":   `('x'):gsub('x', function() while true do end end)`,
	"bomb in tostring":        `tostring(setmetatable({}, {__tostring = function() while true do end end}))`,
	"bomb in a sort order":    `table.sort({3, 2, 1}, function() while true do end end)`,
	"json":                    `local t = {} for i = 1, 20 do t = {t, t} end return cjson.encode(t)`,
	"json decode":             `while true do cjson.decode('[[[[[]]]]]') end`,
	"reply in reply":          `local t = {} for i = 1, 100 do t = {t, t} end return t`,
	"commands for ever":       `while true do redis.call('GET', 'x') end`,
	"caught commands":         `while true do redis.pcall('NOSUCH') end`,
	"sha1hex":                 `local s = ('x'):rep(1e6) while true do redis.sha1hex(s) end`,
	"error texts":             `local s = ('x'):rep(1e6) while true do redis.error_reply(s) end`,
}

func TestEveryBombEndsInTimeAndMemory(t *testing.T) {
	for name, text := range bombs {
		t.Run(name, func(t *testing.T) {
			s, err := Compile(text, Limits{})
			if err != nil {
				t.Fatal(err)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := time.Now()
			reply, err := s.Run(context.Background(), nil, nil, newMapHost())
			took := time.Since(start)
			runtime.ReadMemStats(&after)
			var stopped resp.Error
			if err == nil {
				if e, ok := reply.(resp.Error); ok {
					stopped = e
				}
			} else if !errors.As(err, &stopped) || reply != nil {
				t.Errorf("reply %v, error %v", reply, err)
			}
			if stopped == "" && name != "match, back reference" {
				t.Errorf("it went through: %v", show(reply))
			}
			// A hundred times the limit, for machines that are busy and slowed by -race:
			// without a bound these take minutes, or for ever.
			if took > 100*DefaultMaxTime {
				t.Errorf("took %v", took)
			}
			if mb := (after.TotalAlloc - before.TotalAlloc) >> 20; mb > 3*DefaultMaxMemory>>20 {
				t.Errorf("allocated %d MB", mb)
			}
			t.Logf("%8v %4d KB  %s", took.Round(time.Microsecond), (after.TotalAlloc-before.TotalAlloc)>>10, stopped)
		})
	}
}

func TestNothingCatchesALimit(t *testing.T) {
	for _, text := range []string{
		`while true do pcall(function() while true do end end) end`,
		`pcall(function() while true do end end) return 'escaped'`,
		`xpcall(function() while true do end end, function() return 1 end) return 'escaped'`,
		`pcall(pcall, pcall, function() while true do end end) return 'escaped'`,
		`pcall(string.rep, 'x', 1e9) return 'escaped'`,
		`pcall(string.gsub, 'x', 'x', function() while true do end end) return 'escaped'`,
		`local t = setmetatable({}, {__index = function() while true do end end}) pcall(function() return t.x end) return 'escaped'`,
	} {
		s, err := Compile(text, Limits{})
		if err != nil {
			t.Fatal(err)
		}
		reply, err := s.Run(context.Background(), nil, nil, newMapHost())
		var e resp.Error
		if !errors.As(err, &e) || !strings.HasPrefix(string(e), "ERR Script stopped: it needs ") {
			t.Errorf("%s: reply %v, error %v", text, reply, err)
		}
	}
}

func TestHostErrorVoidsTheRunAndCannotBeCaught(t *testing.T) {
	gone := errors.New("no quorum")
	for _, text := range []string{
		`return redis.call('GET', 'k')`,
		`return redis.pcall('GET', 'k')`,
		`pcall(redis.call, 'GET', 'k') return redis.call('DEL', 'k')`,
		`pcall(function() redis.call('GET', 'k') end) redis.call('DEL', 'k') return 1`,
		`xpcall(function() redis.call('GET', 'k') end, function() redis.call('DEL', 'k') end) return 1`,
		`pcall(pcall, redis.call, 'GET', 'k') return 1`,
	} {
		s, err := Compile(text, Limits{})
		if err != nil {
			t.Fatal(err)
		}
		host := newMapHost()
		host.err = gone
		reply, err := s.Run(context.Background(), nil, nil, host)
		if err != gone || reply != nil {
			t.Errorf("%s: reply %v, error %v", text, reply, err)
		}
		if host.calls != 1 {
			t.Errorf("%s: the script went on to %d calls", text, host.calls)
		}
	}
}

func TestEndOfTheContextEndsTheRun(t *testing.T) {
	s, err := Compile(`redis.call('PING') while true do end`, Limits{MaxTime: time.Hour, MaxSteps: 1 << 60})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if reply, err := s.Run(ctx, nil, nil, newMapHost()); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("reply %v, error %v", reply, err)
	}
	if reply, err := s.Run(ctx, nil, nil, newMapHost()); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("started although the context was over: reply %v, error %v", reply, err)
	}
}

// A slowHost takes longer than a run may compute.
type slowHost struct{ *mapHost }

func (h slowHost) Call(args []string) (resp.Reply, error) {
	time.Sleep(30 * time.Millisecond)
	return h.mapHost.Call(args)
}

func TestTimeInTheHostDoesNotCount(t *testing.T) {
	s, err := Compile(`for i = 1, 5 do for j = 1, 100 do end redis.call('PING') end return 'done'`, Limits{MaxTime: 25 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if reply, err := s.Run(context.Background(), nil, nil, slowHost{newMapHost()}); err != nil || reply != resp.Reply(resp.Bulk("done")) {
		t.Errorf("reply %v, error %v", reply, err)
	}
}

func TestTextsThatAreSlowToCompileAreRefused(t *testing.T) {
	many := strings.Repeat
	for name, text := range map[string]string{
		"too long":          "return '" + many("x", 70<<10) + "'",
		"left sums":         "return x" + many("+1", 30000),
		"negations":         "return " + many("- ", 30000) + "x",
		"tables":            "return " + many("{", 30000) + many("}", 30000),
		"functions":         "return " + many("function() return ", 2000) + many(" end", 2000),
		"blocks":            many("do ", 9000) + many(" end", 9000),
		"elseif":            "if x then " + many("elseif x then ", 4000) + " end",
		"calls":             "return x" + many("()", 30000),
		"constants":         "return {" + numbers(12000) + "}",
		"locals":            many("local a ", 8000),
		"unfinished string": "return '" + many("x", 60000),
	} {
		start := time.Now()
		if _, err := Compile(text, Limits{}); err == nil {
			t.Errorf("%s: accepted", name)
		} else if !strings.HasPrefix(err.Error(), "ERR Error compiling script (new function): user_script:") || len(err.Error()) > 70000 {
			t.Errorf("%s: %.100s", name, err)
		}
		if took := time.Since(start); took > 2*time.Second {
			t.Errorf("%s: took %v", name, took)
		}
	}
}

func numbers(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(formatNumber(float64(i)))
		b.WriteByte(',')
	}
	return b.String()
}
