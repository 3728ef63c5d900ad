package guard

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/redcon"
)

func TestCommandsComeOutAsArrays(t *testing.T) {
	for in, want := range map[string]string{
		"PING\r\n":                     array("PING"),
		"PING\n":                       array("PING"),
		"\r\n\n \t\r\nPING\r\n":        array("PING"),
		"*0\r\n*-1\r\n*-7\r\nPING\r\n": array("PING"),
		array("SET", "a\r\nb", "\x00"): array("SET", "a\r\nb", "\x00"),
		array(""):                      array(""),
		"SET k \"\\x00\\xfF\\n\" ''\n": array("SET", "k", "\x00\xff\n", ""),
		"SET\tk  'a \\' b'\n":          array("SET", "k", "a ' b"),
		"a\"b c\"\n":                   array("ab c"),
		"*1\r\n$4\r\nPIN":              "",
		"PING":                         "",
	} {
		got, written, _ := released(Limits{}, [][]byte{[]byte(in)})
		if got != want || written != "" {
			t.Errorf("%q: got %q and wrote %q, want %q", in, got, written, want)
		}
	}
}

func TestCommandsBeforeAFaultAreReleased(t *testing.T) {
	got, written, _ := released(Limits{}, [][]byte{[]byte("PING\r\n" + array("GET", "k") + "*x\r\nPING\r\n")})
	if want := array("PING") + array("GET", "k"); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if want := "-ERR Protocol error: invalid multibulk length\r\n"; written != want {
		t.Errorf("wrote %q, want %q", written, want)
	}
}

func TestStricterThanRedis(t *testing.T) {
	for in, want := range map[string]string{
		"*1\rx$4\r\nPING\r\n":                                    "invalid multibulk length",
		"*1\r\n$4\rxPING\r\n":                                    "invalid bulk length",
		"*1\r\n$4\r\nPINGPONG":                                   "invalid bulk length",
		"*1\r\n$4\r\nPING\rx":                                    "invalid bulk length",
		"PING \x00\r\n":                                          "NUL byte in inline request",
		array("SET", "k", strings.Repeat("x", 512<<10+1)):        "invalid bulk length",
		array(strings.Split(strings.Repeat("a ", 1024), " ")...): "invalid multibulk length",
		strings.Repeat("a ", 1025) + "\n":                        "too big inline request",
		array("MSET", "a", strings.Repeat("x", 512<<10), "b", strings.Repeat("x", 512<<10)): "too big request",
	} {
		got, written, _ := released(Limits{}, [][]byte{[]byte(in)})
		if want := "-ERR Protocol error: " + want + "\r\n"; got != "" || written != want {
			t.Errorf("%.40q: released %.40q and wrote %q, want %q", in, got, written, want)
		}
	}
}

func TestLimitsAreReachedAndNotPassed(t *testing.T) {
	for _, in := range []string{
		array("SET", "k", strings.Repeat("x", 512<<10)),
		array(strings.Split(strings.Repeat("a ", 1023)+"a", " ")...),
		strings.Repeat("a ", 1024) + "\n",
		strings.Repeat("a", 64<<10) + "\n",
	} {
		got, written, _ := released(Limits{}, [][]byte{[]byte(in)})
		if got == "" || written != "" {
			t.Errorf("%.40q… of %d bytes: released %d bytes, wrote %q", in, len(in), len(got), written)
		}
	}
}

func TestLimitsRiseWithTheLogin(t *testing.T) {
	big := array("SET", "k", strings.Repeat("x", 20_000))
	s := serve(t, "tcp", nil, Limits{AuthRequired: true}, nil)

	// In one write: the AUTH must lift the limit for what follows it.
	got := exchange(t, s.dial(t), array("AUTH", "p")+big+"QUIT\r\n", manyBytes)
	if want := "+OK\r\n-ERR unexpected in this test\r\n+OK\r\n"; got != want {
		t.Errorf("logged in: %q, want %q", got, want)
	}
	got = exchange(t, s.dial(t), "PING\r\n"+big+"QUIT\r\n", manyBytes)
	if want := "+PONG\r\n-ERR Protocol error: unauthenticated bulk length\r\n"; got != want {
		t.Errorf("not logged in: %q, want %q", got, want)
	}
	if s.count(CauseUnauthenticated) != 1 {
		t.Errorf("causes %v", s.causes)
	}
}

