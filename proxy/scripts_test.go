package proxy_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"redlockproxy/proxy/redistest"
)

// Ways in which libraries release and extend locks, each with its own answers.
const (
	// -1 for a lock that is not there.
	releaseOrMissing = `local held = redis.call("GET", KEYS[1]) if held == ARGV[1] then return redis.call("DEL", KEYS[1]) elseif held == false then return -1 else return 0 end`
	// How many of the keys were released.
	releaseCounting = `local n = 0 for _, key in ipairs(KEYS) do if redis.call("get", key) == ARGV[1] then n = n + redis.call("del", key) end end return n`
	// All keys or none.
	extendAll = `for _, key in ipairs(KEYS) do if redis.call("get", key) ~= ARGV[1] then return 0 end end for _, key in ipairs(KEYS) do redis.call("set", key, ARGV[1], "px", ARGV[2]) end return #KEYS`
	// Adds to what is left.
	extendAdding = `local token = redis.call('get', KEYS[1]) if not token or token ~= ARGV[1] then return 0 end local left = redis.call('pttl', KEYS[1]) if left < 0 then left = 0 end redis.call('pexpire', KEYS[1], left + ARGV[2]) return 1`
	// Takes the lock if nobody has it.
	extendOrTake = `if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("PEXPIRE", KEYS[1], ARGV[2]) elseif redis.call("SET", KEYS[1], ARGV[1], "PX", ARGV[2], "NX") then return 1 else return 0 end`
)

func TestDialectsOfReleaseAndExtensionAnswerAsTheirLibrariesExpect(t *testing.T) {
	w := newWorld(t)
	c := w.client()
	take := func(keys ...string) {
		for _, k := range keys {
			c.want(ok, "SET", k, "own", "NX", "PX", "60000")
		}
	}
	take("a")
	c.want(int64(0), "EVAL", releaseOrMissing, "1", "a", "foreign")
	c.want(int64(1), "EVAL", releaseOrMissing, "1", "a", "own")
	c.want(int64(-1), "EVAL", releaseOrMissing, "1", "a", "own")

	take("a", "b", "c")
	c.want(int64(3), "EVAL", extendAll, "3", "a", "b", "c", "own", "50000")
	c.want(int64(0), "EVAL", extendAll, "3", "a", "b", "missing", "own", "50000")
	c.want(int64(0), "EVAL", releaseCounting, "3", "a", "b", "c", "foreign")
	c.want(int64(2), "EVAL", releaseCounting, "3", "a", "b", "missing", "own")
	c.want(int64(1), "EVAL", releaseCounting, "3", "a", "b", "c", "own")
	w.gone("a", "b", "c", "missing")

	c.want(int64(1), "EVAL", extendOrTake, "1", "a", "own", "50000")
	c.want(int64(1), "EVAL", extendOrTake, "1", "a", "own", "50000")
	c.want(int64(0), "EVAL", extendOrTake, "1", "a", "foreign", "50000")
	c.want(int64(0), "EVAL", extendAdding, "1", "a", "foreign", "5000")
	c.want(int64(0), "EVAL", extendAdding, "1", "missing", "own", "5000")
	c.want(int64(0), "EVAL", extend, "1", "missing", "own", "5000")
	w.gone("missing")
}

// What is left is read once, by a majority, and every backend gets the same sum.
func TestExtensionThatAddsBringsBackendsTogether(t *testing.T) {
	w := newWorld(t)
	for i, left := range []string{"9000", "5000", "1000", "", "9000"} {
		if left != "" {
			w.backends[i].MustDo("SET", "k", "own", "PX", left)
		}
	}
	w.client().want(int64(1), "EVAL", extendAdding, "1", "k", "own", "20000")
	// A client may rely on 990 ms of 1000 and on 4948 of 5000; which of them is the
	// third of those that answered first, differs.
	// The one that had lost the lock gets it back: four confirmed it.
	redistest.Eventually(t, 2*time.Second, "all backends have the same time left", func() bool {
		least, most := int64(1<<62), int64(0)
		for _, s := range w.backends {
			left, _ := s.MustDo("PTTL", "k").(int64)
			least, most = min(least, left), max(most, left)
		}
		return least > 15_000 && most <= 25_300 && most-least < 200
	})
}

