package embedded

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func start(t *testing.T) *Backend {
	t.Helper()
	b := Start(1)[0]
	t.Cleanup(b.Close)
	return b
}

func dial(t *testing.T, b *Backend) net.Conn {
	t.Helper()
	conn, err := b.Dial(t.Context(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// A pipe without a buffer would have the server wait for its first answer to be read
// while we wait for it to read our last request.
func TestLongPipelineIsWrittenBeforeItsFirstAnswerIsRead(t *testing.T) {
	conn := dial(t, start(t))
	const n = 5000
	var sent strings.Builder
	for i := range n {
		fmt.Fprintf(&sent, "*2\r\n$4\r\nECHO\r\n$5\r\n%05d\r\n", i)
	}
	text, done := sent.String(), make(chan error, 1)
	go func() { // in pieces, as a writer with a buffer does
		for len(text) > 0 {
			m := min(len(text), 1000)
			if _, err := io.WriteString(conn, text[:m]); err != nil {
				done <- err
				return
			}
			text = text[m:]
		}
		done <- nil
	}()
	select {
	case err := <-done:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the write waits for a read")
	}
	r := bufio.NewReader(conn)
	for i := range n {
		var size, got int
		if _, err := fmt.Fscanf(r, "$%d\r\n%d\r\n", &size, &got); err != nil || got != i {
			t.Fatalf("answer %d is %d, %v", i, got, err)
		}
	}
}

func TestClosedConnectionTakesNothing(t *testing.T) {
	conn := dial(t, start(t))
	for range 2 {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := conn.Write([]byte("PING\r\n")); !errors.Is(err, net.ErrClosed) {
		t.Errorf("%v", err)
	}
}

// A connection may be closed while its other side reads nothing of what was written.
func TestCloseDoesNotWaitForAReader(t *testing.T) {
	ours, theirs := net.Pipe()
	defer theirs.Close()
	conn := newBuffered(ours)
	if _, err := conn.Write(make([]byte, 1<<20)); err != nil {
		t.Fatal(err)
	}
	closed := make(chan error, 1)
	go func() { closed <- conn.Close() }()
	select {
	case err := <-closed:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(5 * time.Second):
		t.Error("Close waits")
	}
}

func TestKeysExpireByTheClock(t *testing.T) {
	conn := dial(t, start(t))
	r := bufio.NewReader(conn)
	ask := func(command string) string {
		t.Helper()
		if _, err := io.WriteString(conn, command); err != nil {
			t.Fatal(err)
		}
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(line)
	}
	if got := ask("*5\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\nv\r\n$2\r\nPX\r\n$2\r\n20\r\n"); got != "+OK" {
		t.Fatal(got)
	}
	for end := time.Now().Add(5 * time.Second); ask("*2\r\n$6\r\nEXISTS\r\n$1\r\nk\r\n") != ":0"; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the key is still there")
		}
	}
}
