package proxy_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"redlockproxy/proxy/redistest"
)

// handshake is what clients send before they do anything, in an order that leads
// through both protocols.
var handshake = [][]string{
	{"PING"}, {"PING", "x"}, {"ping", "\x00\r\n"}, {"PING", "a", "b"}, {"ECHO", "x"}, {"ECHO", ""}, {"ECHO"},
	{"SELECT", "0"}, {"SELECT", "1"}, {"SELECT", "x"}, {"SELECT", ""}, {"SELECT", "-1"}, {"SELECT", "00"}, {"SELECT", "4294967296"},
	{"CLIENT", "GETNAME"}, {"CLIENT", "SETNAME", "me"}, {"CLIENT", "GETNAME"}, {"CLIENT", "SETNAME", ""}, {"CLIENT", "GETNAME"},
	{"CLIENT", "NO-EVICT", "on"}, {"COMMAND", "INFO", "nosuchcommand"}, {"CONFIG", "GET", "maxmemory"}, {"CONFIG", "GET", "nosuch*"},
	{"HELLO", "2"}, {"HELLO", "3"}, {"GET", "nothing"}, {"CLIENT", "GETNAME"}, {"EXISTS", "nothing"}, {"MGET", "nothing", "nothing"},
	{"CONFIG", "GET", "maxmemory"}, {"CONFIG", "GET", "nosuch*"}, {"COMMAND", "INFO", "nosuchcommand"}, {"SET", "k", "v", "NX", "GET"}, {"SET", "k", "w", "NX"},
	{"EVAL", "return false", "0"}, {"EVAL", "return {1, false, 'x', {}}", "0"}, {"EVAL", "return redis.status_reply('fine')", "0"},
	{"WATCH", "k"}, {"SET", "k", "x"}, {"MULTI"}, {"GET", "k"}, {"EXEC"}, {"MULTI"}, {"EXEC", "x"}, {"GET", "k"}, {"EXEC"},
	{"HELLO", "4"}, {"HELLO", "3", "SETNAME", "a b"}, {"HELLO", "3", "AUTH", "u", "p"}, {"HELLO", "3", "SETNAME", "named"}, {"CLIENT", "GETNAME"},
	{"HELLO"}, {"HELLO", "3", "AUTH", "default", "anything", "SETNAME", "again"}, {"CLIENT", "GETNAME"},
	{"CLIENT", "TRACKINGINFO"}, {"CLIENT", "GETREDIR"}, {"CLIENT", "CACHING", "YES"}, {"CLIENT", "CACHING", "maybe"}, {"CLIENT", "TRACKING", "OFF"},
	{"CLIENT", "TRACKING", "maybe"}, {"CLIENT", "REPLY", "ON"}, {"CLIENT", "REPLY", "x"}, {"CLIENT", "NO-EVICT", "maybe"}, {"CLIENT", "UNBLOCK", "999"},
	{"CLIENT", "UNBLOCK", "x"}, {"CLIENT", "UNBLOCK", "1", "TIMEOUT"}, {"CLIENT", "UNBLOCK", "1", "x"}, {"CLIENT", "UNBLOCK", "1", "ERROR", "x"},
	{"CLIENT", "KILL", "nowhere:1"}, {"CLIENT", "KILL", "ID", "x"}, {"CLIENT", "KILL", "ID", "0"}, {"CLIENT", "KILL", "ID", "99999"}, {"CLIENT", "KILL", "TYPE", "x"},
	{"CLIENT", "KILL", "TYPE", "pubsub"}, {"CLIENT", "KILL", "USER", "nobody"}, {"CLIENT", "KILL", "SKIPME", "maybe"}, {"CLIENT", "KILL", "FOO", "x"}, {"CLIENT", "KILL", "ID"},
	{"CLIENT", "LIST", "TYPE", "x"}, {"CLIENT", "LIST", "TYPE", "pubsub"}, {"CLIENT", "LIST", "ID", "x"}, {"CLIENT", "LIST", "ID", "99999"}, {"CLIENT", "LIST", "FOO"}, {"CLIENT", "LIST", "ID"},
	{"COMMAND", "LIST", "FILTERBY", "PATTERN", "getd?l"}, {"COMMAND", "LIST", "FILTERBY", "PATTERN", "[S]ETN*"}, {"COMMAND", "LIST", "FILTERBY", "MODULE", "x"}, {"COMMAND", "LIST", "x"},
	{"COMMAND", "LIST", "FILTERBY", "x", "y"}, {"COMMAND", "DOCS", "nosuchcommand"}, {"CONFIG", "GET", "appendonl[x-z]"}, {"CONFIG", "GET", "m[^b]xmemory"}, {"CONFIG", "GET", "maxmemory", "MAXMEM?RY"},
	{"CONFIG", "GET", "max\\memory"}, {"CONFIG", "GET", "[]"}, {"CONFIG", "GET", "maxmemory["}, {"SUBSCRIBE", "a", "b", "a"}, {"PSUBSCRIBE", "p*"}, {"SSUBSCRIBE", "s"}, {"GET", "nothing"}, {"PING"}, {"UNSUBSCRIBE", "b", "nosuch"}, {"UNSUBSCRIBE"},
	{"UNSUBSCRIBE"}, {"PUNSUBSCRIBE"}, {"SUNSUBSCRIBE", "s", "t"}, {"SUNSUBSCRIBE"}, {"INFO", "nosuch"},
	{"RESET"}, {"CLIENT", "GETNAME"}, {"GET", "nothing"}, {"DEL", "k"},
	{"SUBSCRIBE", "a"}, {"PING"}, {"PING", "x"}, {"PING", "x", "y"}, {"GET", "k"}, {"CLIENT", "ID"}, {"NOSUCH"}, {"GET"}, {"MULTI"}, {"UNSUBSCRIBE"}, {"CLIENT", "TRACKINGINFO"},
	{"PUNSUBSCRIBE"}, {"PSUBSCRIBE", "a*"}, {"SSUBSCRIBE", "a"}, {"GET", "k"}, {"RESET"}, {"GET", "k"}, {"SSUBSCRIBE", "a"}, {"GET", "k"}, {"SUNSUBSCRIBE"}, {"GET", "k"},
	{"PING"}, {"QUIT"},
}

