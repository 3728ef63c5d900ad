package lua

import (
	"context"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"redlockproxy/resp"
)

// ours runs a script here, and shows what a client would get.
func ours(t *testing.T, text string, keys, args []string, host Host) string {
	t.Helper()
	s, err := Compile(text, Limits{})
	if err != nil {
		return show(err.(resp.Error))
	}
	reply, err := s.Run(context.Background(), keys, args, host)
	if err != nil {
		return "void: " + err.Error()
	}
	return show(reply)
}

// theirs runs it in Redis, on an empty database.
func theirs(t *testing.T, r *redisServer, text string, keys, args []string) string {
	t.Helper()
	r.do(t, "FLUSHALL")
	return evalIn(t, r, text, keys, args)
}

func evalIn(t *testing.T, r *redisServer, text string, keys, args []string) string {
	t.Helper()
	command := append([]string{"EVAL", text, strconv.Itoa(len(keys))}, keys...)
	return show(r.do(t, append(command, args...)...))
}

// lines reads a file of testdata; \n in a script stands for a line break.
func lines(t *testing.T, name string) []string {
	t.Helper()
	file, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimRight(string(file), "\n"), "\n")
}

func TestScriptsGiveTheRepliesOfRedis(t *testing.T) {
	r := startRedis(t)
	for _, line := range lines(t, "scripts.txt") {
		text := strings.ReplaceAll(line, `\n`, "\n")
		want := theirs(t, r, text, nil, nil)
		if got := ours(t, text, nil, nil, newMapHost()); got != want {
			t.Errorf("%s\n  redis %s\n  here  %s", line, want, got)
		}
	}
}

// The file of differences is what the documentation points to, so both sides of it
// have to be true.
func TestDifferencesFromRedisAreAsListed(t *testing.T) {
	r := startRedis(t)
	digest := regexp.MustCompile(`[0-9a-f]{40}`)
	list := lines(t, "differences.txt")
	for i := 0; i+2 < len(list); i += 3 {
		text := strings.ReplaceAll(list[i], `\n`, "\n")
		redis := digest.ReplaceAllString(theirs(t, r, text, nil, nil), "<sha>")
		here := digest.ReplaceAllString(ours(t, text, nil, nil, newMapHost()), "<sha>")
		if list[i+1] != "\tredis "+redis || list[i+2] != "\there  "+here {
			t.Errorf("%s\n\tredis %s\n\there  %s", list[i], redis, here)
		}
	}
}

