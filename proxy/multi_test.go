package proxy_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"redlockproxy/proxy/redistest"
)

// transactions are sessions with the rules of MULTI, each on a fresh connection. What
// begins with "other:" is sent by another client.
var transactions = []string{
	"MULTI; EXEC", "EXEC", "DISCARD", "MULTI; DISCARD; EXEC", "UNWATCH; EXEC",
	"MULTI; MULTI; SET k 1; EXEC; GET k", "MULTI; WATCH k; SET k 2; EXEC; GET k", "WATCH k; WATCH k k; MULTI; GET k; EXEC",
	"MULTI; NOSUCH; SET k 3; EXEC; GET k; EXEC", "MULTI; GET; EXEC; MULTI; GET k; EXEC", "MULTI; SET k; DISCARD; MULTI; SET k 4; EXEC; GET k",
	"MULTI; SET k v NX XX; SET k 5; EXEC; GET k", "MULTI; SET k v; INCR k; GET k; EXEC", "MULTI; EXEC x; SET k 6; EXEC; GET k",
	"MULTI; CLIENT FOO; EXEC", "MULTI; CONFIG; EXEC", "MULTI; SUBSCRIBE; EXEC",
	"WATCH k; other: SET k 7; MULTI; SET k 8; EXEC; GET k; MULTI; SET k 9; EXEC; GET k", "WATCH k; other: DEL k; MULTI; EXEC",
	"WATCH k; other: SET k x; UNWATCH; MULTI; GET k; EXEC", "WATCH k; other: SET k x; MULTI; UNWATCH; EXEC", "WATCH k; other: SET k x; MULTI; DISCARD; MULTI; GET k; EXEC",
	"WATCH k; SET k mine; MULTI; GET k; EXEC", "WATCH k; GET k; other: SET elsewhere x; MULTI; DEL k; EXEC; GET k",
	"WATCH gone; other: SET gone x; MULTI; EXEC", "WATCH k; other: EVAL return(redis.call('set',KEYS[1],'s')) 1 k; MULTI; EXEC",
	"MULTI; RESET; EXEC; GET k", "WATCH k; other: SET k x; RESET; MULTI; EXEC", "MULTI; SET k never; QUIT",
	"MULTI; PING; ECHO x; TIME x; EXEC", "MULTI; CLIENT SETNAME me; CLIENT GETNAME; EXEC; CLIENT GETNAME", "MULTI; AUTH x; SELECT 0; SELECT 1; EXEC",
	"MULTI; EVAL return(redis.call('incr',KEYS[1])) 1 n; INCR n; GET n; EXEC; GET n", "MULTI; EVALSHA ffffffffffffffffffffffffffffffffffffffff 0; INCR n; EXEC",
	"MULTI; SCRIPT EXISTS x; SCRIPT LOAD return(1); EVALSHA 930269f31393d0be681588b6ab08dccee7d6bb67 0; EXEC", "MULTI; INCR list; GET list; EXEC",
	// A transaction that reads is run twice here; it loads and flushes scripts once, in its place, and only if it happens.
	"SCRIPT FLUSH; MULTI; EVALSHA SHA 0; EVAL return(1) 0; EVALSHA SHA 0; GET k; EXEC; EVALSHA SHA 0", "SCRIPT FLUSH; SET k v; MULTI; SCRIPT EXISTS SHA; SCRIPT LOAD return(1); SCRIPT EXISTS SHA; GET k; EXEC; SCRIPT EXISTS SHA",
	"SCRIPT LOAD return(1); MULTI; EVALSHA SHA 0; SCRIPT FLUSH; EVALSHA SHA 0; GET k; EXEC; EVALSHA SHA 0", "SCRIPT LOAD return(1); MULTI; SCRIPT FLUSH; SCRIPT EXISTS SHA; EVAL return(1) 0; SCRIPT EXISTS SHA; GET k; EXEC; SCRIPT EXISTS SHA",
	"SCRIPT FLUSH; WATCH k; other: SET k x; MULTI; EVAL return(1) 0; EXEC; SCRIPT EXISTS SHA", "SCRIPT LOAD return(1); WATCH k; other: SET k y; MULTI; SCRIPT FLUSH; EXEC; SCRIPT EXISTS SHA", "SCRIPT FLUSH; MULTI; EVAL return(1) 0; DISCARD; SCRIPT EXISTS SHA",
	"SCRIPT FLUSH; MULTI; EVAL return(redis.call('incr',KEYS[1])) 1 list; EXEC",
	// WATCH compares what is held, and a transaction is one step on what it names.
	"SET k v; WATCH k; other: PEXPIRE k 50000; MULTI; GET k; EXEC", "SET k v; WATCH k; other: SET k v GET; MULTI; GET k; EXEC", "WATCH k; other: SET k v; other: DEL k; MULTI; GET k; EXEC",
	"WATCH k; other: SET k v; other: DEL k; other: SET k v; MULTI; GET k; EXEC", "MULTI; SCAN 0; EXEC", "MULTI; DBSIZE; EXEC", "MULTI; SUBSCRIBE c; DISCARD",
	"WATCH; MULTI; GET k; EXEC", "MULTI x; EXEC", "WATCH k; MULTI; MULTI; WATCH k; DISCARD; DISCARD",
}

