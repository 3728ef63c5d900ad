package proxy_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"redlockproxy/proxy/redistest"
	"redlockproxy/resp"
)

// A pair is the proxy and one real Redis, given the same commands.
type pair struct {
	t            *testing.T
	servers      redistest.Group // the backends and the real one
	proxy, redis *client
}

func newPair(t *testing.T, w *world, redis *redistest.Server) *pair {
	return &pair{
		t: t, servers: append(slices.Clone(w.backends), redis),
		proxy: w.client(), redis: dial(t, redis.Addr()),
	}
}

// compare sends one command to both. Behind a difference both begin anew with no
// keys, since one may have done what the other has not.
func (p *pair) compare(args ...string) {
	p.t.Helper()
	here, there := render(p.proxy.all(args...)), render(p.redis.all(args...))
	if here == there {
		return
	}
	if !documented(spell(args), there, here) {
		p.t.Errorf("%s\n\tRedis: %s\n\tproxy: %s", spell(args), there, here)
	}
	p.flush()
}

// all is do that gets all replies to a command that has several.
func (c *client) all(args ...string) any {
	c.t.Helper()
	if len(args) == 0 || !strings.HasSuffix(strings.ToLower(args[0]), "subscribe") {
		return c.do(args...)
	}
	const end = "end of the replies"
	c.sendAll(args, []string{"PING", end})
	for replies := []any{}; ; {
		reply := c.receive()
		if reply == end || same(reply, []any{"pong", end}) {
			return replies
		}
		replies = append(replies, reply)
	}
}

func (p *pair) flush() {
	for _, s := range p.servers {
		s.Empty()
	}
}

// oddArguments are argument lists that no command expects, or few do.
func oddArguments() [][]string {
	binary, huge := "\x00\r\n\xff$-1", strings.Repeat("h", 300<<10)
	lists := [][]string{
		nil, {""}, {"", ""}, {"", "", ""}, {"", "", "", ""},
		{"k"}, {"k", "v"}, {"k", "v", "w"}, {"k", "v", "w", "x"}, {"k", "v", "w", "x", "y"}, {"k", "v", "w", "x", "y", "z"},
		{binary}, {binary, binary}, {binary, binary, binary}, {binary, binary, binary, binary},
		{huge}, {huge, huge}, {"k", huge}, {"k", huge, "v"}, {"k", "v", huge},
		{"k", "v", "NX", "XX"}, {"k", "v", "NX PX 1000"}, {"k", "v", "PX"}, {"k", "v", "NX", "PX"}, {"k", "v", "EX", "1", "PX", "2000"},
		{"k", "v", "PX", "1", "KEEPTTL"}, {"k", "v", "KEEPTTL", "PX", "1"}, {"k", "v", "GET", "GET", "FOO"},
		{"k", "1", "NX", "XX"}, {"k", "1", "GT", "LT"}, {"k", "1", "NX", "LT"}, {"k", "1", "FOO\r\nBAR"}, {"k", "1", "FOO\x00BAR"},
		{"return 1", "1"}, {"return 1", "2", "k"}, {"return 1", "-1", "k"}, {"return 1", "x", "k"}, {"return 1", "", "k"},
		{"return 1", "99999999999999999999", "k"}, {"return 1", "9223372036854775807", "k"}, {"return", "0"}, {"(", "0"}, {"", "0"},
		{"abc", "1", "k"}, {strings.Repeat("a", 40), "0"}, {strings.Repeat("A", 40), "1", "k"}, {strings.Repeat("a", 41), "0"},
		{"3", "AUTH", "x"}, {"3", "AUTH", "default", "x"}, {"3", "SETNAME"}, {"4"}, {"x"}, {"1"}, {"-3"}, {"+3"}, {"03"}, {"3 "}, {"3", "FOO"},
		slices.Repeat([]string{"a"}, 1000), slices.Repeat([]string{""}, 1001),
	}
	for _, n := range []string{"0", "-1", "-0", "+1", "01", "1.5", "1e3", " 5", "5 ", "0x10", "abc", "\x001", "9223372036854775807", "9223372036854775808",
		"-9223372036854775808", "99999999999999999999", "9223372036854775", "9223372036854776"} {
		lists = append(lists, []string{n}, []string{"k", n}, []string{"k", n, "v"}, []string{"k", "v", "PX", n}, []string{"k", "v", "NX", "EX", n},
			[]string{"k", "v", "EXAT", n}, []string{"k", n, "NX"}, []string{"k", n, n})
	}
	return lists
}

// tellsOfItself are commands whose answers are about the server that gives them.
var tellsOfItself = []string{"info", "time", "lolwut", "role", "dbsize", "client", "command", "config", "hello", "script", "reset", "quit", "exec", "discard"}

