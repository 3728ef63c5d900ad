package e2e_test

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"redlockproxy/proxy/redistest"
	"redlockproxy/proxy/redistest/lockscripts"
)

// Client libraries that are not installed for the tests are replayed: what they send
// when they connect and when they lock, command by command and written together
// where they write it together, and what they need to hear. Replies are read
// strictly: a RESP3 type in RESP2 fails, and so does a null of RESP2 in RESP3.

// replay is one library.
type replay struct {
	library string
	// connect is what a new connection begins with; each burst is one write.
	connect []burst
	// locks is its life with locks, over two connections. Keys begin with prefix.
	locks func(x *exchange)
	// take is how it takes a lock, owner what it does with one of its own: extend it,
	// and give it back.
	take  way
	owner []way
}

type burst []ask

// ask is one command and what its reply has to be: a value to be equal to, or a need.
type ask struct {
	args  []string
	wants any
	proto int  // of the reply and of those that follow, 0 for the one that HELLO asks for
	newer bool // the Redis that tests have is too old for this, or has replicas to ask
}

// A need tells what is wrong with a reply, "" if nothing is.
type need func(reply any) string

func call(wants any, args ...string) ask      { return ask{args: args, wants: wants} }
func newCall(wants any, args ...string) ask   { return ask{args: args, wants: wants, newer: true} }
func one(wants any, args ...string) burst     { return burst{call(wants, args...)} }
func setInfo(name, version string) (a, b ask) { return setInfoAs("LIB-NAME", "LIB-VER", name, version) }

func setInfoAs(nameWord, versionWord, name, version string) (a, b ask) {
	return newCall(ok, "CLIENT", "SETINFO", nameWord, name), newCall(ok, "CLIENT", "SETINFO", versionWord, version)
}

// wrong tells what is wrong with a reply to an ask, "" if nothing is.
func (a ask) wrong(reply any) string {
	if n, isNeed := a.wants.(need); isNeed {
		return n(reply)
	}
	if wanted := fmt.Sprintf("%#v", a.wants); fmt.Sprintf("%#v", reply) != wanted {
		return "wanted " + wanted
	}
	return ""
}

// exchange is a library that talks to one server over some connections.
type exchange struct {
	t       *testing.T
	library string
	prefix  string // of its keys
	conns   []*redistest.Client
	old     bool // the server is older than what newer asks are about
}