// Before it answers a HELLO, a strict client knows which protocol to read next.
func (p *pair) follow(args []string) {
	proto := p.proxy.Proto
	switch {
	case args[0] == "RESET":
		proto = 2
	case args[0] == "HELLO" && len(args) > 1 && (args[1] == "2" || args[1] == "3") && !strings.Contains(strings.Join(args, " "), "a b") && !strings.Contains(strings.Join(args, " "), "AUTH u"):
		proto = int(args[1][0] - '0')
	}
	p.proxy.Proto, p.redis.Proto = proto, proto
}

func TestHandshakeIsThatOfOneRedis(t *testing.T) {
	w, redis := newWorld(t, "SERVER_ADVERTISED_VERSION=7.0.15"), redistest.Start(t, redistest.Args("--databases", "1"))
	p := newPair(t, w, redis)
	for _, args := range handshake {
		p.follow(args)
		p.compare(args...)
	}
	p.proxy.wantClosed()
}

func TestEverythingLocalWorksWithAllBackendsDown(t *testing.T) {
	w := newWorld(t, "LANE_VOTE=100ms", "SERVER_ANSWER_WITHIN=200ms")
	for _, s := range w.backends {
		s.Kill()
	}
	w.awaitLogged(5, func(l line) bool { return l["state"] == "down" }) // also when nobody asks
	c := w.client()
	c.want(pong, "PING")
	c.want("x", "ECHO", "x")
	c.want(ok, "SELECT", "0")
	c.want(ok, "CLIENT", "SETNAME", "me")
	c.want(ok, "CLIENT", "SETINFO", "LIB-NAME", "lib")
	c.want(ok, "CLIENT", "SETINFO", "lib-ver", "1.2")
	c.wantError("ERR Unrecognized option 'FOO'", "CLIENT", "SETINFO", "FOO", "x")
	c.wantError("ERR Unrecognized option 'FOO'", "CLIENT", "SETINFO", "FOO", "a b")
	c.wantError("ERR lib-name cannot contain", "CLIENT", "SETINFO", "lib-name", "a b")
	for _, args := range [][]string{{"CLIENT", "SETNAME"}, {"CLIENT", "SETINFO", "LIB-NAME"}, {"CLIENT", "SETINFO", "LIB-VER"}, {"HELLO", "2", "SETNAME"}} {
		c.wantError("UNSUPPORTED a client name of more than 256 bytes", append(args, strings.Repeat("x", 257))...)
	}
	id, _ := c.do("CLIENT", "ID").(int64)
	other := w.client()
	if next, _ := other.do("CLIENT", "ID").(int64); id < 1 || next <= id {
		t.Errorf("client numbers %d and %d", id, next)
	}
	lines, _ := c.do("CLIENT", "LIST").(string)
	own, _ := c.do("CLIENT", "INFO").(string)
	if !strings.Contains(own, fmt.Sprintf("id=%d ", id)) || !strings.Contains(own, " name=me ") || !strings.Contains(own, "lib-name=lib lib-ver=1.2\n") ||
		strings.Count(lines, "\n") != 2 || !strings.Contains(lines, " name=me ") {
		t.Errorf("CLIENT INFO %q\nCLIENT LIST %q", own, lines)
	}
	if n, _ := c.do("COMMAND", "COUNT").(int64); n < 40 {
		t.Errorf("%d commands", n)
	}
	if all, _ := c.do("COMMAND").([]any); len(all) < 40 {
		t.Errorf("%d commands listed", len(all))
	}
	c.wantError("ERR unknown subcommand", "COMMAND", "DOCS")
	c.want([]any{"get", []any{"summary", "the value of a key"}}, "COMMAND", "DOCS", "GET", "lpush", "get")
	c.wantError("UNSUPPORTED CLIENT TRACKING ON", "CLIENT", "TRACKING", "ON")
	c.wantError("UNSUPPORTED CLIENT REPLY OFF", "CLIENT", "REPLY", "OFF")
	c.wantError("UNSUPPORTED CLIENT PAUSE", "CLIENT", "PAUSE", "1")
	c.wantError("UNAVAILABLE ", "SCAN", "0")
	c.wantError("UNAVAILABLE ", "DBSIZE")
	info, _ := c.do("INFO").(string)
	for _, field := range []string{"redis_version:8.4.0\r\n", "role:master\r\n", "voters:0\r\n", "quorum:3\r\n", "backends:5\r\n", "topology:redlock\r\n", "backend4:address=unix:"} {
		if !strings.Contains(info, field) {
			t.Errorf("INFO has no %q:\n%s", field, info)
		}
	}
	if text, _ := c.do("INFO", "server", "nosuch").(string); !strings.HasPrefix(text, "# Server\r\n") || strings.Contains(text, "# Clients") {
		t.Errorf("INFO server: %q", text)
	}
	c.want([]any{"master", int64(0), []any{}}, "ROLE")
	c.want(ok, "MULTI")
	c.want(queued, "PING")
	c.want([]any{pong}, "EXEC")
	c.want(int64(7), "EVAL", "return 7", "0")
	c.wantError("UNAVAILABLE ", "GET", "k")
	c.wantError("UNAVAILABLE ", "EVAL", release, "1", "k", "t")
	c.Proto = 3
	hello, isMap := c.do("HELLO", "3", "SETNAME", "three").(redistest.Map)
	if !isMap || !same(hello[:6], redistest.Map{"server", "redis", "version", "8.4.0", "proto", int64(3)}) || !same(hello[7], id) {
		t.Errorf("HELLO 3: %v", hello)
	}
	c.want("three", "CLIENT", "GETNAME")
}

