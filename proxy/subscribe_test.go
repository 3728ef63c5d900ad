package proxy_test

import (
	"fmt"
	"strings"
	"testing"

	"redlockproxy/proxy/redistest"
)

func TestSubscriberStaysConnectedAndHearsNothing(t *testing.T) {
	w := newWorld(t)
	for _, proto := range []int{2, 3} {
		c, other := w.client(), w.client()
		if proto == 3 {
			if _, err := c.Hello3(); err != nil {
				t.Fatal(err)
			}
		}
		subscribed := c.all("SUBSCRIBE", "a", "b")
		one := func(kind string, channel any, n int64) any {
			if proto == 3 {
				return redistest.Push{kind, channel, n}
			}
			return []any{kind, channel, n}
		}
		if !same(subscribed, []any{one("subscribe", "a", 1), one("subscribe", "b", 2)}) {
			t.Errorf("RESP%d: %s", proto, render(subscribed))
		}
		other.wantError("UNSUPPORTED PUBLISH", "PUBLISH", "a", "m")
		line, _ := other.do("CLIENT", "LIST", "TYPE", "pubsub").(string)
		if !strings.Contains(line, " flags=P ") || !strings.Contains(line, " sub=2 psub=0 ") || strings.Count(line, "\n") != 1 {
			t.Errorf("CLIENT LIST: %q", line)
		}
		if proto == 2 {
			c.wantError("ERR Can't execute 'hello'", "HELLO", "3")
			c.wantError("ERR Can't execute 'set'", "SET", "k", "v", "NX")
			c.want([]any{"pong", ""}, "PING")
			if got := c.all("UNSUBSCRIBE"); !same(got, []any{one("unsubscribe", "a", 1), one("unsubscribe", "b", 0)}) {
				t.Errorf("%s", render(got))
			}
		}
		c.want(ok, "SET", fmt.Sprint("k", proto), "v", "NX", "PX", "60000")
		c.want(redistest.Status("RESET"), "RESET")
		if line, _ := other.do("CLIENT", "LIST", "TYPE", "pubsub").(string); line != "" {
			t.Errorf("after RESET: %q", line)
		}
	}
}

func TestSubscriptionsAreBounded(t *testing.T) {
	w := newWorld(t)
	c := w.client()
	refused := 0
	for i := range 3 {
		args := []string{"PSUBSCRIBE"}
		for n := range 500 {
			args = append(args, fmt.Sprint("p", i, ".", n))
		}
		for _, reply := range c.all(args...).([]any) {
			if e, isError := reply.(redistest.Error); isError && e == "UNSUPPORTED too many subscriptions" {
				refused++
			}
		}
	}
	if refused != 1 {
		t.Errorf("refused %d times", refused)
	}
	long := strings.Repeat("x", 600<<10)
	c = w.client()
	c.all("SUBSCRIBE", long+"a")
	if got := c.all("SUBSCRIBE", long+"b").([]any); len(got) != 1 || got[0] != redistest.Error("UNSUPPORTED too many subscriptions") {
		t.Errorf("%.100s", render(got))
	}
	c.all("UNSUBSCRIBE", long+"a")
	if got := c.all("SUBSCRIBE", long+"b").([]any); len(got) != 1 || fmt.Sprintf("%T", got[0]) == "redistest.Error" {
		t.Errorf("%.100s", render(got))
	}
}

func TestClientsAreKilledByWhatTheyAre(t *testing.T) {
	w := newWorld(t)
	c := w.client()
	id := func(o *client) string { return fmt.Sprint(o.do("CLIENT", "ID")) }
	addr := func(o *client) string {
		line, _ := o.do("CLIENT", "INFO").(string)
		_, rest, _ := strings.Cut(line, " addr=")
		before, _, _ := strings.Cut(rest, " ")
		return before
	}
	first, second, third, fourth := w.client(), w.client(), w.client(), w.client()
	c.wantError("ERR No such client", "CLIENT", "KILL", "")
	c.want(int64(0), "CLIENT", "KILL", "ADDR", "")
	c.want(int64(0), "CLIENT", "KILL", "LADDR", "", "SKIPME", "no")
	c.want(int64(1), "CLIENT", "KILL", "ID", id(first), "ADDR", addr(first), "USER", "default")
	first.wantClosed()
	c.want(int64(0), "CLIENT", "KILL", "ID", id(second), "ADDR", addr(third))
	c.want(int64(0), "CLIENT", "KILL", "ID", id(c))
	c.want(int64(0), "CLIENT", "KILL", "MAXAGE", "3600", "SKIPME", "no")
	c.want(ok, "CLIENT", "KILL", addr(second))
	second.wantClosed()
	third.all("SUBSCRIBE", "c")
	c.want(int64(1), "CLIENT", "KILL", "TYPE", "pubsub")
	third.wantClosed()
	c.want(int64(2), "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "no")
	fourth.wantClosed()
	c.wantClosed()
}

// TestKilledClientHoldsNothing kills a client while its votes are under way.
func TestKilledClientHoldsNothing(t *testing.T) {
	w := newRelayedWorld(t)
	victim, other := w.client(), w.client()
	id := fmt.Sprint(victim.do("CLIENT", "ID"))
	for _, r := range w.relays {
		r.Hold()
	}
	if err := victim.Send("SET", "k", "v", "NX", "PX", "600000"); err != nil {
		t.Fatal(err)
	}
	other.want(int64(1), "CLIENT", "KILL", "ID", id)
	victim.wantClosed()
	for _, r := range w.relays {
		r.Pass()
	}
	w.gone("k")
	other.want(ok, "SET", "k", "w", "NX", "PX", "60000")
}
