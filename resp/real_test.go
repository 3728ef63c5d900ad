package resp

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// realRedis is a connection to a redis-server of the test's own.
type realRedis struct {
	conn net.Conn
	r    *bufio.Reader
}

// startRedis starts a redis-server on a unix socket in a new directory and ends
// it with the test. A missing redis-server fails the test: without it nothing
// shows that our texts are Redis's.
func startRedis(t *testing.T) *realRedis {
	t.Helper()
	dir, err := os.MkdirTemp("", "resp") // short: a socket's path has 108 bytes
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "redis.sock")
	cmd := exec.Command("redis-server", "--port", "0", "--unixsocket", path,
		"--save", "", "--appendonly", "no", "--dir", dir)
	if err := cmd.Start(); err != nil {
		t.Fatalf("redis-server is needed for this test: %v", err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = os.RemoveAll(dir)
	})
	deadline := time.Now().Add(10 * time.Second)
	for {
		conn, err := net.Dial("unix", path)
		if err == nil {
			t.Cleanup(func() { _ = conn.Close() })
			_ = conn.SetDeadline(time.Now().Add(2 * time.Minute))
			return &realRedis{conn: conn, r: bufio.NewReader(conn)}
		}
		if time.Now().After(deadline) {
			t.Fatalf("redis-server did not come up: %v", err)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// do sends commands in one write and returns the reply to the last one.
func (rr *realRedis) do(t *testing.T, commands ...[]string) Reply {
	t.Helper()
	var b []byte
	for _, args := range commands {
		words := make(Array, len(args))
		for i, a := range args {
			words[i] = Bulk(a)
		}
		b = Append(b, words, RESP2)
	}
	if _, err := rr.conn.Write(b); err != nil {
		t.Fatal(err)
	}
	var last Reply
	for range commands {
		var err error
		if last, err = ReadReply(rr.r, RESP2); err != nil {
			t.Fatal(err)
		}
	}
	return last
}

// errorOf is what Redis says to args on an empty database, "" if no error. That
// a script is not kept is no matter of parsing when its digest is well-formed,
// nor is what Lua says to the text.
func (rr *realRedis) errorOf(t *testing.T, args []string) string {
	t.Helper()
	e, ok := rr.do(t, []string{"FLUSHALL"}, args).(Error)
	if !ok || strings.Contains(string(e), "user_script:") ||
		e == ErrNoScript && len(args) > 1 && len(args[1]) == digestLen {
		return ""
	}
	return string(e)
}

// parseError is what Parse says to args, "" if no error.
func parseError(args []string) string {
	if _, err := Parse(args); err != nil {
		return err.Error()
	}
	return ""
}

func TestErrorsAreRedissOwnWords(t *testing.T) {
	redis := startRedis(t)
	for _, line := range comparedLines {
		args := splitLine(t, line)
		ours, theirs := parseError(args), redis.errorOf(t, args)
		if ours != theirs {
			t.Errorf("%s\n ours:  %s\n Redis: %s", line, ours, theirs)
		}
	}
}

func TestTableIsThatOfRedis(t *testing.T) {
	redis := startRedis(t)
	later := map[string]bool{"delex": true, "delifeq": true, "digest": true, "client|setinfo": true,
		"client|no-touch": true, "client|capa": true}
	check := func(info Info, reply Reply) {
		e, ok := reply.(Array)
		if !ok || len(e) < 6 {
			if !later[info.Name] {
				t.Errorf("%s: Redis doesn't know it", info.Name)
			}
			return
		}
		want := fmt.Sprint(e[1], e[3], e[4], e[5])
		got := fmt.Sprint(info.Arity, info.FirstKey, info.LastKey, info.Step)
		if got != want {
			t.Errorf("%s: arity, first, last, step are %s; want %s", info.Name, got, want)
		}
		flags := make(map[string]bool)
		for _, f := range e[2].(Array) {
			flags[string(f.(Status))] = true
		}
		for _, f := range info.Flags.Names() {
			if !flags[f] {
				t.Errorf("%s: flag %s is not Redis's", info.Name, f)
			}
			delete(flags, f)
		}
		if len(flags) > 0 {
			t.Errorf("%s: flags %v are missing", info.Name, flags)
		}
	}
	for _, info := range Commands() {
		check(info, redis.do(t, []string{"COMMAND", "INFO", info.Name}).(Array)[0])
		for _, sub := range Subcommands(info.Name) {
			check(sub, redis.do(t, []string{"COMMAND", "INFO", sub.Name}).(Array)[0])
		}
	}
}

func TestEveryCommandOfRedisIsServedOrRefused(t *testing.T) {
	redis := startRedis(t)
	left := map[string]bool{"wait": true} // unknown on purpose
	for _, name := range redis.do(t, []string{"COMMAND", "LIST"}).(Array) {
		full := string(name.(Bulk))
		parent, sub, hasSub := strings.Cut(full, "|")
		if left[full] {
			continue
		}
		info, ok := Lookup(parent)
		if !ok {
			t.Errorf("%s is neither served nor refused", full)
			continue
		}
		if hasSub && info.Family != Refused {
			if _, ok := find(parent).sub(sub); !ok {
				t.Errorf("%s is neither served nor refused", full)
			}
		}
	}
}

func TestFixedTextsAreRedissOwn(t *testing.T) {
	redis := startRedis(t)
	cases := []struct {
		ours Error
		ask  [][]string
	}{
		{ErrNoProto, [][]string{{"HELLO", "4"}}},
		{ErrProtoNotInteger, [][]string{{"HELLO", "abc"}}},
		{HelloOption("FOO"), [][]string{{"HELLO", "3", "FOO"}}},
		{HelloOption("AUTH"), [][]string{{"HELLO", "3", "AUTH", "x"}}},
		{HelloOption("a\r\nb\x00c"), [][]string{{"HELLO", "3", "a\r\nb\x00c"}}},
		{ErrAuthNoPassword, [][]string{{"AUTH", "p"}}},
		{ErrSyntax, [][]string{{"AUTH", "a", "b", "c"}}},
		{ErrWrongPass, [][]string{{"AUTH", "nobody", "p"}}},
		{ErrDBIndex, [][]string{{"SELECT", "99"}}},
		{ErrNotInteger, [][]string{{"SELECT", "x"}}},
		{ErrClientName, [][]string{{"CLIENT", "SETNAME", "a b"}}},
		{UnknownSubcommand("client", "FOO"), [][]string{{"CLIENT", "FOO", "x"}}},
		{UnknownSubcommand("config", strings.Repeat("a\n", 99)), [][]string{{"CONFIG", strings.Repeat("a\n", 99)}}},
		{ErrClusterDisabled, [][]string{{"CLUSTER", "NODES"}}},
		{ErrClusterDisabled, [][]string{{"READONLY"}}},
		{ErrExecWithoutMulti, [][]string{{"EXEC"}}},
		{ErrDiscardWithoutMulti, [][]string{{"DISCARD"}}},
		{ErrNestedMulti, [][]string{{"MULTI"}, {"MULTI"}}},
		{ErrWatchInMulti, [][]string{{"WATCH", "k"}}},
		{ErrNotInMulti, [][]string{{"SHUTDOWN"}}},
		{ErrExecAbort, [][]string{{"GET"}, {"EXEC"}}},
		{ErrWrongType, [][]string{{"LPUSH", "l", "x"}, {"GET", "l"}}},
		{ErrOverflow, [][]string{{"SET", "n", "9223372036854775807"}, {"INCR", "n"}}},
		{ErrNoAuth, [][]string{{"CONFIG", "SET", "requirepass", "p"}, {"RESET"}, {"GET", "k"}}},
	}
	for _, c := range cases {
		if got := redis.do(t, c.ask...); got != c.ours {
			t.Errorf("%q:\n ours:  %s\n Redis: %s", c.ask, c.ours, got)
		}
	}
}