func TestAdvertisedVersionIsTheSameEverywhere(t *testing.T) {
	for setting, version := range map[string]string{"": "8.4.0", "SERVER_ADVERTISED_VERSION=7.2.5": "7.2.5"} {
		lines := []string{}
		if setting != "" {
			lines = append(lines, setting)
		}
		c := newWorld(t, lines...).client()
		info, _ := c.do("INFO", "server").(string)
		hello, _ := c.do("HELLO").([]any)
		lolwut, _ := c.do("LOLWUT").(string)
		if !strings.Contains(info, "redis_version:"+version+"\r\n") || len(hello) < 4 || hello[3] != version || !strings.HasSuffix(lolwut, "Redis ver. "+version+"\n") {
			t.Errorf("%s: %.60q, %v, %q", version, info, hello, lolwut)
		}
	}
}

func TestBeforeTheLoginOnlyTheLoginWorks(t *testing.T) {
	const password = "S3cret"
	w, redis := newWorld(t, "SERVER_PASSWORD="+password), redistest.Start(t, redistest.Password(password), redistest.Args("--databases", "1"))
	closed := func(args []string) bool { return args[0] == "QUIT" }
	for _, session := range [][][]string{
		{{"PING"}, {"SET", "k", "v"}, {"INFO"}, {"HELLO", "3"}, {"HELLO"}, {"CLIENT", "SETNAME", "x"}, {"SELECT", "0"}, {"MULTI"}, {"EXEC"}, {"EVAL", "return 1", "0"},
			{"COMMAND"}, {"CONFIG", "GET", "requirepass"}, {"FOO"}, {"FOO", "x"}, {"GET"}, {"CLIENT"}, {"CLIENT", "FOO"}, {"HGET", "a", "b"}, {"PING", "a", "b"}, {"RESET"}, {"QUIT"}},
		{{"AUTH", "wrong"}, {"SET", "k", "v"}, {"AUTH", "default", "wrong"}, {"AUTH", "u", password}, {"AUTH", ""}, {"AUTH", password + "x"}, {"AUTH"},
			{"AUTH", "a", "b", "c"}, {"HELLO", "3", "AUTH", "default", "wrong"}, {"HELLO", "2", "SETNAME", "x"}, {"PING"}, {"AUTH", password}, {"PING"},
			{"CLIENT", "GETNAME"}, {"AUTH", "wrong"}, {"PING"}, {"RESET"}, {"PING"}, {"AUTH", "default", password}, {"PING"}, {"QUIT"}},
	} {
		p := newPair(t, w, redis)
		for _, args := range session {
			p.compare(args...)
			if closed(args) {
				p.proxy.wantClosed()
			}
		}
	}
	p := newPair(t, w, redis)
	p.proxy.Proto, p.redis.Proto = 3, 3
	p.compare("HELLO", "3", "AUTH", "default", password, "SETNAME", "x")
	p.compare("CLIENT", "GETNAME")
	p.compare("GET", "nothing")

	c := w.client()
	for range 1000 {
		c.wantError("WRONGPASS ", "AUTH", "guess")
	}
	c.sendAll([]string{"AUTH", "wrong"}, []string{"SET", "after", "wrong"}, []string{"AUTH", password}, []string{"SET", "after", "right"})
	for _, wanted := range []string{"-WRONGPASS invalid username-password pair or user is disabled.", "-NOAUTH Authentication required.", "+OK", "+OK"} {
		if got := render(c.receive()); got != wanted {
			t.Errorf("%s, wanted %s", got, wanted)
		}
	}
	c.want("right", "GET", "after")
	w.onAll("after")
	for _, l := range w.logs.find(func(line) bool { return true }) {
		if strings.Contains(fmt.Sprint(l), password) {
			t.Errorf("the password is in the log: %v", l)
		}
	}
}

