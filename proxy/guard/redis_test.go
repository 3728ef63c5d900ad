package guard

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// redisServer starts a real one on a Unix socket and ends it with the test.
func redisServer(t *testing.T, settings ...string) (socket string) {
	t.Helper()
	dir := t.TempDir()
	socket = filepath.Join(dir, "s")
	args := append([]string{"--port", "0", "--unixsocket", socket, "--dir", dir, "--save", "", "--logfile", filepath.Join(dir, "log")}, settings...)
	cmd := exec.Command("redis-server", args...)
	if err := cmd.Start(); err != nil {
		t.Fatalf("these tests need a redis-server: %v", err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		if c, err := net.Dial("unix", socket); err == nil {
			c.Close()
			return socket
		}
		if time.Now().After(end) {
			t.Fatal("redis-server does not answer")
		}
	}
}

// hears is all that a server at a Unix socket answers to text and a closing QUIT.
func hears(t *testing.T, socket, text string) string {
	t.Helper()
	c, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(patience))
	return exchange(t, c, text+"\r\n*1\r\n$4\r\nQUIT\r\n", manyBytes)
}

func compare(t *testing.T, redis string, s *served, text string) {
	t.Helper()
	want := hears(t, redis, text)
	if got := hears(t, s.ln.Addr().String(), text); got != want {
		t.Errorf("%.80q of %d bytes: got %.80q, Redis says %.80q", text, len(text), got, want)
	}
}

func TestProtocolErrorsAreRedissOwn(t *testing.T) {
	redis := redisServer(t)
	s := serve(t, "unix", nil, Limits{}, nil)
	// Between 64 KiB and one read more, it depends on chance what Redis says.
	long, tooLong := strings.Repeat("1", 60_000), strings.Repeat("1", 500_000)
	for _, text := range []string{
		"*x\r\n", "*\r\n", "*+1\r\n", "*01\r\n", "*-0\r\n", "* 1\r\n", "*1 \r\n", "*2147483648\r\n", "*99999999999999999999999\r\n",
		"*9223372036854775807\r\n", "*-9223372036854775808\r\nPING\r\n", "*-9223372036854775809\r\n", "*" + strings.Repeat("1", 100) + "\r\n",
		"*1\r\n$-1\r\n", "*1\r\n$x\r\n", "*1\r\n$\r\n", "*1\r\n$+4\r\n", "*1\r\n$04\r\n", "*1\r\n$536870913\r\n",
		"*1\r\n$9223372036854775807\r\n", "*1\r\n$9223372036854775785\r\n", "*1\r\n$4000000000\r\n", "*1\r\n$-9223372036854775808\r\n",
		"*1\r\nPING\r\n", "*1\r\n\r\nPING\r\n", "*1\r\n\n\r\n", "*2\r\n$4\r\nPING\r\n*1\r\n", "*1\r\n:4\r\n",
		"*0\r\nPING\r\n", "*-1\r\nPING\r\n", "*-100\r\nPING\r\n", "\r\n\r\nPING\r\n", "\n \t\nPING\n", "  PING  \r\n", "PING\r\r\n",
		"PING\r\n*x\r\nPING\r\n", array("ECHO", "a") + "ECHO b\r\n" + array("ECHO", "c") + "*1\r\nx\r\n",
		"*" + long + "\r\n", "*" + tooLong, "*1\r\n$" + long + "\r\n", "*1\r\n$" + tooLong, "ECHO " + long, "ECHO " + tooLong,
		"ECHO \"a\r\n", "ECHO 'a\r\n", "ECHO \"a\"b\r\n", "ECHO 'a'b\r\n", "ECHO a\"\r\n",
		"POST / HTTP/1.1\r\n", "host: x\r\n", "pOsT\r\n", "PING\r\nHost: \"\r\n",
	} {
		compare(t, redis, s, text)
	}
	for c := range 256 {
		if c == 0 || c == '$' {
			continue // after a NUL, Redis's reply is cut short
		}
		compare(t, redis, s, "*1\r\n"+string([]byte{byte(c)})+"1\r\n")
	}
}

