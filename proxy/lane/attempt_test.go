package lane

import (
	"errors"
	"testing"

	"github.com/redis/go-redis/v9"

	"redlockproxy/proxy/redistest"
)

func TestReplyToAnAttemptIsRead(t *testing.T) {
	for raw, want := range map[string]struct {
		val any
		err string
	}{
		"+OK\r\n":                   {"OK", ""},
		"$-1\r\n":                   {nil, redis.Nil.Error()},
		"*-1\r\n":                   {nil, redis.Nil.Error()},
		"$0\r\n\r\n":                {"", ""},
		"$4\r\na\r\nb\r\n":          {"a\r\nb", ""},
		"-WRONGTYPE of a kind\r\n":  {nil, "WRONGTYPE of a kind"},
		"":                          {nil, errUnexpected.Error()},
		"\r\n":                      {nil, errUnexpected.Error()},
		":1\r\n":                    {nil, errUnexpected.Error()},
		"$9\r\nshort\r\n":           {nil, errUnexpected.Error()},
		"$-2\r\n":                   {nil, errUnexpected.Error()},
		"*1\r\n$1\r\na\r\n":         {nil, errUnexpected.Error()},
		"$99999999999999999999\r\n": {nil, errUnexpected.Error()},
	} {
		val, err := parseReply(raw)
		if val != want.val || (err == nil) != (want.err == "") || err != nil && err.Error() != want.err {
			t.Errorf("%q: %v, %v; want %v, %s", raw, val, err, want.val, want.err)
		}
		if err != nil && !isReply(err) && !errors.Is(err, errUnexpected) {
			t.Errorf("%q: the error %v is no reply", raw, err)
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