// families are the scripts of lock libraries, by what they do; K and A are set up
// and called in every state a lock can be in.
var families = map[string]struct {
	text string
	keys int
	args []string
}{
	"acquire: set":                 {`return redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2])`, 1, []string{"me", "60000"}},
	"acquire: exists, then set":    {`for _, k in ipairs(KEYS) do if redis.call('exists', k) == 1 then return 0 end end for _, k in ipairs(KEYS) do redis.call('set', k, ARGV[1], 'PX', ARGV[2]) end return #KEYS`, 2, []string{"me", "60000"}},
	"acquire: mine or free":        {`local v = redis.call('get', KEYS[1]) if not v or v == ARGV[1] then return redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2]) end return redis.error_reply('ERROR')`, 1, []string{"me", "60000"}},
	"acquire: only if asked":       {`if (redis.call('exists', KEYS[1]) == 0 and ARGV[3] == 'yes') or redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2]) end`, 1, []string{"me", "60000", "yes"}},
	"acquire: prefix":              {`if redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[3]) then return redis.status_reply('OK') end local n = tonumber(ARGV[2]) if redis.call('getrange', KEYS[1], 0, n - 1) == string.sub(ARGV[1], 1, n) then return redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[3]) end return false`, 1, []string{"me", "2", "60000"}},
	"acquire: several":             {`local kv = {} for _, k in ipairs(KEYS) do kv[#kv + 1] = k kv[#kv + 1] = ARGV[1] end if redis.call('MSETNX', unpack(kv)) == 0 then for _, k in ipairs(KEYS) do if redis.call('getrange', k, 0, tonumber(ARGV[2]) - 1) ~= string.sub(ARGV[1], 1, tonumber(ARGV[2])) then return false end end redis.call('mset', unpack(kv)) end for _, k in ipairs(KEYS) do redis.call('pexpire', k, ARGV[3]) end return redis.status_reply('OK')`, 2, []string{"me", "2", "60000"}},
	"acquire: and read":            {`local r = redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) redis.call('GET', KEYS[1]) return r`, 1, []string{"me", "60000"}},
	"acquire: true or nil":         {`local id = redis.call('GET', KEYS[1]) if id == ARGV[1] then redis.call('PEXPIRE', KEYS[1], ARGV[2]) return true elseif not id then redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2]) return true end return false`, 1, []string{"me", "60000"}},
	"acquire: setex":               {`return redis.call('exists', KEYS[1]) < 1 and redis.call('setex', KEYS[1], ARGV[2], ARGV[1])`, 1, []string{"me", "60"}},
	"acquire: with fencing number": {`if redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return redis.call('incr', KEYS[2]) end return false`, 2, []string{"me", "60000"}},
	"release":                      {compareAndDelete, 1, []string{"me"}},
	"release: constants":           {`local token = redis.call('get', KEYS[1]) if not token or token ~= ARGV[1] then return 0 end redis.call('del', KEYS[1]) return 1`, 1, []string{"me"}},
	"release: missing told":        {`local v = redis.call("GET", KEYS[1]) if v == ARGV[1] then return redis.call("DEL", KEYS[1]) elseif v == false then return -1 else return 0 end`, 1, []string{"me"}},
	"release: other told":          {`local v = redis.call("get", KEYS[1]) if v == ARGV[1] then return redis.call("del", KEYS[1]) elseif not v then return -1 end return -2`, 1, []string{"me"}},
	"release: status and error":    {`local v = redis.call('get', KEYS[1]) if v == ARGV[1] then return redis.call('del', KEYS[1]) elseif v == false then return redis.status_reply('OK') end return redis.error_reply('ERROR')`, 1, []string{"me"}},
	"release: unlink":              {`if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('UNLINK', KEYS[1]) return true end return false`, 1, []string{"me"}},
	"release: all or nothing":      {`local values = redis.call('mget', unpack(KEYS)) for i = 1, #KEYS do if values[i] ~= ARGV[1] then return false end end redis.call('del', unpack(KEYS)) return redis.status_reply('OK')`, 2, []string{"me"}},
	"release: each":                {`local n = 0 for i, k in ipairs(KEYS) do if redis.call("get", k) == ARGV[1] then redis.pcall("del", k) n = n + 1 end end return n`, 2, []string{"me"}},
	"extend":                       {`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("pexpire", KEYS[1], ARGV[2]) else return 0 end`, 1, []string{"me", "90000"}},
	"extend: add":                  {`local token = redis.call('get', KEYS[1]) if not token or token ~= ARGV[1] then return 0 end local left = redis.call('pttl', KEYS[1]) if not left then left = 0 end if left < 0 then return 0 end local new = ARGV[2] if ARGV[3] == "0" then new = ARGV[2] + left end redis.call('pexpire', KEYS[1], new) return 1`, 1, []string{"me", "90000", "0"}},
	"extend: or take":              {`if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("PEXPIRE", KEYS[1], ARGV[2]) elseif redis.call("SET", KEYS[1], ARGV[1], "NX", "PX", ARGV[2]) then return 1 else return 0 end`, 1, []string{"me", "90000"}},
	"extend: or -1":                {`local v = redis.call('get', KEYS[1]) if v == false then return redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2]) and 1 or 0 elseif v == ARGV[1] then return redis.call('pexpire', KEYS[1], ARGV[2]) else return -1 end`, 1, []string{"me", "90000"}},
	"extend: all":                  {`for _, k in ipairs(KEYS) do if redis.call("get", k) ~= ARGV[1] then return 0 end end for _, k in ipairs(KEYS) do redis.call("set", k, ARGV[1], "PX", ARGV[2]) end return #KEYS`, 2, []string{"me", "90000"}},
	"extend: absolute":             {`if redis.call("GET", KEYS[1]) == ARGV[1] then local r = redis.call("PEXPIREAT", KEYS[1], ARGV[2]) redis.call("GET", KEYS[1]) return r end return 0`, 1, []string{"me", "4000000000000"}},
	"extend: numbered codes":       {`if redis.call("get", KEYS[1]) ~= ARGV[2] then return 1 elseif redis.call("ttl", KEYS[1]) < 0 then return 2 else redis.call("expire", KEYS[1], ARGV[1]) return 0 end`, 1, []string{"90", "me"}},
	"extend: status":               {`local v = redis.call('mget', unpack(KEYS)) for i, _ in ipairs(KEYS) do if v[i] ~= ARGV[1] then return nil end end for _, k in ipairs(KEYS) do redis.call('pexpire', k, ARGV[2]) end return redis.status_reply("OK")`, 2, []string{"me", "90000"}},
	"extend: expire or persist":    {`if redis.call('get', KEYS[1]) == ARGV[1] then if tonumber(ARGV[2]) > 0 then return redis.call('expire', KEYS[1], ARGV[2]) else return redis.call('persist', KEYS[1]) end else return 0 end`, 1, []string{"me", "0"}},
	"inspect: left":                {`if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end local left = redis.call('pttl', KEYS[1]) return left > 0 and left or 0`, 1, []string{"me"}},
	"inspect: smallest":            {`local least = 0 local v = redis.call('mget', unpack(KEYS)) for i, k in ipairs(KEYS) do if v[i] ~= ARGV[1] then return nil end local left = redis.call('pttl', k) if left > 0 and (least == 0 or left < least) then least = left end end return least`, 2, []string{"me"}},
	"inspect: -3":                  {`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("pttl", KEYS[1]) else return -3 end`, 1, []string{"me"}},
	"inspect: error":               {`if redis.call('get', KEYS[1]) ~= ARGV[1] then return {err = 'ERROR not the holder'} end return redis.call('ttl', KEYS[1])`, 1, []string{"me"}},
	"inspect: pair":                {`return {redis.call('get', KEYS[1]), redis.call('pttl', KEYS[1])}`, 1, nil},
}