func TestLimitsBeforeTheLoginAreRedissOwn(t *testing.T) {
	redis := redisServer(t, "--requirepass", "p")
	s := serve(t, "unix", nil, Limits{AuthRequired: true}, nil)
	for _, text := range []string{
		"*11\r\n", "*2147483647\r\n", "*2147483648\r\n", "*1\r\n$16385\r\n", "*1\r\n$536870912\r\n", "*1\r\n$536870913\r\n",
		array("AUTH", "p") + "*11\r\n" + strings.Repeat("$1\r\na\r\n", 10) + "x\r\n",
		array("AUTH", "p") + array("ECHO", strings.Repeat("x", 16385)),
		"AUTH p\r\n" + array("ECHO", strings.Repeat("x", 20_000)) + "*1\r\n$-1\r\n",
	} {
		compare(t, redis, s, text)
	}
}

// TestInlineWordsAreRedissOwn compares random lines: a script returns its words.
func TestInlineWordsAreRedissOwn(t *testing.T) {
	redis := redisServer(t)
	s := serve(t, "unix", nil, Limits{}, nil)
	seed := uint64(time.Now().UnixNano())
	rng := rand.New(rand.NewPCG(seed, 3))
	parts := []string{`"`, `"`, `'`, `'`, `\`, `\x`, `\n`, `\a`, `\b`, `\r`, `\t`, `\"`, `\'`, " ", " ", "\t", "\v", "\f", "\r", "a", "B", "0", "f", "x41", "é", "\xff", "\x01", "$", "*"}
	whole := 0
	for range 1500 {
		var line strings.Builder
		line.WriteString(`EVAL "return ARGV" 0 `)
		for range rng.IntN(12) {
			line.WriteString(parts[rng.IntN(len(parts))])
		}
		line.WriteString([]string{"\r\n", "\n"}[rng.IntN(2)])
		want := hears(t, redis, line.String())
		got := hears(t, s.ln.Addr().String(), line.String())
		if got != want {
			t.Errorf("seed %d: %q: got %q, Redis says %q", seed, line.String(), got, want)
		}
		if want[0] == '*' {
			whole++
		}
	}
	if whole < 200 {
		t.Errorf("only %d lines were whole commands", whole)
	}
}

// TestRedisAndGuardAgreeOnAnyCut sends one pipeline to both in pieces.
func TestRedisAndGuardAgreeOnAnyCut(t *testing.T) {
	redis := redisServer(t)
	s := serve(t, "unix", nil, Limits{}, nil)
	seed := uint64(time.Now().UnixNano())
	rng := rand.New(rand.NewPCG(seed, 4))
	for range 20 {
		var text strings.Builder
		for i := range 40 {
			text.WriteString([]string{fmt.Sprintf("ECHO \"\\x00 %d\"\r\n", i), array("ECHO", strings.Repeat("y", rng.IntN(9000))), "\r\n*0\r\n"}[rng.IntN(3)])
		}
		text.WriteString("QUIT\r\n")
		var heard [2]string
		for i, socket := range []string{redis, s.ln.Addr().String()} {
			c, err := net.Dial("unix", socket)
			if err != nil {
				t.Fatal(err)
			}
			c.SetDeadline(time.Now().Add(patience))
			go func() {
				for _, chunk := range cuts(rand.New(rand.NewPCG(seed, 5)), text.String()) {
					c.Write(chunk)
				}
			}()
			all, _ := io.ReadAll(c)
			heard[i] = string(all)
			c.Close()
		}
		if heard[0] != heard[1] {
			t.Errorf("seed %d: Redis %d bytes, we %d bytes", seed, len(heard[0]), len(heard[1]))
		}
	}
}
