package proxy_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"redlockproxy/proxy/redistest"
)

// slowScripts lets a script compute for 500 ms, which holds up the reply behind it on
// the same connection.
var slowScripts = []string{"SCRIPT_MAX_TIME=500ms", "SCRIPT_MAX_STEPS=1000000000"}

// heldUp sends commands right behind one whose reply takes 500 ms, and returns their
// replies.
func heldUp(t *testing.T, w *world, commands ...[]string) []any {
	t.Helper()
	c := w.client()
	c.sendAll(append([][]string{{"EVAL", busy, "1", "elsewhere"}}, commands...)...)
	if e, isError := c.receive().(redistest.Error); !isError {
		t.Fatalf("the slow script ended: %v", e)
	}
	replies := make([]any, len(commands))
	for i := range replies {
		replies[i] = c.receive()
	}
	return replies
}

func TestLockThatIsOverBeforeItsReplyIsRefusedAndUndone(t *testing.T) {
	w := newWorld(t, slowScripts...)
	const expired = "UNAVAILABLE the lock's time was over before the answer could be given; it was released"
	for name, c := range map[string]struct {
		command []string
		wanted  any
	}{
		"SET":     {[]string{"SET", "k", "t", "NX", "PX", "250"}, nil},
		"SET GET": {[]string{"SET", "k", "t", "NX", "GET", "PX", "250"}, redistest.Error(expired)},
		"EVAL":    {[]string{"EVAL", "return redis.call('SET',KEYS[1],ARGV[1],'NX','PX',250)", "1", "k", "t"}, redistest.Error(expired)},
		"SETNX and PEXPIRE": {[]string{"EVAL", "if redis.call('SETNX',KEYS[1],ARGV[1]) == 1 then return redis.call('PEXPIRE',KEYS[1],250) end return 0", "1", "k", "t"},
			redistest.Error(expired)},
		"SET and a longer PEXPIRE": {[]string{"EVAL", "redis.call('SET',KEYS[1],ARGV[1],'NX','PX',250) return redis.call('PEXPIRE',KEYS[1],60000)", "1", "k", "t"}, int64(1)},
	} {
		t.Run(name, func(t *testing.T) {
			if got := heldUp(t, w, c.command)[0]; !same(got, c.wanted) {
				t.Errorf("%#v, wanted %#v", got, c.wanted)
			}
			if c.wanted == int64(1) {
				w.onAll("k")
				w.client().want(int64(1), "DEL", "k")
			}
			w.gone("k")
		})
	}
	if expired := w.logs.find(func(l line) bool { return l["result"] == "expired" }); len(expired) != 4 {
		t.Errorf("%d expired acquisitions in the log", len(expired))
	}
	if n := w.scrape()[operation("acquire", "expired")]; n != 4 {
		t.Errorf("%v expired acquisitions in the metrics", n)
	}
}

// What is undone is what the attempt wrote, not the key: the next owner has it by now.
func TestLateUndoSparesTheNextOwner(t *testing.T) {
	w := newWorld(t, slowScripts...)
	c := w.client()
	c.sendAll([]string{"EVAL", busy, "1", "elsewhere"}, []string{"SET", "k", "same", "NX", "PX", "150"})
	redistest.Eventually(t, time.Second, "the first owner has the lock", func() bool { return w.backends.Holding("k") >= 3 })
	other := w.client()
	redistest.Eventually(t, time.Second, "the next owner has the lock", func() bool { return other.do("SET", "k", "same", "NX", "PX", "60000") == ok })
	c.receive()
	if got := c.receive(); got != nil {
		t.Errorf("the first owner was told %v", got)
	}
	other.want("same", "GET", "k")
	redistest.Settles(t, 100*time.Millisecond, 2*time.Second, "the next owner keeps it", func() bool { return w.backends.Holding("k") >= 3 })
}

func TestClientThatHungUpHoldsNothing(t *testing.T) {
	for name, hangUp := range map[string]func(*client) error{
		"end":   func(c *client) error { return c.Close() },
		"reset": func(c *client) error { return c.Reset() },
	} {
		t.Run(name, func(t *testing.T) {
			w := newRelayedWorld(t)
			for _, r := range w.relays {
				r.Delay(500*time.Millisecond, redistest.Replies)
			}
			for key, command := range map[string][]string{
				"a": {"SET", "a", "t", "NX", "PX", "60000"},
				"b": {"EVAL", "return redis.call('SET',KEYS[1],ARGV[1],'NX','PX',60000)", "1", "b", "t"},
			} {
				c := w.client()
				c.sendAll(command)
				w.onAny(key)
				if err := hangUp(c); err != nil {
					t.Fatal(err)
				}
			}
			w.awaitLogged(2, func(l line) bool { return l["result"] == "client gone" })
			if n := w.scrape()[operation("acquire", "client_gone")]; n != 2 {
				t.Errorf("%v times in the metrics", n)
			}
			for _, r := range w.relays {
				r.Pass()
			}
			w.gone("a", "b")
			other := w.client()
			other.want(ok, "SET", "a", "other", "NX", "PX", "60000")
			other.want(ok, "SET", "b", "other", "NX", "PX", "60000")
		})
	}
}

