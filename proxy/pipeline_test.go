package proxy_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"redlockproxy/proxy/redistest"
)

func TestRepliesOfAPipelineAreInOrder(t *testing.T) {
	w := newWorld(t)
	c := w.client()
	var commands [][]string
	var wanted []any
	add := func(reply any, args ...string) {
		commands, wanted = append(commands, args), append(wanted, reply)
	}
	for i := range 200 {
		key, token := fmt.Sprintf("k%d", i), fmt.Sprintf("t%d", i)
		add(ok, "SET", key, token, "NX", "PX", "60000")
		add(token, "GET", key)
		add(fmt.Sprint(i), "ECHO", fmt.Sprint(i))
		add(nil, "SET", key, "other", "NX", "PX", "60000")
		add(int64(i+1), "INCR", "n")
		add(int64(1), "EVAL", release, "1", key, token)
		add(int64(0), "EXISTS", key)
	}
	c.sendAll(commands...)
	for i := range commands {
		if got := c.receive(); !same(got, wanted[i]) {
			t.Fatalf("reply %d, to %q: %#v, wanted %#v", i, commands[i], got, wanted[i])
		}
	}
}

// Each backend's replies take 40 ms, so forty commands one after the other would take
// more than a second and a half.
func TestCommandsOfDifferentKeysRunSideBySide(t *testing.T) {
	w := newRelayedWorld(t)
	const n, slow = 40, 40 * time.Millisecond
	for _, r := range w.relays {
		r.Delay(slow, redistest.Replies)
	}
	c := w.client()
	var commands [][]string
	for i := range n {
		commands = append(commands, []string{"SET", fmt.Sprintf("k%d", i), "t", "NX", "PX", "60000"})
	}
	start := time.Now()
	c.sendAll(commands...)
	for range n {
		if got := c.receive(); got != ok {
			t.Errorf("%v", got)
		}
	}
	if took := time.Since(start); took < slow || took > n*slow/3 {
		t.Errorf("%d commands took %s", n, took)
	}
}

func TestPausedMinorityDoesNotHoldUpAPipeline(t *testing.T) {
	w := newWorld(t)
	w.backends[1].Pause()
	w.backends[4].Pause()
	c := w.client()
	const n = 150
	var commands [][]string
	for i := range n {
		commands = append(commands, []string{"SET", fmt.Sprintf("k%d", i), "t", "NX", "PX", "60000"}, []string{"INCR", "n"})
	}
	start := time.Now()
	c.sendAll(commands...)
	for i := range n {
		if got := c.receive(); got != ok {
			t.Errorf("SET %d: %v", i, got)
		}
		if got := c.receive(); got != int64(i+1) {
			t.Errorf("INCR: %v, wanted %d", got, i+1)
		}
	}
	if took := time.Since(start); took > 2*time.Second {
		t.Errorf("%d commands took %s", 2*n, took)
	}
	w.backends[1].Resume()
	w.backends[4].Resume()
	w.onAll("k0")
}

func TestPingWaitsForTheReplyBeforeItsOwn(t *testing.T) {
	w := newRelayedWorld(t)
	for _, r := range w.relays {
		r.Delay(50*time.Millisecond, redistest.Replies)
	}
	c := w.client()
	c.sendAll([]string{"SET", "k", "t", "NX", "PX", "60000"}, []string{"PING"}, []string{"GET", "k"}, []string{"PING", "x"})
	for _, wanted := range []any{ok, pong, "t", "x"} {
		if got := c.receive(); got != wanted {
			t.Errorf("%v, wanted %v", got, wanted)
		}
	}
}

func TestQuitInAPipelineIsTheEnd(t *testing.T) {
	w := newWorld(t)
	c := w.client()
	c.sendAll([]string{"SET", "before", "x"}, []string{"QUIT"}, []string{"SET", "after", "x"}, []string{"PING"})
	for range 2 {
		if got := c.receive(); got != ok {
			t.Errorf("%v", got)
		}
	}
	c.wantClosed()
	w.onAll("before")
	w.gone("after")
}

func TestTransactionInsideAPipeline(t *testing.T) {
	w := newWorld(t)
	c := w.client()
	c.sendAll([]string{"SET", "a", "1"}, []string{"WATCH", "a"}, []string{"MULTI"}, []string{"SET", "b", "2", "NX", "PX", "60000"}, []string{"INCR", "a"},
		[]string{"EXEC"}, []string{"GET", "b"}, []string{"MULTI"}, []string{"NOSUCH"}, []string{"SET", "c", "3"}, []string{"EXEC"}, []string{"EXISTS", "c"},
		[]string{"MULTI"}, []string{"SET", "c", "3"}, []string{"DISCARD"}, []string{"MGET", "a", "b", "c"})
	for i, wanted := range []any{
		ok, ok, ok, queued, queued, []any{ok, int64(2)}, "2",
		ok, redistest.Error("ERR unknown command 'NOSUCH', with args beginning with: "), queued, redistest.Error("EXECABORT Transaction discarded because of previous errors."), int64(0),
		ok, queued, ok, []any{"2", "2", nil},
	} {
		if got := c.receive(); !same(got, wanted) {
			t.Errorf("reply %d: %#v, wanted %#v", i, got, wanted)
		}
	}
	w.gone("c")
}