// cuts divides text at random places, seldom or often.
func cuts(rng *rand.Rand, text string) (chunks [][]byte) {
	most := 1 + rng.IntN(1+rng.IntN(5000))
	for len(text) > 0 {
		n := min(len(text), 1+rng.IntN(most))
		chunks = append(chunks, []byte(text[:n]))
		text = text[n:]
	}
	return chunks
}

// mixture is a random stream of commands, good and (if faulty) at last bad.
func mixture(rng *rand.Rand, faulty bool) string {
	var b strings.Builder
	for range 1 + rng.IntN(30) {
		switch rng.IntN(6) {
		case 0:
			b.WriteString("\r\n*0\r\n*-1\r\n")
		case 1:
			fmt.Fprintf(&b, "SET k \"\\x0%d\\\"\" 'a b'\r\n", rng.IntN(10))
		case 2:
			b.WriteString(array("SET", "k", strings.Repeat("\r\n$1*", rng.IntN(3000))))
		default:
			b.WriteString(array("SET", fmt.Sprint("k", rng.IntN(1000)), "v", "NX", "PX", "1000"))
		}
	}
	if faulty {
		bad := []string{"*x\r\n", "*1\r\n$-1\r\n", "*1\r\nx", "'a\r\n", "POST /\r\n", "*1\r\n$1\r\naa\r\n", "*2\r\n$4\r\nPING\r\n"}
		b.WriteString(bad[rng.IntN(len(bad))] + "PING\r\n")
	}
	return b.String()
}

// TestCommandsDoNotDependOnHowTheyAreCut holds G2.
func TestCommandsDoNotDependOnHowTheyAreCut(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	rng := rand.New(rand.NewPCG(seed, 0))
	for range 40 {
		text := mixture(rng, rng.IntN(2) == 0)
		limits := Limits{AuthRequired: rng.IntN(4) == 0}
		commands, written, _ := released(limits, [][]byte{[]byte(text)})
		bytewise := bytes.SplitAfter([]byte(text), nil)
		for _, chunks := range [][][]byte{bytewise, cuts(rng, text), cuts(rng, text)} {
			c, w, _ := released(limits, chunks)
			if c != commands || w != written {
				t.Fatalf("seed %d: %q in %d chunks: %q %q, at once: %q %q", seed, text, len(chunks), c, w, commands, written)
			}
		}
	}
}

// TestReleasedCommandsAreReadAsTheyAre reads the output with redcon's reader.
func TestReleasedCommandsAreReadAsTheyAre(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	rng := rand.New(rand.NewPCG(seed, 1))
	for range 50 {
		commands, _, _ := released(Limits{}, cuts(rng, mixture(rng, true)))
		if raw := reread(t, commands); raw != commands {
			t.Fatalf("seed %d: redcon read %q of %q", seed, raw, commands)
		}
	}
}

func reread(t testing.TB, commands string) string {
	t.Helper()
	rd := redcon.NewReader(strings.NewReader(commands))
	var raw bytes.Buffer
	for {
		cmd, err := rd.ReadCommand()
		if err == io.EOF {
			return raw.String()
		}
		if err != nil {
			t.Fatalf("redcon: %v in %q", err, commands)
		}
		raw.Write(cmd.Raw)
	}
}

func TestMemoryIsGivenBack(t *testing.T) {
	big := array("SET", "k", strings.Repeat("x", 512<<10))
	_, _, c := released(Limits{}, [][]byte{[]byte(big), []byte("*2\r\n$3\r\nGET\r\n")})
	if n := cap(c.parser.out); n > keepBytes {
		t.Errorf("%d bytes kept after a large command", n)
	}
}

func TestAnnouncedLengthsCostNothing(t *testing.T) {
	_, _, c := released(Limits{}, [][]byte{[]byte("*1024\r\n$524288\r\nabc")})
	if n := cap(c.parser.out); n > 1024 {
		t.Errorf("%d bytes for 3 of an argument", n)
	}
}

func TestLimitsHaveDefaultsAndBounds(t *testing.T) {
	low := Limits{Idle: -1, Before: Size{Args: -1}, Line: -1, HalfCommand: -1}.normal()
	if low != (Limits{}).normal() || low.MaxClients != 10_000 || low.Idle != 0 || low.Before.Args != 10 {
		t.Errorf("defaults: %+v", low)
	}
	const big = 1 << 40
	high := Limits{MaxClients: big, Line: big, After: Size{big, big, big}, WriteStall: 1 << 60}.normal()
	if high.MaxClients != 1_000_000 || high.Line != maxLine || high.After != (Size{maxArgs, maxBulk, maxCommand}) || high.WriteStall != time.Hour {
		t.Errorf("bounds: %+v", high)
	}
}