// states are what the keys hold before a script runs.
var states = map[string][][]string{
	"free":             nil,
	"mine":             {{"SET", "k1", "me", "PX", "60000"}, {"SET", "k2", "me", "PX", "60000"}},
	"mine, no ttl":     {{"SET", "k1", "me"}, {"SET", "k2", "me"}},
	"another's":        {{"SET", "k1", "you", "PX", "60000"}, {"SET", "k2", "you", "PX", "60000"}},
	"one mine":         {{"SET", "k1", "me", "PX", "60000"}},
	"one another's":    {{"SET", "k2", "7", "PX", "60000"}},
	"mine and yours":   {{"SET", "k1", "me", "PX", "60000"}, {"SET", "k2", "you", "PX", "60000"}},
	"number, an empty": {{"SET", "k1", "me2", "PX", "60000"}, {"SET", "k2", ""}},
}

func TestLockScriptsDoWhatTheyDoInRedis(t *testing.T) {
	r := startRedis(t)
	keys := []string{"k1", "k2"}
	for name, f := range families {
		for state, setup := range states {
			r.do(t, "FLUSHALL")
			host := newMapHost()
			for _, command := range setup {
				r.do(t, command...)
				if _, err := host.Call(command); err != nil {
					t.Fatal(err)
				}
			}
			want := evalIn(t, r, f.text, keys[:f.keys], f.args)
			got := ours(t, f.text, keys[:f.keys], f.args, host)
			if !sameButForTime(got, want) {
				t.Errorf("%s, %s:\n  redis %s\n  here  %s", name, state, want, got)
			}
			for _, key := range keys {
				here, _ := host.Call([]string{"GET", key})
				if there := show(r.do(t, "GET", key)); there != show(here) {
					t.Errorf("%s, %s: afterwards %s holds %s in Redis, %s here", name, state, key, there, show(here))
				}
				here, _ = host.Call([]string{"PTTL", key})
				there := r.do(t, "PTTL", key)
				if there.(resp.Int) < 1e9 && !sameButForTime(show(here), show(there)) {
					t.Errorf("%s, %s: afterwards %s lives %s in Redis, %s here", name, state, key, show(there), show(here))
				}
			}
		}
	}
}

var number = regexp.MustCompile(`\d+`)

// sameButForTime compares replies; a remaining time may be a second less in Redis,
// where time goes on.
func sameButForTime(here, redis string) bool {
	if here == redis {
		return true
	}
	a, b := number.FindAllString(here, -1), number.FindAllString(redis, -1)
	if number.ReplaceAllString(here, "#") != number.ReplaceAllString(redis, "#") || len(a) != len(b) {
		return false
	}
	for i := range a {
		x, _ := strconv.Atoi(a[i])
		y, _ := strconv.Atoi(b[i])
		if x != y && (x < 10_000 || x-y < 0 || x-y > 1000) {
			return false
		}
	}
	return true
}