func TestOddArgumentsGetTheAnswerOfRedis(t *testing.T) {
	w, redis := newWorld(t, "LOG_LEVEL=info", "GROUP_MAX_TTL=8760h"), redistest.Start(t, redistest.Args("--databases", "1"))
	p := newPair(t, w, redis)
	for _, info := range resp.Commands() {
		if known, isList := p.redis.do("COMMAND", "INFO", info.Name).([]any); !isList || known[0] == nil || slices.Contains(tellsOfItself, info.Name) {
			continue
		}
		for _, args := range oddArguments() {
			p.compare(append([]string{strings.ToUpper(info.Name)}, args...)...)
			if info.Name == "multi" {
				p.compare("DISCARD")
			}
		}
		p.compare("RESET")
		p.flush()
	}
	p.compare("PING")
}

func TestOddArgumentsOfCommandsAboutTheServer(t *testing.T) {
	w, redis := newWorld(t, "LOG_LEVEL=info"), redistest.Start(t, redistest.Args("--databases", "1"))
	p := newPair(t, w, redis)
	for _, command := range [][]string{
		{""}, {"a\x00b"}, {"FOO"}, {"FOO", "a\r\nb", strings.Repeat("x", 200)}, {strings.Repeat("x", 200)}, {"foo", "", "\x00"},
		{"TIME", "x"}, {"ROLE", "x"}, {"DBSIZE", "x"},
		{"CLIENT"}, {"CLIENT", "FOO"}, {"CLIENT", "a\r\nb"}, {"CLIENT", "ID", "x"}, {"CLIENT", "SETNAME"}, {"CLIENT", "SETNAME", "a b"},
		{"CLIENT", "SETNAME", "a\n"}, {"CLIENT", "SETNAME", "x"}, {"CLIENT", "GETNAME"}, {"CLIENT", "SETNAME", ""}, {"CLIENT", "GETNAME"}, {"CLIENT", "GETNAME", "x"},
		{"COMMAND", "FOO"}, {"COMMAND", "COUNT", "x"}, {"COMMAND", "GETKEYS"}, {"COMMAND", "GETKEYS", "FOO", "x"}, {"COMMAND", "GETKEYS", "PING"},
		{"COMMAND", "GETKEYS", "MSET", "a"}, {"COMMAND", "GETKEYS", "GET", "a", "b"}, {"COMMAND", "GETKEYS", "EVAL", "x", "0"},
		{"COMMAND", "GETKEYS", "EVAL", "x", "2", "a"}, {"COMMAND", "GETKEYS", "EVAL", "x", "x", "a"}, {"COMMAND", "GETKEYS", "ECHO", "a", "b"},
		{"COMMAND", "GETKEYS", "CLIENT", "FOO"}, {"COMMAND", "GETKEYS", "CLIENT", "ID", "x"},
		{"COMMAND", "GETKEYS", "GET", "a"}, {"COMMAND", "GETKEYS", "MSET", "a", "b", "c", "d"}, {"COMMAND", "GETKEYS", "EVAL", "x", "2", "a", "b", "c"},
		{"CONFIG"}, {"CONFIG", "FOO"}, {"CONFIG", "GET"}, {"CONFIG", "GET", "nosuch"}, {"CONFIG", "GET", "maxmemory"}, {"CONFIG", "GET", "appendonl?"}, {"CONFIG", "GET", "SAV*"},
		// Letters beyond ASCII that have one of ASCII as their other case.
		{"HELLO", "2", "\u017fETNAME", "x"}, {"CLIENT", "KILL", "\u017fKIPME", "yes"}, {"CLIENT", "KILL", "TYPE", "pub\u017fub"}, {"INFO", "\u017fTATS"},
		{"HELLO", "4"}, {"HELLO", "x"}, {"HELLO", "1"}, {"HELLO", "3", "AUTH", "x"}, {"HELLO", "2", "AUTH", "u", "p"}, {"HELLO", "2", "SETNAME"},
		{"HELLO", "2", "SETNAME", "a b"}, {"HELLO", "2", "FOO\r\n"}, {"HELLO", "+3"}, {"HELLO", "03"}, {"HELLO", ""}, {"HELLO", "9223372036854775808"},
		{"AUTH"}, {"AUTH", "x"}, {"AUTH", "default", "x"}, {"AUTH", "u", "x"}, {"AUTH", "a", "b", "c"},
		{"SCRIPT"}, {"SCRIPT", "FOO"}, {"SCRIPT", "LOAD"}, {"SCRIPT", "LOAD", "("}, {"SCRIPT", "LOAD", "return 1"}, {"SCRIPT", "LOAD", ""}, {"SCRIPT", "LOAD", "a", "b"},
		{"SCRIPT", "EXISTS"}, {"SCRIPT", "EXISTS", "", "x", "e0e1f9fabfc9d4800c877a703b823ac0578ff8db", "E0E1F9FABFC9D4800C877A703B823AC0578FF8DB"},
		{"SCRIPT", "FLUSH", "x"}, {"SCRIPT", "FLUSH", "SYNC", "x"}, {"SCRIPT", "FLUSH", "aSync"}, {"SCRIPT", "FLUSH"},
		{"EXEC"}, {"DISCARD"}, {"EXEC", "x"}, {"DISCARD", "x"}, {"WATCH"}, {"UNWATCH", "x"}, {"MULTI", "x"},
		{"QUIT", "x", "y"},
	} {
		p.compare(command...)
	}
	p.proxy.wantClosed()
}