// A lock script may be written in any way: comments, blanks, names, one character
// more. Nobody matches texts.
func TestScriptIsWhatItDoesNotHowItIsWritten(t *testing.T) {
	w := newWorld(t)
	c := w.client()
	for i, text := range []string{
		release, release + " ", "-- mine\n" + release, strings.ReplaceAll(release, " ", "\n\t "), strings.ReplaceAll(release, "'", `"`),
		`local key, mine = unpack({KEYS[1], ARGV[1]}); local held = redis.call('GeT', key); if held ~= mine then return 0 end; return redis.call("UNLINK", key)`,
	} {
		key := fmt.Sprint("k", i)
		c.want(ok, "SET", key, "t", "NX", "PX", "60000")
		c.want(int64(0), "EVAL", text, "1", key, "other")
		c.want(int64(1), "EVAL", text, "1", key, "t")
		w.gone(key)
	}
}

func TestScriptsRunInTheProxyAndNeverOnABackend(t *testing.T) {
	w := newWorld(t)
	seen := w.backends[0].Monitor()
	c := w.client()
	before, _ := c.do("EVAL", "return redis.call('TIME')[1]", "0").(string)
	if len(before) < 10 {
		t.Errorf("TIME in a script: %q", before)
	}
	c.want(ok, "SET", "random", "x")
	c.do("EVAL", "-- Canary\nreturn redis.call('SET', KEYS[1], math.random())", "1", "random")
	w.onAll("random")
	values := map[string]bool{}
	redistest.Eventually(t, 2*time.Second, "all backends hold the one number", func() bool {
		clear(values)
		for _, s := range w.backends {
			values[s.Get("random")] = true
		}
		return len(values) == 1
	})
	for _, s := range seen.Commands() {
		for _, a := range s.Args {
			if strings.Contains(a, "Canary") {
				t.Errorf("a backend was sent %.100q", a)
			}
		}
	}
}

// Redis has words of its own for it in scripts, for subcommands as well.
func TestWrongCallsInScriptsAreRefusedAsInRedis(t *testing.T) {
	w := newWorld(t)
	c, redis := w.client(), w.backends[0]
	for _, call := range []string{
		"'get'", "'nosuch'", "'script'", "'script', 'load'", "'SCRIPT', 'EXISTS'", "'script', 'load', 'x'", "'script', 'nosuch'",
		"'client', 'kill'", "'client', 'id', 'x'", "'client', 'nosuch'", "'ping', 'a', 'b'",
	} {
		text := "return redis.call(" + call + ")"
		want, err := redis.Do("EVAL", text, "0")
		if err != nil {
			t.Fatal(err)
		}
		c.want(want, "EVAL", text, "0")
	}
}

func TestScriptThatIsEndedWritesNothing(t *testing.T) {
	w := newWorld(t)
	c := w.client()
	const first = "redis.call('SET', KEYS[1], 'x') "
	for text, wanted := range map[string]string{
		first + busy:                "ERR Script",
		first + "while true do end": "ERR Script",
		first + "return redis.call('HSET', 'h', 'f', 'v')": "UNSUPPORTED HSET",
		first + "return redis.pcall('LPUSH', 'c', 'm')":    "UNSUPPORTED LPUSH",
		first + "return redis.call('DECR', KEYS[1])":       "UNSUPPORTED DECR",
		first + string("return string.rep('x', 1e9)"):      "ERR ",
	} {
		start := time.Now()
		c.wantError(wanted, "EVAL", text, "1", "k")
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("%s took %s", text, took)
		}
		if strings.HasPrefix(wanted, "UNSUPPORTED") || strings.Contains(text, "while") {
			w.gone("k", "h")
		}
		c.want(pong, "PING")
	}
	// As in one Redis, a read-only script is told so, and one that fails by itself has
	// written what it had written by then.
	c.wantError("ERR Write commands are not allowed from read-only scripts", "EVAL_RO", first, "1", "k")
	c.wantError("ERR user_script:1: mine", "EVAL", first+"error('mine')", "1", "k")
	c.want("x", "GET", "k")
}

func TestReleaseThatTellsAChannelReleases(t *testing.T) {
	w := newWorld(t)
	c := w.client()
	const release = "if redis.call('GET', KEYS[1]) ~= ARGV[1] then return -1 end redis.call('DEL', KEYS[1]) return redis.call('PUBLISH', KEYS[2], 'free')"
	c.want(ok, "SET", "k", "me", "NX", "PX", "60000")
	c.want(int64(-1), "EVAL", release, "2", "k", "channel", "another")
	c.want(int64(0), "EVAL", release, "2", "k", "channel", "me")
	w.gone("k")
	// As in one Redis.
	c.wantError("ERR Wrong number of args calling Redis command from script", "EVAL", "return redis.call('PUBLISH', 'channel')", "0")
	c.wantError("ERR Write commands are not allowed from read-only scripts", "EVAL_RO", "return redis.call('PUBLISH', 'channel', 'free')", "0")
	c.wantError("UNSUPPORTED PUBLISH", "PUBLISH", "channel", "free")
}