func TestHelloInAPipelineChangesTheProtocolThere(t *testing.T) {
	w := newWorld(t)
	c := w.client()
	c.sendAll([]string{"GET", "nothing"}, []string{"HELLO", "3"}, []string{"GET", "nothing"}, []string{"MGET", "nothing"}, []string{"RESET"}, []string{"GET", "nothing"},
		[]string{"CONFIG", "GET", "save"})
	c.want2(nil)
	c.Proto = 3
	if hello, isMap := c.receive().(redistest.Map); !isMap || len(hello) != 14 {
		t.Errorf("HELLO 3: %v", hello)
	}
	c.want2(nil)
	c.want2([]any{nil})
	c.Proto = 2
	c.want2(redistest.Status("RESET"))
	c.want2(nil)
	c.want2([]any{"save", ""})
}

// want2 checks the next reply, in the protocol that is set.
func (c *client) want2(wanted any) {
	c.t.Helper()
	if got := c.receive(); !same(got, wanted) {
		c.t.Errorf("%s, wanted %s", render(got), render(wanted))
	}
}

// A script is known from the moment an EVAL with its text was read, also to commands
// that run beside it.
func TestDigestRightBehindItsTextIsKnown(t *testing.T) {
	w := newWorld(t)
	c := w.client()
	for i := range 50 {
		text := fmt.Sprintf("return redis.call('get', KEYS[1]) or 'none %d'", i)
		c.sendAll([]string{"EVAL", text, "1", "a"}, []string{"EVALSHA", digest(text), "1", "b"}, []string{"EVALSHA", digest(text), "1", "c"})
		for range 3 {
			c.want2(fmt.Sprintf("none %d", i))
		}
	}
}

// What comes behind a command has no effect on it, although they run side by side.
func TestDigestInFrontOfItsTextIsUnknown(t *testing.T) {
	w := newWorld(t)
	c := w.client()
	for i := range 20 {
		text := fmt.Sprint("return ", i)
		c.sendAll([]string{"GET", "k"}, []string{"EVALSHA", digest(text), "1", "k"}, []string{"EVAL", text, "1", "k"})
		for _, want := range []any{nil, redistest.Error("NOSCRIPT No matching script. Please use EVAL."), int64(i)} {
			if got := c.receive(); !same(got, want) {
				t.Errorf("%d: %s, wanted %s", i, render(got), render(want))
			}
		}
	}
}

// A client that sends requests with long answers and reads none of them.
func TestEndlessPipelineTakesBoundedMemory(t *testing.T) {
	w := newWorld(t, "SERVER_PIPELINE_DEPTH=4", "LOG_LEVEL=info")
	c := w.client()
	const size, n = 256 << 10, 300
	c.want(ok, "SET", "k", strings.Repeat("x", size))
	used := func() int64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapInuse)
	}
	runtime.GC()
	before := used()
	sent := make(chan error, 1)
	go func() {
		var b []byte
		for range n {
			b = append(b, redistest.Encode("GET", "k")...)
		}
		sent <- c.Write(b)
	}()
	most := int64(0)
	for end := time.Now().Add(time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		most = max(most, used()-before)
	}
	// All the answers together have 75 MB, and five backends send each of them.
	if most > 32<<20 {
		t.Errorf("%d MB more are in use", most>>20)
	}
	for i := range n {
		if got, _ := c.receive().(string); len(got) != size {
			t.Fatalf("answer %d has %d bytes", i, len(got))
		}
	}
	if err := <-sent; err != nil {
		t.Error(err)
	}
	c.want(pong, "PING")
}

func TestIdleClientsKeepNothingOfTheirLastCommand(t *testing.T) {
	w := newWorld(t)
	c := w.client()
	c.wantError("ERR unknown command", "S3cretTypedTooEarly", "x")
	other := w.client()
	if lines, _ := other.do("CLIENT", "LIST").(string); strings.Contains(lines, "S3cret") || !strings.Contains(lines, " cmd=NULL ") || !strings.Contains(lines, " cmd=client|list ") {
		t.Errorf("CLIENT LIST: %q", lines)
	}
}

