package e2e_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"redlockproxy/proxy/redistest"
)

// other begins a command that a second client sends.
const other = "other:"

// talk has two clients say this in turn to the proxy and to one plain Redis, and
// compares all replies.
func talk(t *testing.T, x *twins, commands ...string) {
	t.Helper()
	here := [2]*redistest.Client{x.w.proxy.Client(), x.w.proxy.Client()}
	there := [2]*redistest.Client{x.plain.Client(), x.plain.Client()}
	for _, command := range commands {
		who := 0
		args := strings.Fields(command)
		if args[0] == other {
			who, args = 1, args[1:]
		}
		a, err1 := here[who].Do(args...)
		b, err2 := there[who].Do(args...)
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		if !alike(a, b) {
			t.Errorf("%s in %q\n\tRedis %#v\n\tproxy %#v", command, commands, b, a)
		}
	}
}

func TestWatchedReleasesAndExtensionsDoWhatTheyDoOnOneRedis(t *testing.T) {
	x := newTwins(t)
	for name, commands := range map[string][]string{
		"own":                 {"SET k me NX PX 60000", "WATCH k", "GET k", "MULTI", "DEL k", "EXEC", "GET k", other + " SET k you NX PX 60000"},
		"own, extended":       {"SET k me NX PX 60000", "WATCH k", "GET k", "MULTI", "PEXPIRE k 90000", "EXEC", "PTTL k"},
		"own, in seconds":     {"SET k me NX PX 60000", "WATCH k", "GET k", "MULTI", "EXPIRE k 90", "EXEC", "TTL k"},
		"foreign":             {other + " SET k you NX PX 60000", "WATCH k", "GET k", "UNWATCH", "GET k", "PTTL k"},
		"missing":             {"WATCH k", "GET k", "MULTI", "DEL k", "EXEC"},
		"lost to another":     {"SET k me NX PX 60000", "WATCH k", "GET k", other + " DEL k", other + " SET k you NX PX 60000", "MULTI", "DEL k", "EXEC", "GET k"},
		"the same value anew": {"SET k me NX PX 60000", "WATCH k", "GET k", other + " DEL k", other + " SET k me NX PX 60000", "MULTI", "DEL k", "EXEC", "GET k"},
		"created meanwhile":   {"WATCH k", "GET k", other + " SET k you NX PX 60000", "MULTI", "SET k me PX 60000", "EXEC", "GET k"},
		"taken in one step":   {"WATCH k", "EXISTS k", "MULTI", "SETNX k me", "PEXPIRE k 60000", "EXEC", "PTTL k"},
		"unwatched":           {"SET k me NX PX 60000", "WATCH k", "UNWATCH", other + " SET k you PX 60000", "MULTI", "DEL k", "EXEC", "GET k"},
		"discarded":           {"SET k me NX PX 60000", "WATCH k", "MULTI", "DEL k", "DISCARD", "GET k"},
		"watched after MULTI": {"SET k me NX PX 60000", "MULTI", "WATCH k", "DEL k", "EXEC", "GET k"},
		"with a number":       {"MULTI", "SET k me NX PX 60000", "INCR n", "EXEC", "GET n"},
	} {
		for _, s := range append(slices.Clone(x.w.backends), x.plain) {
			s.MustDo("DEL", "k", "n")
		}
		t.Run(name, func(t *testing.T) { talk(t, x, commands...) })
		x.compareHoldings()
	}
}

func TestPlainFormsOfLockingDoWhatTheyDoOnOneRedis(t *testing.T) {
	x := newTwins(t)
	soon := time.Now().Add(time.Minute)
	for name, commands := range map[string][]string{
		"lower case, seconds": {"set k me ex 60 nx", "TTL k", other + " set k you ex 60 nx", "GET k"},
		"options turned":      {"SET k me NX EX 60", "set k you nX pX 1000", "PTTL k"},
		"absolute, seconds":   {fmt.Sprintf("SET k me NX EXAT %d", soon.Unix()), "PTTL k", "SET k you NX EXAT 1"},
		"absolute":            {fmt.Sprintf("SET k me NX PXAT %d", soon.UnixMilli()), "PTTL k", fmt.Sprintf("PEXPIREAT k %d", soon.UnixMilli()+9000), "TTL k"},
		"set if not exists":   {"SETNX k me", "SETNX k you", "EXPIRE k 60", "TTL k", "DEL k", "GET k"},
		"with the old value":  {"SET k me NX PX 60000 GET", other + " SET k you NX PX 60000 GET", "GET k"},
		"twice the same":      {"SET k 1 NX PX 60000", other + " SET k 1 NX PX 60000", "GET k"},
		"renewed unasked":     {"SET k me NX PX 60000", "SET k me XX PX 90000", "PTTL k", "DEL k", "SET k me XX PX 90000", "GET k"},
		"several at once":     {"MSETNX k 1 n 2", "MSETNX k 3 k2 4", "MGET k n k2", "DEL k n k2", "EXISTS k n k2"},
		"somebody else's":     {"SET k me PX 60000", other + " DEL k", "GET k", other + " SET k you NX PX 60000", "UNLINK k n", "EXISTS k"},
		"extend by nothing":   {"SET k me PX 60000", "PEXPIRE k 0", "GET k", "SET k me PX 60000", "PEXPIRE k -5", "GET k"},
		"extend by no number": {"SET k me PX 60000", "PEXPIRE k abc", "PEXPIRE k 1e3", "PTTL k", "GET k"},
	} {
		for _, s := range append(slices.Clone(x.w.backends), x.plain) {
			s.MustDo("DEL", "k", "n", "k2")
		}
		t.Run(name, func(t *testing.T) { talk(t, x, commands...) })
		x.compareHoldings()
	}
}