func TestBeforeTheLoginCommandsAreSmall(t *testing.T) {
	w := newWorld(t, "SERVER_PASSWORD=S3cret")
	for bytes, wanted := range map[string]string{
		"*11\r\n$4\r\nPING\r\n": "ERR Protocol error: unauthenticated multibulk length",
		"*2\r\n$4\r\nECHO\r\n$16385\r\n" + strings.Repeat("x", 16<<10): "ERR Protocol error: unauthenticated bulk length",
	} {
		c := w.client()
		if err := c.Write([]byte(bytes)); err != nil {
			t.Fatal(err)
		}
		if got := c.receive(); got != redistest.Error(wanted) {
			t.Errorf("%.20q: %v", bytes, got)
		}
		c.wantClosed()
	}
	c := w.client()
	c.want(ok, "AUTH", "S3cret")
	c.want(strings.Repeat("x", 100<<10), "ECHO", strings.Repeat("x", 100<<10))
}

func TestHelloChangesTheProtocolOfItsOwnReply(t *testing.T) {
	w := newWorld(t)
	c := w.client()
	for range 20 {
		c.Proto = 3
		if _, isMap := c.do("HELLO", "3").(redistest.Map); !isMap {
			t.Fatal("HELLO 3 was not answered with a map")
		}
		c.want(nil, "GET", "nothing")
		c.Proto = 2
		if _, isList := c.do("HELLO", "2").([]any); !isList {
			t.Fatal("HELLO 2 was not answered with an array")
		}
		c.want(nil, "GET", "nothing")
	}
	c.want(redistest.Status("RESET"), "RESET")
}

