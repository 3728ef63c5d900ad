package proxy_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"redlockproxy/proxy/redistest"
)

// page is one reply to SCAN.
func (c *client) page(args ...string) (cursor string, keys []string) {
	c.t.Helper()
	reply, _ := c.do(args...).([]any)
	if len(reply) != 2 {
		c.t.Fatalf("%s: %v", spell(args), reply)
	}
	cursor, _ = reply[0].(string)
	names, _ := reply[1].([]any)
	for _, n := range names {
		keys = append(keys, n.(string))
	}
	slices.Sort(keys)
	return cursor, keys
}

func TestScanListsWhatAMajorityHolds(t *testing.T) {
	w := newWorld(t)
	c := w.client()
	for _, k := range []string{"lock:a", "lock:b", "other", "", "\x00\r\n\xff"} {
		c.want(ok, "SET", k, strings.Repeat("token", 100), "NX", "PX", "600000")
		w.onAll(k)
	}
	c.want(int64(1), "INCR", "n")
	w.onAll("n")
	for i, s := range w.backends {
		if i < 2 {
			s.MustDo("SET", "left over", "x")
		} else {
			s.MustDo("SET", "not on two", "x")
		}
		s.MustDo("RPUSH", "list", "x")
		s.MustDo("SET", "of nobody", strings.Repeat("v", 100)+strconv.Itoa(i))
	}
	strs := []string{"", "\x00\r\n\xff", "lock:a", "lock:b", "n", "not on two", "other"}
	for _, test := range []struct {
		args string
		want []string
	}{
		{"SCAN 0", append([]string{"list"}, strs...)},
		{"scan 0 count 1", append([]string{"list"}, strs...)},
		{"SCAN 0 TYPE string", strs}, {"SCAN 0 TYPE LIST", []string{"list"}}, {"SCAN 0 TYPE hash", nil}, {"SCAN 0 TYPE nosuch", nil},
		{"SCAN 0 MATCH lock:*", []string{"lock:a", "lock:b"}}, {"SCAN 0 MATCH lock:[^a] COUNT 1000", []string{"lock:b"}},
		{"SCAN 0 MATCH x MATCH other TYPE list TYPE string", []string{"other"}}, {"SCAN 0 MATCH *", append([]string{"list"}, strs...)},
	} {
		cursor, keys := c.page(strings.Fields(test.args)...)
		slices.Sort(test.want)
		if cursor != "0" || !slices.Equal(keys, test.want) {
			t.Errorf("%s: %s, %q, wanted %q", test.args, cursor, keys, test.want)
		}
	}
	c.want(int64(9), "DBSIZE") // "of nobody" is counted, as one backend can't tell
}

// TestScanGoesOnAtAnyProxy walks through more keys than one step has, at two proxies in
// turn, while a backend goes away.
func TestScanGoesOnAtAnyProxy(t *testing.T) {
	w := newWorld(t)
	second := join(t, w.backends)
	proxies := []*client{w.client(), second.client()}
	const keys = 4000
	for i := 0; i < keys; i += 500 {
		args := []string{"MSET"}
		for n := range 500 {
			args = append(args, fmt.Sprint("key:", i+n), "v")
		}
		if n := len(args); n > 1024 {
			t.Fatalf("%d words", n)
		}
		proxies[0].want(ok, args...)
	}
	found := map[string]bool{}
	cursor, steps := "0", 0
	for ; cursor != "0" || steps == 0; steps++ {
		if steps == 2 {
			w.backends[1].Kill()
		}
		var page []string
		cursor, page = proxies[steps%2].page("SCAN", cursor, "COUNT", "10")
		if len(page) > 2000 {
			t.Errorf("a step of %d keys", len(page))
		}
		for _, k := range page {
			found[k] = true
		}
		if steps > 50 {
			t.Fatal("no end")
		}
	}
	if len(found) != keys || steps < 4 {
		t.Errorf("%d keys of %d in %d steps", len(found), keys, steps)
	}
}

// A pattern can take time that grows with its length times that of each name.
func TestPatternsAreBoundedAndNoWorkOfBackends(t *testing.T) {
	w := newWorld(t)
	c := w.client()
	name := strings.Repeat("a", 50_000)
	c.want(ok, "SET", name, "v")
	var monitors []*redistest.Monitor
	for _, s := range w.backends {
		monitors = append(monitors, s.Monitor())
	}
	stars := strings.Repeat("*a", 127)
	for pattern, want := range map[string]int{stars + "*b": 0, stars + "*": 1} {
		if cursor, keys := c.page("SCAN", "0", "MATCH", pattern); cursor != "0" || len(keys) != want {
			t.Errorf("%.10s: %s, %d keys, wanted %d", pattern, cursor, len(keys), want)
		}
	}
	for _, m := range monitors {
		if m.Count("SCAN", "MATCH") > 0 {
			t.Error("a backend got a pattern")
		}
	}
	long := strings.Repeat("x", 257)
	c.wantError("UNSUPPORTED a pattern of more than 256 bytes", "SCAN", "0", "MATCH", long)
	c.wantError("UNSUPPORTED a pattern of more than 256 bytes", "COMMAND", "LIST", "FILTERBY", "PATTERN", "*["+long)
	c.want([]any{}, "CONFIG", "GET", "*["+long)
}

func TestScanHasNoPlaceInsideATransactionOrScript(t *testing.T) {
	w := newWorld(t)
	c := w.client()
	for _, command := range [][]string{{"SCAN", "0"}, {"DBSIZE"}, {"SUBSCRIBE", "c"}} {
		call := append([]string{"EVAL", "return redis.call(unpack(ARGV))", "0"}, command...)
		c.want(ok, "MULTI")
		c.want(queued, "SET", "k", "v")
		c.wantError("ERR Command not allowed inside a transaction", command...)
		c.wantError("EXECABORT ", "EXEC")
		c.wantError("ERR This Redis command is not allowed from script", call...)
	}
	w.gone("k")
}