// A client that stops reading is cut off in the middle of its replies. It holds the
// lock that it was told of, and not the one that it was not told of any more.
func TestClientThatStopsReadingHoldsWhatItWasTold(t *testing.T) {
	w := newWorld(t, append(slowScripts, "SERVER_WRITE_STALL=300ms")...)
	c, watcher := w.client(), w.client()
	many := []string{"MGET"} // more than all buffers on the way to the client take
	for i := range 16 {
		many = append(many, fmt.Sprint(i))
		watcher.want(ok, "SET", fmt.Sprint(i), strings.Repeat("x", 900<<10))
	}
	c.sendAll([]string{"EVAL", busy, "1", "elsewhere"}, []string{"SET", "told", "t", "NX", "PX", "60000"}, many, []string{"SET", "untold", "t", "NX", "PX", "60000"})
	w.onAll("untold")
	if _, isError := c.receive().(redistest.Error); !isError {
		t.Error("the slow script ended")
	}
	c.want2(ok)
	redistest.Eventually(t, 10*time.Second, "the proxy gives the client up", func() bool {
		info, _ := watcher.do("INFO", "clients").(string)
		return strings.Contains(info, "connected_clients:1\r\n")
	})
	w.gone("untold")
	w.onAll("told")
}

func TestOutageIsNilWhereThatIsWanted(t *testing.T) {
	w := newWorld(t, "SERVER_UNAVAILABLE_REPLY=nil", "LANE_VOTE=100ms", "SERVER_ANSWER_WITHIN=200ms")
	for _, s := range w.backends[:3] {
		s.Kill()
	}
	w.awaitLogged(3, func(l line) bool { return l["state"] == "down" })
	c := w.client()
	c.want(nil, "SET", "k", "t", "NX", "PX", "60000")
	c.want(nil, "SET", "k", "t", "NX")
	c.want(int64(0), "SETNX", "k", "t")
	// Where nil means something else, and for all other commands, it is an error.
	for _, command := range []string{"SET k1 t NX GET PX 60000", "SET k2 t PX 60000", "SET k3 t XX", "GET k", "INCR n", "DEL k", "EXPIRE k 10"} {
		c.wantError("UNAVAILABLE ", strings.Fields(command)...)
	}
	redistest.Settles(t, 100*time.Millisecond, 5*time.Second, "nothing is left", func() bool {
		keys := append(w.backends[3].Keys(), w.backends[4].Keys()...)
		return !slices.ContainsFunc(keys, func(k string) bool { return k != "n" }) // numbers may have moved
	})
}

func TestLockWithoutATimeToLiveIsGivenAndLoggedOncePerClient(t *testing.T) {
	w := newWorld(t)
	for n := range 2 {
		c := w.client()
		for i := range 3 {
			c.want(int64(1), "SETNX", fmt.Sprintf("a%d%d", n, i), "T0ken")
			c.want(ok, "SET", fmt.Sprintf("b%d%d", n, i), "T0ken", "NX")
			c.want(int64(-1), "PTTL", fmt.Sprintf("b%d%d", n, i))
		}
		c.want(ok, "SET", fmt.Sprint("c", n), "T0ken", "NX", "PX", "60000")
	}
	warned := w.logs.find(func(l line) bool {
		return l["level"] == "warn" && strings.Contains(fmt.Sprint(l["message"]), "without a time to live")
	})
	if len(warned) != 2 || warned[0]["resource"] != "a00" || warned[0]["client"] == warned[1]["client"] {
		t.Errorf("%v", warned)
	}
}

func TestSetWithNXAndGetTellsWhoHasIt(t *testing.T) {
	w := newWorld(t)
	a, b := w.client(), w.client()
	a.want(nil, "SET", "k", "a", "NX", "PX", "60000", "GET")
	w.onAll("k")
	a.want("a", "SET", "k", "a", "NX", "PX", "60000", "GET")
	b.want("a", "SET", "k", "b", "GET", "NX", "PX", "60000")
	b.want(nil, "SET", "k", "b", "NX", "PX", "60000")
	for _, s := range w.backends {
		s.MustDo("DEL", "list")
		s.MustDo("RPUSH", "list", "x")
	}
	b.wantError("WRONGTYPE", "SET", "list", "b", "NX", "GET")
	b.want(nil, "SET", "list", "b", "NX")
}

// A number that was drawn after the lock can be newer than the next owner's, so the
// manual says: draw the number, then look whether the lock is still yours.
func TestNumberIsDrawnBeforeOwnershipIsChecked(t *testing.T) {
	w := newWorld(t)
	a, b := w.client(), w.client()
	a.want(ok, "SET", "lock", "a", "NX", "PX", "50")
	redistest.Eventually(t, 2*time.Second, "the next owner has the lock", func() bool { return b.do("SET", "lock", "b", "NX", "PX", "60000") == ok })
	b.want(int64(1), "INCR", "fence")
	b.want("b", "GET", "lock") // its number is good
	a.want(int64(2), "INCR", "fence")
	a.want("b", "GET", "lock") // so the number 2 must not be used
	a.want(int64(0), "EVAL", extend, "1", "lock", "a", "60000")

	// In one step with the lock, a number is only given to who gets it.
	const both = `if redis.call('SET',KEYS[1],ARGV[1],'NX','PX',ARGV[2]) then return redis.call('INCR',KEYS[2]) end return false`
	a.want(nil, "EVAL", both, "2", "lock", "fence", "a", "60000")
	b.want(int64(1), "EVAL", release, "1", "lock", "b")
	a.want(int64(3), "EVAL", both, "2", "lock", "fence", "a", "60000")
	b.want("3", "GET", "fence")
}