// open connects as the library does, once more for each of its clients.
func (r replay) open(t *testing.T, addr string, old bool, clients int) *exchange {
	t.Helper()
	x := &exchange{t: t, library: r.library, prefix: "lock:" + r.library + ":", old: old}
	for range clients {
		c, err := redistest.Dial(addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		x.conns = append(x.conns, c)
		for _, b := range r.connect {
			x.send(len(x.conns)-1, b...)
		}
	}
	return x
}

// send writes commands at once and checks the reply to each.
func (x *exchange) send(client int, asks ...ask) {
	x.t.Helper()
	if x.old {
		asks = slices.DeleteFunc(slices.Clone(asks), func(a ask) bool { return a.newer })
	}
	var bytes []byte
	for _, a := range asks {
		bytes = append(bytes, redistest.Encode(a.args...)...)
	}
	c := x.conns[client]
	if err := c.Write(bytes); err != nil {
		x.t.Fatalf("%s: %v", x.library, err)
	}
	for _, a := range asks {
		switch {
		case a.proto != 0:
			c.Proto = a.proto
		case strings.EqualFold(a.args[0], "HELLO") && len(a.args) > 1:
			c.Proto = int(a.args[1][0] - '0') // its own reply is in the new protocol already
		}
		reply, err := c.Receive()
		if err != nil {
			x.t.Fatalf("%s: %q: %v", x.library, a.args, err)
		}
		if wrong := a.wrong(reply); wrong != "" {
			x.t.Errorf("%s: %.200q: %.300s; %s", x.library, a.args, fmt.Sprintf("%#v", reply), wrong)
		}
	}
}

// reply sends one command and returns what it is answered.
func (x *exchange) reply(client int, args ...string) any {
	x.t.Helper()
	reply, err := x.conns[client].Do(args...)
	if err != nil {
		x.t.Fatalf("%s: %.200q: %v", x.library, args, err)
	}
	return reply
}

// do is send for one command.
func (x *exchange) do(client int, wants any, args ...string) {
	x.t.Helper()
	x.send(client, call(wants, args...))
}

// doNew is do for what came after the Redis that tests have.
func (x *exchange) doNew(client int, wants any, args ...string) {
	x.t.Helper()
	x.send(client, newCall(wants, args...))
}

// script runs a lock script and checks what it is answered.
func (x *exchange) script(client int, wants any, route, name, key string, args ...string) {
	x.t.Helper()
	reply := x.run(client, route, name, key, args...)
	if wrong := (ask{wants: wants}).wrong(reply); wrong != "" {
		x.t.Errorf("%s: %s %q: %#v; %s", x.library, name, args, reply, wrong)
	}
}

// run runs a lock script by its digest and, where the server does not know it, goes on
// as the route says: the last step's reply counts. The digest comes first in every
// route but EVAL.
func (x *exchange) run(client int, route, name, key string, args ...string) any {
	x.t.Helper()
	text := scriptText(x.t, name)
	steps := routes[route](text, digest(text), slices.Concat([]string{"1", key}, args))
	for i, step := range steps {
		reply := x.reply(client, step...)
		last := i == len(steps)-1
		if e, isError := reply.(redistest.Error); !last && i == 0 && isError && e.Code() == "NOSCRIPT" {
			// Some look for the blank behind the word, so it is more than the code.
			if e != "NOSCRIPT No matching script. Please use EVAL." {
				x.t.Errorf("%s: EVALSHA: %s", x.library, e)
			}
			continue
		}
		if step[0] != "SCRIPT" {
			return reply
		}
		if reply != digest(text) {
			x.t.Errorf("%s: SCRIPT LOAD: %v", x.library, reply)
		}
	}
	panic("a route that ends with no reply of the script")
}

func digest(text string) string {
	sum := sha1.Sum([]byte(text))
	return hex.EncodeToString(sum[:])
}

func scriptText(t *testing.T, name string) string {
	t.Helper()
	for _, s := range lockscripts.Served() {
		if s.Name == name {
			return s.Text
		}
	}
	t.Fatalf("no script is called %q", name)
	return ""
}

func TestReplayedLibrariesConnectAndLock(t *testing.T) {
	t.Parallel() // it waits most of the time, and allows for much
	plain := redistest.Start(t)
	t.Run("one Redis", func(t *testing.T) {
		for _, r := range replays {
			r.live(t, plain.Addr(), true)
		}
	})
	w := newWorld(t, redistest.Patient(t)...)
	proven := func(t *testing.T, running redistest.Group) {
		for _, r := range replays {
			r.live(t, w.proxy.Addr(), false)
		}
		redistest.Eventually(t, 2*time.Second, "no lock is left", func() bool {
			return !slices.ContainsFunc(running, func(s *redistest.Server) bool {
				return slices.ContainsFunc(s.Keys(), func(k string) bool { return strings.HasPrefix(k, "lock:") })
			})
		})
	}
	t.Run("five backends", func(t *testing.T) { proven(t, w.backends) })
	w.backends[0].Kill()
	w.backends[3].Kill()
	t.Run("two of five stopped", func(t *testing.T) { proven(t, redistest.Group{w.backends[1], w.backends[2], w.backends[4]}) })
	for _, r := range replays {
		r.open(t, w.proxy.Addr(), false, 1).wants(0, r.take.done, r.take, r.kept(), mine, "300000")
	}
	if code := w.proxy.Stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	running := redistest.Group{w.backends[1], w.backends[2], w.backends[4]}
	w.proxy = redistest.StartProxy(t, w.addrs, redistest.Patient(t)...)
	w.awaitVotes(w.proxy, running...)
	t.Run("the proxy restarted", func(t *testing.T) {
		for _, r := range replays {
			r.goesOn(t, w.proxy.Addr())
		}
		proven(t, running)
	})
	w.backends[2].Kill()
	t.Run("three of five stopped", func(t *testing.T) {
		for _, r := range replays {
			r.fails(t, w.proxy.Addr())
		}
	})
}

// live lets a library live with locks on a server that knows none of its scripts.
func (r replay) live(t *testing.T, addr string, old bool) {
	t.Helper()
	x := r.open(t, addr, old, 2)
	x.do(1, ok, "SCRIPT", "FLUSH")
	r.locks(x)
	r.loses(t, addr, old)
}
