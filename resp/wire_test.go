package resp

import (
	"bufio"
	"errors"
	"io"
	"reflect"
	"runtime"
	"strings"
	"testing"
)

var wireCases = []struct {
	reply Reply
	resp2 string
	resp3 string // "" if the same
}{
	{OK, "+OK\r\n", ""},
	{Status("a\r\nb"), "+a  b\r\n", ""},
	{Error("ERR a\nb\r"), "-ERR a b \r\n", ""},
	{Int(-9223372036854775808), ":-9223372036854775808\r\n", ""},
	{Bulk(""), "$0\r\n\r\n", ""},
	{Bulk("a\r\n\x00"), "$4\r\na\r\n\x00\r\n", ""},
	{Null{}, "$-1\r\n", "_\r\n"},
	{NullArray{}, "*-1\r\n", "_\r\n"},
	{Array{}, "*0\r\n", ""},
	{Array{Int(1), Array{Null{}}}, "*2\r\n:1\r\n*1\r\n$-1\r\n", "*2\r\n:1\r\n*1\r\n_\r\n"},
	{Map{Bulk("k"), Int(1)}, "*2\r\n$1\r\nk\r\n:1\r\n", "%1\r\n$1\r\nk\r\n:1\r\n"},
	{Map{}, "*0\r\n", "%0\r\n"},
	{Unordered{Status("a"), Null{}}, "*2\r\n+a\r\n$-1\r\n", "~2\r\n+a\r\n_\r\n"},
	{Verbatim("x"), "$1\r\nx\r\n", "=5\r\ntxt:x\r\n"},
	{Verbatim(""), "$0\r\n\r\n", "=4\r\ntxt:\r\n"},
	{Double("3.5"), "$3\r\n3.5\r\n", ",3.5\r\n"},
	{Double("-inf"), "$4\r\n-inf\r\n", ",-inf\r\n"},
	{BigNumber("-12345678901234567890"), "$21\r\n-12345678901234567890\r\n", "(-12345678901234567890\r\n"},
	{Array{Bool(true), Bool(false)}, "*2\r\n:1\r\n:0\r\n", "*2\r\n#t\r\n#f\r\n"},
	{Push{Bulk("m"), NullArray{}}, "*2\r\n$1\r\nm\r\n*-1\r\n", ">2\r\n$1\r\nm\r\n_\r\n"},
}

func TestBytesOfEveryReplyInBothProtocols(t *testing.T) {
	for _, c := range wireCases {
		if got := string(Append([]byte("x"), c.reply, RESP2)); got != "x"+c.resp2 {
			t.Errorf("%#v in RESP2: %q", c.reply, got)
		}
		want := c.resp3
		if want == "" {
			want = c.resp2
		}
		if got := string(Append(nil, c.reply, RESP3)); got != want {
			t.Errorf("%#v in RESP3: %q", c.reply, got)
		}
	}
}

func TestSeveralRepliesFollowEachOther(t *testing.T) {
	if got := string(Append(nil, Several{Push{Int(1)}, OK}, RESP3)); got != ">1\r\n:1\r\n+OK\r\n" {
		t.Errorf("%q", got)
	}
}

func TestBrokenRepliesPanic(t *testing.T) {
	for _, r := range []Reply{nil, Array{nil}, Map{Int(1)}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%#v was written", r)
				}
			}()
			Append(nil, r, RESP2)
		}()
	}
}

// plain is r as a reader of p gets it: without what p can't tell apart.
func plain(r Reply, p Proto) Reply {
	all := func(rs []Reply) []Reply {
		out := make([]Reply, len(rs))
		for i := range rs {
			out[i] = plain(rs[i], p)
		}
		return out
	}
	switch r := r.(type) {
	case Status:
		return Status(clean(string(r)))
	case Error:
		return Error(clean(string(r)))
	case NullArray:
		if p == RESP3 {
			return Null{}
		}
	case Array:
		return Array(all(r))
	case Map:
		if p == RESP2 {
			return Array(all(r))
		}
		return Map(all(r))
	case Push:
		if p == RESP2 {
			return Array(all(r))
		}
		return Push(all(r))
	case Unordered:
		if p == RESP2 {
			return Array(all(r))
		}
		return Unordered(all(r))
	case Verbatim:
		if p == RESP2 {
			return Bulk(r)
		}
	case Double:
		if p == RESP2 {
			return Bulk(r)
		}
	case BigNumber:
		if p == RESP2 {
			return Bulk(r)
		}
	case Bool:
		if p == RESP2 && bool(r) {
			return Int(1)
		}
		if p == RESP2 {
			return Int(0)
		}
	}
	return r
}

