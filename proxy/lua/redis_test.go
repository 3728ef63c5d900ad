package lua

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"redlockproxy/resp"
)

// A redisServer is a real redis-server and one connection to it.
type redisServer struct {
	conn net.Conn
	in   *bufio.Reader
}

// startRedis starts a server on a unix socket of its own; it ends with the test.
func startRedis(t testing.TB) *redisServer {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "r.sock")
	cmd := exec.Command("redis-server", "--port", "0", "--unixsocket", socket, "--save", "", "--appendonly", "no", "--dir", filepath.Dir(socket))
	if err := cmd.Start(); err != nil {
		t.Fatalf("redis-server is needed for this test: %v", err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	deadline := time.Now().Add(10 * time.Second)
	for {
		conn, err := net.Dial("unix", socket)
		if err == nil {
			t.Cleanup(func() { conn.Close() })
			return &redisServer{conn: conn, in: bufio.NewReader(conn)}
		}
		if time.Now().After(deadline) {
			t.Fatalf("redis-server does not answer: %v", err)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// do sends one command and reads its RESP2 reply.
func (r *redisServer) do(t testing.TB, args ...string) resp.Reply {
	t.Helper()
	var out strings.Builder
	fmt.Fprintf(&out, "*%d\r\n", len(args))
	for _, a := range args {
		fmt.Fprintf(&out, "$%d\r\n%s\r\n", len(a), a)
	}
	if _, err := io.WriteString(r.conn, out.String()); err != nil {
		t.Fatal(err)
	}
	_ = r.conn.SetReadDeadline(time.Now().Add(20 * time.Second))
	reply, err := r.read()
	if err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	return reply
}

func (r *redisServer) read() (resp.Reply, error) {
	line, err := r.in.ReadString('\n')
	if err != nil {
		return nil, err
	}
	line = strings.TrimRight(line, "\r\n")
	kind, rest := line[0], line[1:]
	switch kind {
	case '+':
		return resp.Status(rest), nil
	case '-':
		return resp.Error(rest), nil
	}
	n, err := strconv.ParseInt(rest, 10, 64)
	if err != nil {
		return nil, err
	}
	switch {
	case kind == ':':
		return resp.Int(n), nil
	case kind == '$' && n < 0, kind == '*' && n < 0:
		return resp.Null{}, nil
	case kind == '$':
		b := make([]byte, n+2)
		_, err := io.ReadFull(r.in, b)
		return resp.Bulk(b[:n]), err
	}
	list := resp.Array{}
	for range n {
		one, err := r.read()
		if err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	return list, nil
}

// show writes a reply as RESP2 would carry it, for comparing and printing.
func show(r resp.Reply) string {
	switch x := r.(type) {
	case resp.Status:
		return "+" + string(x)
	case resp.Error:
		return "-" + string(x)
	case resp.Int:
		return ":" + strconv.FormatInt(int64(x), 10)
	case resp.Bulk:
		return strconv.Quote(string(x))
	case resp.Verbatim:
		return strconv.Quote(string(x))
	case resp.Double:
		return strconv.Quote(string(x))
	case resp.BigNumber:
		return strconv.Quote(string(x))
	case resp.Bool:
		if x {
			return ":1"
		}
		return ":0"
	case resp.Null, resp.NullArray:
		return "nil"
	case resp.Array:
		return showList(x)
	case resp.Map:
		return showList(x)
	case resp.Unordered:
		return showList(x)
	}
	return fmt.Sprintf("%T", r)
}

func showList(list []resp.Reply) string {
	var parts []string
	for _, r := range list {
		parts = append(parts, show(r))
	}
	return "[" + strings.Join(parts, " ") + "]"
}
