package e2e_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"redlockproxy/proxy/redistest"
)

// A way is how a library does one thing to a lock: by a command, by a script, or by a
// command in a transaction that watches the lock. Among its words KEY, TOKEN and TTL
// stand for the lock's key, what its owner writes there, and milliseconds.
type way struct {
	route  string // how its script is run; "" for a command, watching for a transaction
	script string // the name of its script
	words  []string
	// done is what it needs to hear when it was done, foreign when the lock is another's.
	done, foreign any
	// blind says that it asks nobody whose the lock is, and does it to a foreign one too.
	blind bool
	newer bool // see ask
}

const (
	watching = "WATCH"

	mine, theirs = binary + "1", binary + "2" // the values of two owners
)

func command(done, foreign any, words string) way {
	return way{words: strings.Fields(words), done: done, foreign: foreign}
}

func newCommand(done, foreign any, words string) way {
	w := command(done, foreign, words)
	w.newer = true
	return w
}

func blindly(done any, words ...string) way {
	return way{words: words, done: done, foreign: done, blind: true}
}

func byScript(done, foreign any, route, name, words string) way {
	return way{route: route, script: name, words: strings.Fields(words), done: done, foreign: foreign}
}

// watched is a transaction of one command, which is not sent where the lock turns out
// to be foreign.
func watched(words string) way {
	return way{route: watching, words: strings.Fields(words), done: []any{int64(1)}, foreign: theirs}
}

// setNX is how most take a lock.
var setNX = command(ok, nil, "SET KEY TOKEN NX PX TTL")

// goes has a client go one way, and returns what it hears at the end.
func (x *exchange) goes(client int, w way, key, token, ttl string) any {
	x.t.Helper()
	words := slices.Clone(w.words)
	for i, word := range words {
		if value, stands := map[string]string{"KEY": key, "TOKEN": token, "TTL": ttl}[word]; stands {
			words[i] = value
		}
	}
	switch w.route {
	case "":
		return x.reply(client, words...)
	case watching:
		if reply := x.reply(client, "WATCH", key); reply != ok {
			return reply
		}
		if holder := x.reply(client, "GET", key); holder != token {
			x.do(client, ok, "UNWATCH")
			return holder
		}
		x.send(client, call(ok, "MULTI"), call(queued, words...))
		return x.reply(client, "EXEC")
	}
	return x.run(client, w.route, w.script, key, words...)
}

// wants goes one way and checks what is heard.
func (x *exchange) wants(client int, wanted any, w way, key, token, ttl string) {
	x.t.Helper()
	if x.old && w.newer {
		return
	}
	reply := x.goes(client, w, key, token, ttl)
	if wrong := (ask{wants: wanted}).wrong(reply); wrong != "" {
		x.t.Errorf("%s: %s%.200q with %q: %#v; %s", x.library, w.script, w.words, token, reply, wrong)
	}
}

// loses lets a short lock end and another client take it: what its first owner does
// then is told to be about a foreign lock, and does nothing to it.
func (r replay) loses(t *testing.T, addr string, old bool) {
	t.Helper()
	x := r.open(t, addr, old, 2)
	key := x.prefix + "lost"
	x.wants(0, r.take.done, r.take, key, mine, "200")
	redistest.Eventually(t, 10*time.Second, r.library+" takes a lock that has ended", func() bool {
		return (ask{wants: r.take.done}).wrong(x.goes(1, r.take, key, theirs, "10000")) == ""
	})
	for _, w := range r.owner {
		x.wants(0, w.foreign, w, key, mine, "20000")
		if w.blind { // as on one Redis: the new owner's lock is longer now, or gone
			x.do(1, anything, "DEL", key)
			x.wants(1, r.take.done, r.take, key, theirs, "10000")
			continue
		}
		x.do(1, theirs, "GET", key)
		x.do(1, between(1, 10_000), "PTTL", key)
	}
	x.do(1, int64(1), "DEL", key)
}

// kept is the key of a lock that a library keeps while the proxy comes and goes.
func (r replay) kept() string { return "kept:" + r.library }

// goesOn shows that a library's lock of before is still its own, on connections that
// are opened anew, to a proxy that knows none of its scripts.
func (r replay) goesOn(t *testing.T, addr string) {
	t.Helper()
	x := r.open(t, addr, false, 2)
	x.do(1, ok, "SCRIPT", "FLUSH")
	x.wants(1, r.take.foreign, r.take, r.kept(), theirs, "10000")
	for _, w := range r.owner {
		x.wants(0, w.done, w, r.kept(), mine, "300000")
		// The next way finds the lock held, and so does what comes after the last.
		_ = x.goes(0, r.take, r.kept(), mine, "300000")
	}
	x.do(0, mine, "GET", r.kept())
}

// fails shows that without a majority a library connects, and is told of each thing it
// does to a lock that it can't be done.
func (r replay) fails(t *testing.T, addr string) {
	t.Helper()
	x := r.open(t, addr, false, 1)
	unavailable := refused("UNAVAILABLE ")
	x.wants(0, unavailable, r.take, x.prefix+"new", mine, "10000")
	for _, w := range r.owner {
		x.wants(0, unavailable, w, r.kept(), mine, "20000")
	}
	x.do(0, pong, "PING")
}