func TestWhatIsWrittenIsReadBack(t *testing.T) {
	deep := Reply(Int(1))
	for range maxReplyDepth {
		deep = Array{deep}
	}
	replies := []Reply{deep, Bulk(strings.Repeat("x", 3*readChunk+1)), Status(strings.Repeat("y", 70000))}
	for _, c := range wireCases {
		replies = append(replies, c.reply)
	}
	for _, p := range []Proto{RESP2, RESP3} {
		var b []byte
		for _, r := range replies {
			b = Append(b, r, p)
		}
		in := bufio.NewReader(strings.NewReader(string(b)))
		for _, r := range replies {
			got, err := ReadReply(in, p)
			if err != nil || !reflect.DeepEqual(got, plain(r, p)) {
				t.Errorf("RESP%d: wrote %.60q, read %.60q, %v", p, r, got, err)
			}
		}
		if _, err := ReadReply(in, p); err != io.EOF {
			t.Errorf("RESP%d: at the end: %v", p, err)
		}
	}
}

func TestReaderRefusesWhatIsNotTheProtocol(t *testing.T) {
	both := []string{"\r\n", "x\r\n", "OK\r\n", "+OK\n", "+a\rb\r\n", ":\r\n", ":+1\r\n", ":01\r\n", ":1 \r\n",
		"$-2\r\n", "$\r\n", "$+1\r\na\r\n", "$1\r\nab\r\n", "$2\r\nab\n\n", "*-2\r\n", "*a\r\n",
		"*1\r\n+a\n", "$9223372036854775807\r\n", "*9223372036854775807\r\n", "$67108865\r\n",
		"#x\r\n", "#\r\n", ",\r\n", ",1x5\r\n", "(1.5\r\n", "!1\r\na\r\n", "|0\r\n",
		strings.Repeat("*1\r\n", maxReplyDepth+2) + ":1\r\n"}
	only := map[Proto][]string{
		RESP2: {"_\r\n", "%0\r\n", ">0\r\n", "~0\r\n", "=4\r\ntxt:\r\n", "#t\r\n", ",1.5\r\n", "(1\r\n"},
		RESP3: {"$-1\r\n", "*-1\r\n", "*1\r\n$-1\r\n", "_x\r\n", "=3\r\ntxt\r\n", "=4\r\nmkd:\r\n", "%-1\r\n",
			"%4611686018427387904\r\n", ">-1\r\n", "~-1\r\n"},
	}
	for p, more := range only {
		for _, s := range append(more, both...) {
			r, err := ReadReply(bufio.NewReader(strings.NewReader(s)), p)
			if err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("RESP%d: %.40q was read as %#v, %v", p, s, r, err)
			}
		}
	}
	for _, s := range []string{"+", "+OK\r", ":1", "$3\r\nab", "$2\r\nab", "*2\r\n:1\r\n", "$60000000\r\nx"} {
		if _, err := ReadReply(bufio.NewReader(strings.NewReader(s)), RESP2); err != io.ErrUnexpectedEOF {
			t.Errorf("%q: %v, want unexpected EOF", s, err)
		}
	}
}

// allocated is how many bytes f allocates, with those it gives back.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestAnnouncedLengthsTakeNoMemory(t *testing.T) {
	for _, s := range []string{"$67000000\r\nx", "*20000000\r\n:1\r\n",
		strings.Repeat("*1000000\r\n", maxReplyDepth), "=67000000\r\ntxt:", "%10000000\r\n"} {
		n := allocated(func() { _, _ = ReadReply(bufio.NewReader(strings.NewReader(s)), RESP3) })
		if n > 8*readChunk {
			t.Errorf("%.30q: %d bytes allocated", s, n)
		}
	}
}

func FuzzReadReply(f *testing.F) {
	for _, c := range wireCases {
		f.Add(Append(nil, c.reply, RESP2), false)
		f.Add(Append(nil, c.reply, RESP3), true)
	}
	f.Add([]byte("*3\r\n$67000000\r\n"), false)
	f.Fuzz(func(t *testing.T, b []byte, three bool) {
		p := RESP2
		if three {
			p = RESP3
		}
		var r Reply
		var err error
		in := bufio.NewReader(strings.NewReader(string(b)))
		if n := allocated(func() { r, err = ReadReply(in, p) }); n > 1<<20+uint64(200*len(b)) {
			t.Fatalf("%d bytes of input took %d bytes of memory", len(b), n)
		}
		if err != nil {
			return
		}
		out := Append(nil, r, p)
		if !strings.HasPrefix(string(b), string(out)) {
			t.Fatalf("read %q as %#v, which is written %q", b, r, out)
		}
	})
}