// numbered are n keys from the first on.
func numbered(first, n int) (keys []string) {
	for i := range n {
		keys = append(keys, fmt.Sprint("key", first+i))
	}
	return keys
}

func TestTransactionIsBounded(t *testing.T) {
	w := newWorld(t, "SERVER_MAX_COMMAND_BYTES=100000", "SCRIPT_MAX_SOURCE=10000")
	c := w.client()
	value := strings.Repeat("v", 30_000)
	c.want(ok, "MULTI")
	for i := range 3 {
		c.want(queued, "SET", fmt.Sprint(i), value)
	}
	c.wantError("UNSUPPORTED too many commands in one transaction", "SET", "3", value)
	c.wantError("EXECABORT", "EXEC")
	c.want(ok, "MULTI")
	for range 1024 {
		c.want(queued, "PING")
	}
	c.wantError("UNSUPPORTED too many commands in one transaction", "PING")
	c.wantError("EXECABORT", "EXEC")
	c.want(ok, "MULTI")
	for i := range 7 {
		reply := c.do(append([]string{"CLIENT", "KILL"}, make([]string, 998)...)...)
		if refused := reply != queued; refused != (i == 6) {
			t.Errorf("%d times a thousand words, most of them empty: %s", i, render(reply))
		}
	}
	c.want(ok, "DISCARD")
	for _, more := range []bool{false, true} {
		c.want(ok, "MULTI")
		for i := range 4 {
			c.want(queued, append([]string{"MGET"}, numbered(i*1000, 1000)...)...)
		}
		if more {
			c.wantError("UNSUPPORTED too many commands in one transaction, or keys in them", append([]string{"EXISTS"}, numbered(4000, 97)...)...)
			c.wantError("EXECABORT", "EXEC")
		} else if lists, isArray := c.do("EXEC").([]any); !isArray || len(lists) != 4 {
			t.Errorf("4000 keys: %.200s", render(lists))
		}
	}
	for i := range 4 {
		c.want(ok, "SET", fmt.Sprint(i), value)
	}
	c.want(ok, "WATCH", "0", "1", "2")
	c.wantError("UNSUPPORTED too many watched keys", "WATCH", "3")
	c.want(ok, "UNWATCH")
	c.want(ok, "WATCH", "3")
	c.want(ok, "MULTI")
	c.want(queued, "SET", "3", "x")
	c.want([]any{ok}, "EXEC")
	c.want("x", "GET", "3")
}

// A script may touch keys that it does not name, in both directions of time.
func TestScriptsThatTouchOtherKeysKeepTheirPlaceInAPipeline(t *testing.T) {
	w := newWorld(t)
	c := w.client()
	for i := range 50 {
		n := fmt.Sprint(i)
		c.sendAll([]string{"SET", "a", n}, []string{"EVAL", "return redis.call('get','a')", "1", "b"},
			[]string{"EVAL", "return redis.call('set','a',ARGV[1])", "1", "b", "x" + n}, []string{"GET", "a"})
		for _, want := range []any{ok, n, ok, "x" + n} {
			c.want2(want)
		}
	}
}

func TestReleasesOfDifferentKeysRunSideBySide(t *testing.T) {
	w := newRelayedWorld(t)
	const n, slow = 40, 40 * time.Millisecond
	c := w.client()
	var commands [][]string
	for i := range n {
		c.want(ok, "SET", fmt.Sprint("k", i), "t", "NX", "PX", "60000")
		commands = append(commands, []string{"EVAL", release, "1", fmt.Sprint("k", i), "t"})
	}
	for _, r := range w.relays {
		r.Delay(slow, redistest.Replies)
	}
	start := time.Now()
	c.sendAll(commands...)
	for range n {
		c.want2(int64(1))
	}
	if took := time.Since(start); took < slow || took > n*slow/3 {
		t.Errorf("%d releases took %s", n, took)
	}
}

func TestReplyThatIsTooLongIsRefusedBeforeAnythingIsWritten(t *testing.T) {
	w := newWorld(t)
	c := w.client()
	const refusal = "UNSUPPORTED a reply of more than 64 MB"
	c.want(ok, "SET", "k", strings.Repeat("x", 900_000))
	many := []string{"MGET"}
	for range 100 {
		many = append(many, "k")
	}
	c.wantError(refusal, many...)
	if list, isArray := c.do(many[:50]...).([]any); !isArray || len(list) != 49 {
		t.Errorf("%.100s", render(list))
	}
	c.want(ok, "MULTI")
	c.want(queued, "SET", "lock", "t", "NX", "PX", "60000")
	c.want(queued, many...)
	c.wantError(refusal, "EXEC")
	w.gone("lock")
	c.want(ok, "SET", "lock", "t", "NX", "PX", "60000")
}