// TestClientListHasTheFieldsOfRedis: some clients fail where one of them is missing.
func TestClientListHasTheFieldsOfRedis(t *testing.T) {
	w, redis := newWorld(t), redistest.Start(t)
	p, watchers := newPair(t, w, redis), newPair(t, w, redis)
	ids := [2]string{fmt.Sprint(p.proxy.do("CLIENT", "ID")), fmt.Sprint(p.redis.do("CLIENT", "ID"))}
	for _, line := range []string{"CLIENT SETNAME me", "HELLO 3", "MULTI", "PING", "CLIENT INFO", "DISCARD", "MULTI", "PING", "EXEC", "SUBSCRIBE a b", "PSUBSCRIBE c", "MULTI", "RESET"} {
		args := strings.Fields(line)
		p.follow(args)
		p.proxy.all(args...)
		p.redis.all(args...)
		here, names := fieldsOf(watchers.proxy.do("CLIENT", "LIST", "ID", ids[0]))
		there, wanted := fieldsOf(watchers.redis.do("CLIENT", "LIST", "ID", ids[1]))
		if wanted = append(wanted, "lib-name", "lib-ver"); !slices.Equal(names, wanted) {
			t.Fatalf("after %s: fields\n%q, wanted\n%q", line, names, wanted)
		}
		for _, field := range []string{"name", "flags", "db", "sub", "psub", "ssub", "multi", "events", "cmd", "user", "redir", "resp"} {
			if here[field] != there[field] {
				t.Errorf("after %s: %s=%s, wanted %s", line, field, here[field], there[field])
			}
		}
	}
	// As in one Redis, the transaction is still there while it is carried out.
	for _, c := range []*client{p.proxy, p.redis} {
		c.do("MULTI")
		c.do("CLIENT", "INFO")
		lines, _ := c.do("EXEC").([]any)
		if values, _ := fieldsOf(lines[0]); values["multi"] != "1" || values["flags"] != "x" {
			t.Errorf("%s", lines)
		}
	}
}

// fieldsOf is a line of CLIENT LIST.
func fieldsOf(line any) (values map[string]string, names []string) {
	values = map[string]string{}
	text, _ := line.(string)
	for _, field := range strings.Fields(text) {
		name, value, _ := strings.Cut(field, "=")
		values[name], names = value, append(names, name)
	}
	return values, names
}

// TestScriptsAreToldTheVersionThatClientsAreTold also when it is changed.
func TestScriptsAreToldTheVersionThatClientsAreTold(t *testing.T) {
	w := newWorld(t)
	c := w.client()
	const version = "return {redis.REDIS_VERSION, redis.REDIS_VERSION_NUM}"
	c.want([]any{"8.4.0", int64(0x080400)}, "EVAL", version, "0")
	cfg := settings(t, sockets(w.backends), append(slices.Clone(patient), "SERVER_ADVERTISED_VERSION=7.0.15")...)
	if _, err := w.server.Reload(cfg, os.ReadFile); err != nil {
		t.Fatal(err)
	}
	c.want([]any{"7.0.15", int64(0x07000f)}, "EVAL", version, "0")
}
