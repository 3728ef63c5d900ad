package lua

import (
	"context"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"redlockproxy/proxy/redistest/lockscripts"
	"redlockproxy/resp"
)

// ours runs a script here, and shows what a client would get.
func ours(t *testing.T, text string, keys, args []string, host Host) string {
	t.Helper()
	s, err := Compile(text, Limits{})
	if err != nil {
		return show(err.(resp.Error))
	}
	reply, err := s.Run(context.Background(), keys, args, host)
	if err != nil {
		return "void: " + err.Error()
	}
	return show(reply)
}

// theirs runs it in Redis, on an empty database.
func theirs(t *testing.T, r *redisServer, text string, keys, args []string) string {
	t.Helper()
	r.do(t, "FLUSHALL")
	return evalIn(t, r, text, keys, args)
}

func evalIn(t *testing.T, r *redisServer, text string, keys, args []string) string {
	t.Helper()
	command := append([]string{"EVAL", text, strconv.Itoa(len(keys))}, keys...)
	return show(r.do(t, append(command, args...)...))
}

// lines reads a file of testdata; \n in a script stands for a line break.
func lines(t *testing.T, name string) []string {
	t.Helper()
	file, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimRight(string(file), "\n"), "\n")
}

func TestScriptsGiveTheRepliesOfRedis(t *testing.T) {
	r := startRedis(t)
	for _, line := range lines(t, "scripts.txt") {
		text := strings.ReplaceAll(line, `\n`, "\n")
		want := theirs(t, r, text, nil, nil)
		if got := ours(t, text, nil, nil, newMapHost()); got != want {
			t.Errorf("%s\n  redis %s\n  here  %s", line, want, got)
		}
	}
}

// Redis is asked as well, since lines of testdata cannot hold a carriage return.
func TestCommentsThatAreNotLongEndWithTheirLine(t *testing.T) {
	r := startRedis(t)
	for _, text := range []string{
		"--[==== x ====\rreturn 1", "--[=\r\nreturn 1", "return 'a\\\r\n--[=b'", "return 'a\\\n\r--[=b' --[=", "return 'a\\\r--[=b' --[= '",
		"--[=", "return 1 --[=\\", "return '--[=\\", "--[=\n'", "return [=", "--[=\n[=[",
	} {
		want := theirs(t, r, text, nil, nil)
		if got := ours(t, text, nil, nil, newMapHost()); got != want && (got[0] != '-' || want[0] != '-') {
			t.Errorf("%q\n  redis %s\n  here  %s", text, want, got)
		}
	}
}

// The file of differences is what the documentation points to, so both sides of it
// have to be true.
func TestDifferencesFromRedisAreAsListed(t *testing.T) {
	r := startRedis(t)
	digest := regexp.MustCompile(`[0-9a-f]{40}`)
	list := lines(t, "differences.txt")
	for i := 0; i+2 < len(list); i += 3 {
		text := strings.ReplaceAll(list[i], `\n`, "\n")
		redis := digest.ReplaceAllString(theirs(t, r, text, nil, nil), "<sha>")
		here := digest.ReplaceAllString(ours(t, text, nil, nil, newMapHost()), "<sha>")
		if list[i+1] != "\tredis "+redis || list[i+2] != "\there  "+here {
			t.Errorf("%s\n\tredis %s\n\there  %s", list[i], redis, here)
		}
	}
}

// states are what the keys hold before a script runs.
var states = map[string][][]string{
	"free":             nil,
	"mine":             {{"SET", "k1", "me", "PX", "60000"}, {"SET", "k2", "me", "PX", "60000"}},
	"mine, no ttl":     {{"SET", "k1", "me"}, {"SET", "k2", "me"}},
	"another's":        {{"SET", "k1", "you", "PX", "60000"}, {"SET", "k2", "you", "PX", "60000"}},
	"one mine":         {{"SET", "k1", "me", "PX", "60000"}},
	"one another's":    {{"SET", "k2", "7", "PX", "60000"}},
	"mine and yours":   {{"SET", "k1", "me", "PX", "60000"}, {"SET", "k2", "you", "PX", "60000"}},
	"number, an empty": {{"SET", "k1", "me2", "PX", "60000"}, {"SET", "k2", ""}},
}

func TestLockScriptsDoWhatTheyDoInRedis(t *testing.T) {
	r := startRedis(t)
	for _, script := range lockscripts.Served() {
		for _, n := range script.Count() {
			for state, setup := range states {
				compareLockScript(t, r, script, lockKeys[:n], state, setup)
			}
		}
	}
}

var lockKeys = []string{"k1", "k2", "k3"}

func compareLockScript(t *testing.T, r *redisServer, script lockscripts.Script, locked []string, state string, setup [][]string) {
	t.Helper()
	r.do(t, "FLUSHALL")
	host := newMapHost()
	for _, command := range setup {
		r.do(t, command...)
		if _, err := host.Call(command); err != nil {
			t.Fatal(err)
		}
	}
	keys, args := script.Operands(locked, time.UnixMilli(4e12))
	want := evalIn(t, r, script.Text, keys, args)
	got := ours(t, script.Text, keys, args, host)
	if !sameButForTime(got, want) {
		t.Errorf("%s of %d keys, %s:\n  redis %s\n  here  %s", script.Name, len(locked), state, want, got)
	}
	for _, key := range lockKeys {
		here, _ := host.Call([]string{"GET", key})
		if there := show(r.do(t, "GET", key)); there != show(here) {
			t.Errorf("%s, %s: afterwards %s holds %s in Redis, %s here", script.Name, state, key, there, show(here))
		}
		here, _ = host.Call([]string{"PTTL", key})
		there := r.do(t, "PTTL", key)
		if there.(resp.Int) < 1e9 && !sameButForTime(show(here), show(there)) {
			t.Errorf("%s, %s: afterwards %s lives %s in Redis, %s here", script.Name, state, key, show(there), show(here))
		}
	}
}

var number = regexp.MustCompile(`\d+`)

// sameButForTime compares replies; a remaining time may be a second less in Redis,
// where time goes on.
func sameButForTime(here, redis string) bool {
	if here == redis {
		return true
	}
	a, b := number.FindAllString(here, -1), number.FindAllString(redis, -1)
	if number.ReplaceAllString(here, "#") != number.ReplaceAllString(redis, "#") || len(a) != len(b) {
		return false
	}
	for i := range a {
		x, _ := strconv.Atoi(a[i])
		y, _ := strconv.Atoi(b[i])
		if x != y && (x < 10_000 || x-y < 0 || x-y > 1000) {
			return false
		}
	}
	return true
}