func TestEmptyNamesAndTokensAreNamesAndTokens(t *testing.T) {
	w := newWorld(t, redistest.Patient(t)...)
	for _, x := range [][2]string{{"", "a"}, {"k", ""}, {"", ""}, {"\x00\r\n\xff", "\x00\r\n$-1\xff"}} {
		key, token := x[0], x[1]
		w.lock(ok, key, token, "60000")
		w.lock(nil, key, token, "60000")
		w.want(token, "GET", key)
		w.release(int64(0), key, token+"x")
		w.release(int64(1), key, token)
		w.gone(w.backends, key)
	}
}

func TestExtensionByNothingEndsTheLockOnEveryBackend(t *testing.T) {
	w := newWorld(t, redistest.Patient(t)...)
	for _, millis := range []string{"0", "-5"} {
		w.lock(ok, "lock:ended", "a", "60000")
		w.extend(int64(1), "lock:ended", "a", millis)
		w.gone(w.backends, "lock:ended")
	}
	w.lock(ok, "lock:kept", "a", "60000")
	for _, millis := range []string{"abc", "1e3"} {
		if e, isError := w.do("EVAL", extendScript, "1", "lock:kept", "a", millis).(redistest.Error); !isError || !strings.Contains(string(e), "not an integer") {
			t.Errorf("extended by %s: %v", millis, e)
		}
	}
	w.want("a", "GET", "lock:kept")
	if left := w.do("PTTL", "lock:kept").(int64); left < 50_000 || left > 60_000 {
		t.Errorf("%d ms left", left)
	}
}

// The conditional forms of newer servers, which redis-server 7.0 does not know.
func TestNewerConditionalFormsLockReleaseAndExtend(t *testing.T) {
	w := newWorld(t, redistest.Patient(t)...)
	steps := []struct {
		wanted any
		line   string
	}{
		{nil, "SET k me IFEQ me PX 60000"}, // missing: a condition on a value creates nothing
		{nil, "GET k"},
		{int64(0), "DELEX k IFEQ me"},
		{int64(0), "DELIFEQ k me"},
		{ok, "SET k me NX PX 60000"},
		{nil, "SET k you PX 90000 IFEQ you"},
		{int64(0), "DELEX k IFEQ you"},
		{int64(0), "DELEX k IFNE me"},
		{int64(0), "DELIFEQ k you"},
		{"me", "GET k"},
		{ok, "SET k me EX 90 IFEQ me"},
		{int64(90), "TTL k"},
		{"me", "SET k me2 IFEQ me GET PX 60000"},
		{"me2", "SET k me3 IFEQ me GET PX 60000"},
		{int64(1), "DELEX k IFEQ me2"},
		{int64(0), "EXISTS k"},
		{ok, "SET k me IFNE you PX 60000"},
		{nil, "SET k you IFNE me PX 60000"},
		{int64(1), "delifeq k me"},
		{ok, "SET k me NX PX 60000"},
		{int64(1), "DELEX k"},
		{redistest.Error("ERR syntax error"), "SET k me NX IFEQ me"},
	}
	for _, s := range steps {
		if got := w.do(strings.Fields(s.line)...); got != s.wanted {
			t.Errorf("%s: %#v, wanted %#v", s.line, got, s.wanted)
		}
	}
	w.gone(w.backends, "k")
}

func TestLockAndFencingNumberInOneStepAreLoggedTogether(t *testing.T) {
	const both = `if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return redis.call('INCR', KEYS[2]) end return false`
	w := newWorld(t, redistest.Patient(t)...)
	take := func(token string) any { return w.do("EVAL", both, "2", "lock:job", "lock:job:fence", token, "60000") }
	for n := int64(1); n <= 3; n++ {
		if got := take("a"); got != n {
			t.Fatalf("number %v, wanted %d", got, n)
		}
		if got := take("b"); got != nil {
			t.Fatalf("the lock is taken, and yet: %v", got)
		}
		w.want(int64(1), "DEL", "lock:job")
		w.gone(w.backends, "lock:job")
	}
	w.want(int64(4), "INCR", "lock:job:fence")
	redistest.Eventually(t, 2*time.Second, "each number stands in the line of its lock, and none in the line of a refusal", func() bool {
		var numbers []any
		taken := 0
		for _, l := range w.proxy.Logs() {
			switch {
			case l["message"] != "acquisition" || l["resource"] == nil || !strings.HasPrefix(l["resource"].(string), "lock:job"):
			case l["result"] == "acquired":
				numbers = append(numbers, l["fencing_token"])
			case l["fencing_token"] == nil:
				taken++
			}
		}
		return taken == 3 && slices.Equal(numbers, []any{1.0, 2.0, 3.0})
	})
}