// manyKeys are sessions that name 30 keys, one after the other.
func manyKeys() (sessions []string) {
	var watch, look, values []string
	for i := range 30 {
		k := fmt.Sprint("k", i)
		watch, look, values = append(watch, k), append(look, "PTTL "+k), append(values, k+" v")
	}
	all := strings.Join(watch, " ")
	set := "MSETNX " + strings.Join(values, " ")
	return []string{
		set + "; " + set + "; EXISTS " + all, "MULTI; " + set + "; " + set + "; EXPIRE k29 100; SET k29 w XX; GET k29; EXEC; DEL " + all,
		set + "; MULTI; DEL " + all + "; " + set + "; PERSIST k3; EXEC; " + set,
		"WATCH " + all + "; MULTI; SET k1 v; EXEC; GET k1", "WATCH " + all + "; other: SET k29 v; MULTI; SET k1 v; EXEC; GET k1",
		"MULTI; " + strings.Join(look, "; ") + "; INCR n; EXEC",
		"EVAL for_i=1,#KEYS_do_if_redis.call('pttl',KEYS[i])>0_then_return(i)_end_end_return(redis.call('incr',KEYS[1])) 30 " + all,
		"EVAL for_i=1,30_do_if_redis.call('pttl','k'..i)>0_then_return(i)_end_end_return(redis.call('incr',KEYS[1])) 1 n",
	}
}

func TestTransactionsKeepTheRulesOfRedis(t *testing.T) {
	w, redis := newWorld(t), redistest.Start(t, redistest.Args("--databases", "1"))
	for _, proto := range []int{2, 3} {
		for _, lines := range append(manyKeys(), transactions...) {
			for _, s := range append(redistest.Group{redis}, w.backends...) {
				s.Empty()
				s.MustDo("RPUSH", "list", "x")
			}
			p := newPair(t, w, redis)
			others := [2]*client{w.client(), dial(t, redis.Addr())}
			for _, c := range []*client{p.proxy, p.redis} {
				c.Proto = proto
				c.do("HELLO", fmt.Sprint(proto))
			}
			for _, line := range strings.Split(strings.ReplaceAll(lines, " SHA", " "+digest("return(1)")), "; ") {
				line, fromOther := strings.CutPrefix(line, "other: ")
				args := strings.Fields(line)
				for i := range args {
					args[i] = strings.ReplaceAll(args[i], "_", " ") // in scripts
				}
				if fromOther {
					others[0].do(args...)
					others[1].do(args...)
					continue
				}
				if args[0] == "RESET" {
					p.proxy.Proto, p.redis.Proto = 2, 2
				}
				here, there := render(p.proxy.do(args...)), render(p.redis.do(args...))
				if here != there && !documented("in "+lines+": "+line, there, here) {
					t.Errorf("RESP%d: %s, in %s\n\tRedis: %s\n\tproxy: %s", proto, line, lines, there, here)
				}
			}
		}
	}
}

// TestWhatTheProxyAnswersItselfInATransactionHappensOnceAndOnlyWithIt has commands that
// can be seen to have been carried out.
func TestReservedKeyCanNotBeWatched(t *testing.T) {
	w := newWorld(t)
	c := w.client()
	c.wantError("UNSUPPORTED the key ~redlock-proxy:marker", "WATCH", "a", "~redlock-proxy:marker")
	c.want(ok, "WATCH", "a")
}

