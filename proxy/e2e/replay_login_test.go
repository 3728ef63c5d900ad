package e2e_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"redlockproxy/proxy/redistest"
)

const password = "S3cret"

// withPassword starts a proxy that asks for one.
func withPassword(t *testing.T) *redistest.Proxy {
	t.Helper()
	file := filepath.Join(t.TempDir(), "password.toml")
	settings := "[server]\npassword = \"" + password + "\"\nanswer_within = \"4s\"\n[lane]\nvote = \"1900ms\"\n"
	if err := os.WriteFile(file, []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	p := redistest.StartProxy(t, redistest.StartGroup(t, 5).Addrs(), "-config", file)
	c := p.Client()
	if reply, err := c.Do("AUTH", password); err != nil || reply != ok {
		t.Fatalf("AUTH: %v, %v", reply, err)
	}
	redistest.Eventually(t, 5*time.Second, "a majority votes", func() bool {
		reply, err := c.Do("SET", "probe", "t", "PX", "60000")
		return err == nil && reply == ok
	})
	return p
}

// logins are how libraries begin where a password is configured. Each then takes a
// lock.
func logins() []replay {
	name, version := setInfo("lib", "1.0")
	wrongPass := refused("WRONGPASS invalid username-password pair or user is disabled.")
	noAuth := refused("NOAUTH Authentication required.")
	return []replay{
		{library: "redis-py 8", connect: []burst{one(greeting(3), "HELLO", "3", "AUTH", "default", password), {name}, {version}}},
		{library: "redis-py 4", connect: []burst{one(ok, "AUTH", password), one(ok, "SELECT", "0")}},
		{library: "Lettuce", connect: []burst{one(greeting(3), "HELLO", "3", "AUTH", "default", password, "SETNAME", "spring"), {name, version}}},
		{library: "Jedis 7", connect: []burst{one(ok, "AUTH", "default", password), {name, version}, one(ok, "SELECT", "0")}},
		{library: "go-redis", connect: []burst{one(greeting(3), "hello", "3", "auth", "default", password, "setname", "go"), {call(ok, "select", "0")}, {name, version}}},
		{library: "redis-client", connect: []burst{{call(greeting(3), "HELLO", "3", "AUTH", "default", password, "SETNAME", "ruby"), name, version}}},
		{library: "StackExchange.Redis", connect: []burst{{call(ok, "AUTH", password), call(greeting(3), "HELLO", "3"), call(sixteenBytes, "ECHO", sixteenBytes)}}},
		{library: "redis-rs", connect: []burst{{call(ok, "AUTH", password), name, version}}},
		{library: "Redisson", connect: []burst{one(ok, "AUTH", password), one(ok, "CLIENT", "SETNAME", "redisson"), one(pong, "PING")}},
		// Some probe before they log in, or try the old way when the new one fails.
		{library: "a pool that pings first", connect: []burst{one(noAuth, "PING"), one(ok, "AUTH", password), one(pong, "PING")}},
		{library: "HELLO without a login", connect: []burst{{call(refused("NOAUTH HELLO must be called with the client already authenticated"), "HELLO", "3")}, resp2(ok, "AUTH", password)}},
		{library: "a typing error, then right", connect: []burst{
			{call(wrongPass, "HELLO", "3", "AUTH", "default", "wrong")},
			resp2(wrongPass, "AUTH", "wrong"), one(noAuth, "SET", "lock:login", "t", "NX"), one(ok, "AUTH", password),
		}},
	}
}

// resp2 is a burst of one command after a HELLO that was refused: the protocol is
// what it was before.
func resp2(wants any, args ...string) burst {
	return burst{ask{args: args, wants: wants, proto: 2}}
}

func TestReplayedLibrariesLogIn(t *testing.T) {
	plain := redistest.Start(t, redistest.Password(password))
	for name, server := range map[string]struct {
		addr string
		old  bool
	}{
		"one Redis": {plain.Addr(), true},
		"proxy":     {withPassword(t).Addr(), false},
	} {
		t.Run(name, func(t *testing.T) {
			for _, r := range logins() {
				x := r.open(t, server.addr, server.old, 2)
				x.do(0, ok, "SET", "lock:login", "t", "NX", "PX", "60000")
				x.do(1, nil, "SET", "lock:login", "t", "NX", "PX", "60000")
				x.do(0, int64(1), "DEL", "lock:login")
			}
		})
	}
}
