package lane

import (
	"testing"

	"github.com/redis/go-redis/v9"

	"redlockproxy/proxy/redistest"
	"redlockproxy/quorum"
)

func TestReplyToAnAttemptIsRead(t *testing.T) {
	for raw, want := range map[string]struct {
		val any
		err string
	}{
		"+OK\r\n":                  {"OK", ""},
		"$-1\r\n":                  {nil, redis.Nil.Error()},
		"*-1\r\n":                  {nil, redis.Nil.Error()},
		"$0\r\n\r\n":               {"", ""},
		"$4\r\na\r\nb\r\n":         {"a\r\nb", ""},
		"-WRONGTYPE of a kind\r\n": {nil, "WRONGTYPE of a kind"},
	} {
		val, err := parseReply(raw)
		if val != want.val || (err == nil) != (want.err == "") || err != nil && err.Error() != want.err {
			t.Errorf("%q: %v, %v; want %v, %s", raw, val, err, want.val, want.err)
		}
		if err != nil && !isReply(err) {
			t.Errorf("%q: the error %v is no reply", raw, err)
		}
	}
}

// A reply of a form that no backend gives to SET is no vote, and no end of the connection.
func TestReplyOfAnotherFormIsNoVote(t *testing.T) {
	for _, raw := range []string{"", "\r\n", ":1\r\n", "$9\r\nshort\r\n", "$-2\r\n", "*1\r\n$1\r\na\r\n", "$99999999999999999999\r\n"} {
		a := attempt{}
		a.val, a.err = parseReply(raw)
		for _, d := range []dialect{{setNXGet: true}, {}} {
			if answer, _ := d.decode(quorum.Acquire{Key: "k"}, &a, 0); answer.Vote != quorum.Failed {
				t.Errorf("%q is a vote: %+v", raw, answer)
			}
		}
		if err := lost(nil, &a); err != nil {
			t.Errorf("%q ends the connection: %v", raw, err)
		}
	}
}

// What go-redis takes for the end of a connection is one for an attempt as well.
func TestAttemptHasTheErrorsOfOtherCommands(t *testing.T) {
	server := redistest.Start(t)
	client := redis.NewClient(options(tcp(server.Addr())))
	conn := client.Conn()
	defer func() { _, _ = conn.Close(), client.Close() }()
	set := func(words ...any) *attempt {
		pipe := conn.Pipeline()
		a := newAttempt(t.Context(), words)
		_ = pipe.Process(t.Context(), &a.RawCmd)
		trouble := exec(t.Context(), pipe)
		a.read()
		stamp(&a, trouble)
		return &a
	}
	if v, err := set("SET", "k", "x", "NX", "GET").Result(); v != nil || err != redis.Nil {
		t.Errorf("granted: %v, %v", v, err)
	}
	if v, err := set("SET", "k", "y", "NX", "GET").Result(); v != "x" || err != nil {
		t.Errorf("refused: %v, %v", v, err)
	}
	server.MustDo("LPUSH", "list", "x")
	if err := set("SET", "list", "y", "NX", "GET").Err(); !isWrongType(err) || !isReply(err) {
		t.Errorf("another type: %v", err)
	}
	server.MustDo("REPLICAOF", "127.0.0.1", "1")
	if a := set("SET", "k", "y", "NX", "GET"); lost(nil, a) == nil {
		t.Errorf("a replica: %v", a.Err())
	}
	server.MustDo("REPLICAOF", "NO", "ONE")
	server.Kill()
	if a := set("SET", "k", "y", "NX", "GET"); lost(nil, a) == nil {
		t.Errorf("a server that has gone: %v", a.Err())
	}
}