func TestWhatTheProxyAnswersItselfInATransactionHappensOnceAndOnlyWithIt(t *testing.T) {
	w := newWorld(t)
	c, other := w.client(), w.client()
	kill := func(o *client) []string { return []string{"CLIENT", "KILL", "ID", fmt.Sprint(o.do("CLIENT", "ID"))} }
	for _, exec := range []bool{false, true} {
		victim := w.client()
		c.want(ok, "WATCH", "k")
		if !exec {
			other.want(ok, "SET", "k", "changed")
		}
		c.want(ok, "MULTI")
		c.want(queued, "SET", "k", "v") // over something that is there: read, and then run again
		c.want(queued, "GET", "k")
		c.want(queued, kill(victim)...)
		if !exec {
			c.want(nil, "EXEC")
			victim.want(pong, "PING")
			continue
		}
		c.want([]any{ok, "v", int64(1)}, "EXEC")
		victim.wantClosed()
	}
}

// TestPipelineOfATransactionIsOne has what redis-py's pipeline sends: everything at once.
func TestPipelineOfATransactionIsOne(t *testing.T) {
	w := newWorld(t)
	c := w.client()
	c.sendAll([]string{"MULTI"}, []string{"SET", "lock", "token", "NX", "PX", "60000"}, []string{"INCRBY", "fence", "1"}, []string{"EXEC"}, []string{"GET", "lock"})
	for _, want := range []any{ok, queued, queued, []any{ok, int64(1)}, "token"} {
		if got := c.receive(); !same(got, want) {
			t.Errorf("%s, wanted %s", render(got), render(want))
		}
	}
}

// Some clients ignore what WATCH answers, and send MULTI, DEL and EXEC all the same.
func TestExecAfterAFailedWatchWritesNothing(t *testing.T) {
	w := newWorld(t, "LANE_VOTE=200ms", "SERVER_ANSWER_WITHIN=500ms", "SERVER_MAX_COMMAND_BYTES=100000", "SCRIPT_MAX_SOURCE=10000")
	c, other := w.client(), w.client()
	const refused = "UNAVAILABLE the WATCH before this transaction failed"
	for _, s := range w.backends[:3] {
		s.Pause()
	}
	c.wantError("UNAVAILABLE ", "WATCH", "k")
	for _, s := range w.backends[:3] {
		s.Resume()
	}
	redistest.Eventually(t, 5*time.Second, "another client has the lock everywhere", func() bool {
		return other.do("SET", "k", "other", "PX", "60000") == ok && w.backends.Holding("k") == len(w.backends)
	})
	c.want(ok, "MULTI")
	c.want(queued, "DEL", "k")
	c.wantError(refused, "EXEC")
	for i, s := range w.backends {
		if held := s.Get("k"); !strings.HasPrefix(held, "other") {
			t.Errorf("backend %d holds %q", i, held)
		}
	}

	// What ends a transaction ends this too.
	for _, k := range []string{"a", "b", "c"} {
		c.want(ok, "SET", k, strings.Repeat("v", 40_000))
	}
	for _, end := range []string{"EXEC", "DISCARD", "UNWATCH", "RESET"} {
		c.wantError("UNSUPPORTED too many watched keys", "WATCH", "a", "b", "c")
		c.want(ok, "WATCH", "k")
		switch end {
		case "EXEC":
			c.want(ok, "MULTI")
			c.wantError(refused, end)
		case "DISCARD":
			c.want(ok, "MULTI")
			c.want(ok, end)
		default:
			c.do(end)
		}
		c.want(ok, "MULTI")
		c.want(queued, "GET", "k")
		c.want([]any{"other"}, "EXEC")
	}
}

// A WATCH for which there is no room watches none of its keys, and leaves the room to others.
func TestWatchIsAllOrNothing(t *testing.T) {
	w := newWorld(t, "SERVER_MAX_COMMAND_BYTES=100000", "SCRIPT_MAX_SOURCE=10000")
	c := w.client()
	value := strings.Repeat("v", 40_000)
	for _, k := range []string{"a", "b", "c", "d", "e"} {
		c.want(ok, "SET", k, value)
	}
	c.wantError("UNSUPPORTED too many watched keys", "WATCH", "a", "b", "c")
	c.want(ok, "WATCH", "d", "e")
}