// TestScriptWhoseAnswerNobodyWaitsForAnyMoreWritesNothing has scripts that may compute for
// as long as their client waits for them.
func TestScriptWhoseAnswerNobodyWaitsForAnyMoreWritesNothing(t *testing.T) {
	w := newWorld(t, "SCRIPT_MAX_STEPS=1000000000", "SCRIPT_MAX_TIME=200ms", "LANE_VOTE=200ms", "SERVER_ANSWER_WITHIN=200ms")
	c := w.client()
	const text, reply = `redis.call('set', KEYS[1], 'v') while true do end`, "UNAVAILABLE the script or transaction was not done when the time for its answer was over"
	c.wantError(reply, "EVAL", text, "1", "k")
	c.want(ok, "MULTI")
	c.want(queued, "SET", "other", "v")
	c.want(queued, "EVAL", text, "1", "k")
	c.wantError(reply, "EXEC")
	w.gone("k", "other")
	c.want(pong, "PING")
}

// TestFirstLineOfAScriptSaysWhetherItMayWrite compares with one Redis.
func TestFirstLineOfAScriptSaysWhetherItMayWrite(t *testing.T) {
	w := newWorld(t)
	p := newPair(t, w, redistest.Start(t))
	const reads, writes = "\nreturn redis.call('get', KEYS[1])", "\nreturn redis.call('set', KEYS[1], 'written')"
	for _, first := range []string{"#!lua", "#!lua flags=no-writes", "#!lua flags=allow-oom,no-writes", "#!lua flags=no-cluster", "#!lua flags=nosuch", "#!python", "#!lua flags", ""} {
		for _, body := range []string{reads, writes, strings.Replace(writes, "call", "pcall", 1), "\n\nreturn redis.call('publish', 'c', 'm')", "\n\nerror('x')"} {
			text := first + body
			p.compare("EVAL_RO", text, "1", "k")
			p.compare("EVAL", text, "1", "k")
			p.compare("SCRIPT", "LOAD", text)
			p.compare("EVALSHA", digest(text), "1", "k")
			p.compare("EVALSHA_RO", digest(text), "1", "k")
			p.compare("MULTI")
			p.compare("EVAL", text, "1", "k")
			p.compare("EVAL_RO", text, "1", "k")
			p.compare("EXEC")
			p.compare("GET", "k")
			p.compare("DEL", "k")
		}
	}
}

// TestScriptsMayAskTheServerWhatTheyMayAskOneRedis compares the types of the answers, since
// the servers are two, and what is refused to the letter.
func TestScriptsMayAskTheServerWhatTheyMayAskOneRedis(t *testing.T) {
	w := newWorld(t)
	p := newPair(t, w, redistest.Start(t))
	for _, line := range []string{
		"INFO", "INFO server", "INFO nosuch", "LOLWUT", "COMMAND", "COMMAND COUNT", "COMMAND INFO get", "COMMAND GETKEYS get k", "COMMAND GETKEYS ping", "COMMAND LIST",
		"COMMAND DOCS nosuch", "COMMAND HELP", "CLIENT HELP", "SCRIPT HELP", "CONFIG HELP", "PING", "PING x", "ECHO x", "TIME", "SELECT 0", "SELECT x",
		"CONFIG GET maxmemory", "ROLE", "CLIENT ID", "CLIENT LIST", "CLIENT NO-EVICT on", "HELLO", "AUTH x", "QUIT", "RESET", "SCRIPT LOAD x", "SUBSCRIBE x", "UNSUBSCRIBE", "MULTI", "WATCH x",
	} {
		args := strings.Fields(line)
		p.compare(append([]string{"EVAL", "local r = redis.pcall(unpack(ARGV)) if type(r) == 'table' then return r.err or r.ok or 'a list' end return type(r)", "0"}, args...)...)
	}
	info, _ := p.proxy.do("EVAL", "return redis.call('INFO', 'server')", "0").(string)
	if !strings.Contains(info, "redis_version:8.4.0\r\n") {
		t.Errorf("INFO in a script: %.100q", info)
	}
}