func TestCommandsThatAreNotServedLeaveTheConnectionUsable(t *testing.T) {
	w := newWorld(t)
	c := w.client()
	for _, command := range []string{"HGET h f", "PUBLISH c m", "MONITOR", "BLPOP k 0", "CLUSTER NODES", "FLUSHALL", "KEYS *", "DECR k", "GETSET k v",
		"CONFIG SET a b", "CLIENT PAUSE 1", "json.get k", "EVALX", "SCRIPT KILL", "DEBUG SLEEP 1", "SHUTDOWN", "WAIT 0 0", "SENTINEL masters"} {
		c.sendAll(strings.Fields(command), []string{"PING"})
		if e, isError := c.receive().(redistest.Error); !isError {
			t.Errorf("%s was answered with %v", command, e)
		}
		if got := c.receive(); got != pong {
			t.Errorf("PING after %s: %v", command, got)
		}
	}
	c.sendAll([]string{"RESET"}, []string{"PING"}, []string{"QUIT"}, []string{"SET", "after", "quit"})
	for _, wanted := range []any{redistest.Status("RESET"), pong, ok} {
		if got := c.receive(); got != wanted {
			t.Errorf("%v, wanted %v", got, wanted)
		}
	}
	c.wantClosed()
	w.gone("after")
}

// calls is how many commands each backend has carried out, by INFO commandstats, but
// for those of this test and the look at the clock each second.
func (w *world) calls() string {
	w.t.Helper()
	var all []string
	for i, s := range w.backends {
		text, _ := s.MustDo("INFO", "commandstats").(string)
		for l := range strings.Lines(text) {
			name, rest, _ := strings.Cut(strings.TrimSpace(l), ":calls=")
			calls, _, _ := strings.Cut(rest, ",")
			if !strings.HasPrefix(name, "cmdstat_info") && !strings.HasPrefix(name, "cmdstat_script") && name != "cmdstat_time" && name != "" {
				all = append(all, fmt.Sprintf("%d %s %s", i, name, calls))
			}
		}
	}
	return strings.Join(all, "\n")
}

func TestImpossibleTimesToLiveAskNoBackend(t *testing.T) {
	w := newWorld(t, "GROUP_MAX_TTL=1m")
	c := w.client()
	const invalid, notInteger, tooLong = "ERR invalid expire time in '", "ERR value is not an integer or out of range", "UNSUPPORTED a time to live above 60000 ms"
	cases := []struct{ command, wanted string }{
		{"EXPIRE k 9223372036854775807", "ERR invalid expire time in 'expire' command"},
		{"PEXPIRE k x", notInteger}, {"EXPIRE k 1 NX XX", "ERR NX and XX, GT or LT options at the same time are not compatible"},
		{"PEXPIRE k 60001", tooLong}, {"EXPIRE k 61", tooLong}, {"EXPIREAT k 4102444800", tooLong}, {"PEXPIREAT k 4102444800000", tooLong},
	}
	for _, ttl := range []struct{ text, wanted string }{
		{"0", invalid}, {"-1", invalid}, {"-9223372036854775808", invalid}, {"9223372036854775807", invalid}, {"4611686018427387905", invalid},
		{"abc", notInteger}, {"1.5", notInteger}, {"+5", notInteger}, {"05", notInteger}, {"9223372036854775808", notInteger}, {"60001", tooLong},
	} {
		wanted := func(name string) string {
			if ttl.wanted == invalid {
				return invalid + name + "' command"
			}
			return ttl.wanted
		}
		for _, form := range []string{"SET k v NX PX %s", "SET k v PX %s", "SET k v XX GET PX %s", "SET k v PX %s IFEQ x", "set k v nx ex %s"} {
			cases = append(cases, struct{ command, wanted string }{fmt.Sprintf(form, ttl.text), wanted("set")})
		}
		cases = append(cases, struct{ command, wanted string }{fmt.Sprintf("PSETEX k %s v", ttl.text), wanted("psetex")},
			struct{ command, wanted string }{fmt.Sprintf("SETEX k %s v", ttl.text), wanted("setex")})
	}
	before := w.calls()
	for _, x := range cases {
		c.wantError(x.wanted, strings.Fields(x.command)...)
		c.want(queued, append([]string{}, func() []string { c.want(ok, "MULTI"); return strings.Fields(x.command) }()...)...)
		if got, isList := c.do("EXEC").([]any); !isList || len(got) != 1 || !strings.HasPrefix(render(got[0]), "-"+x.wanted) {
			t.Errorf("%s in a transaction: %v", x.command, got)
		}
	}
	if after := w.calls(); after != before {
		t.Errorf("backends were asked; before:\n%s\nafter:\n%s", before, after)
	}
	if keys := w.keysLeft(); len(keys) > 0 {
		t.Errorf("keys %q", keys)
	}
}
