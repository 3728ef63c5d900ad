package guard

import (
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidwall/redcon"
)

// slowly answers like answer, but takes d.
func slowly(d time.Duration) func(*Conn, redcon.Conn, [][]byte) {
	return func(c *Conn, to redcon.Conn, args [][]byte) {
		time.Sleep(d)
		answer(c, to, args)
	}
}

func TestDrainAnswersWhatWasReadAndEndsTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ln := newPipes()
		s := serveOn(t, ln, nil, Limits{}, slowly(time.Second))
		idle, half, busy := ln.dial(t), ln.dial(t), ln.dial(t)
		io.WriteString(half, "*1\r\n$4\r\n")
		io.WriteString(busy, strings.Repeat("PING\r\n", 3)+"*1\r\n")
		synctest.Wait()

		start := time.Now()
		drained := s.Drain()
		if d := closedAfter(idle); d != 0 {
			t.Errorf("idle: closed after %v", d)
		}
		if d := closedAfter(half); d != 0 {
			t.Errorf("half a command: closed after %v", d)
		}
		got, _ := io.ReadAll(busy)
		if want := strings.Repeat("+PONG\r\n", 3); string(got) != want {
			t.Errorf("busy: %q, want %q", got, want)
		}
		<-drained
		if d := time.Since(start); d != 3*time.Second || s.Clients() != 0 {
			t.Errorf("drained after %v, %d clients", d, s.Clients())
		}
		if err := <-s.done; err != nil { // redcon ends by itself
			t.Error(err)
		}
		s.done <- nil
		<-s.Drain() // again: nothing
	})
}

// What the client sends meanwhile stays unread, so closing the socket would reset it, and
// the reply is longer than what the client's own buffer has taken.
func TestDrainedClientsGetTheirRepliesWhateverTheySend(t *testing.T) {
	const size = 1 << 20
	begun, answered := make(chan struct{}), make(chan struct{})
	s := serve(t, "tcp", nil, Limits{}, func(c *Conn, to redcon.Conn, args [][]byte) {
		close(begun)
		<-answered
		to.WriteBulkString(strings.Repeat("x", size))
	})
	c := s.dial(t)
	io.WriteString(c, "PING\r\n")
	<-begun
	io.WriteString(c, strings.Repeat("PING\r\n", 100))
	s.Drain()
	close(answered)
	time.Sleep(50 * time.Millisecond)
	got, err := io.ReadAll(c)
	if want := size + len("$1048576\r\n\r\n"); len(got) != want || err != nil {
		t.Errorf("%d bytes, %v, wanted %d", len(got), err, want)
	}
}

func TestDrainedListenersTakeNobody(t *testing.T) {
	s := serve(t, "tcp", nil, Limits{}, slowly(time.Second/10))
	c := s.dial(t)
	io.WriteString(c, "PING\r\n")
	s.until(t, "handled", func() bool { return s.handled.Load() == 1 })
	s.Drain()
	if late, err := net.Dial("tcp", s.ln.Addr().String()); err == nil {
		late.Close()
		t.Error("a client got in")
	}
	if got, _ := io.ReadAll(c); string(got) != "+PONG\r\n" {
		t.Errorf("got %q", got)
	}
}

func TestDrainOfNobodyIsDoneAtOnce(t *testing.T) {
	s := serve(t, "unix", nil, Limits{}, nil)
	<-s.Drain()
}

func TestCloseEndsADrain(t *testing.T) {
	block := make(chan struct{})
	s := serve(t, "unix", nil, Limits{}, func(c *Conn, to redcon.Conn, args [][]byte) { <-block })
	c := s.dial(t)
	io.WriteString(c, "PING\r\n")
	s.until(t, "handled", func() bool { return s.handled.Load() == 1 })
	s.Drain()
	s.Close()
	if got, _ := io.ReadAll(c); len(got) > 0 { // redcon closes it
		t.Errorf("got %q", got)
	}
	close(block)
}

func TestOneClientTooManyIsTold(t *testing.T) {
	s := serve(t, "tcp", nil, Limits{MaxClients: 2}, nil)
	first, second := s.dial(t), s.dial(t)
	exchange(t, first, "PING\r\n", 7)
	exchange(t, second, "PING\r\n", 7)
	got, err := io.ReadAll(s.dial(t))
	if want := "-ERR max number of clients reached\r\n"; string(got) != want || err != nil {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	first.Close()
	s.until(t, "one has gone", func() bool { return s.Clients() == 1 })
	if got := exchange(t, s.dial(t), "PING\r\n", 7); got != "+PONG\r\n" {
		t.Errorf("got %q", got)
	}
	if s.mu.Lock(); s.refused != 1 || s.accepted != 3 {
		t.Errorf("%d refused, %d accepted", s.refused, s.accepted)
	}
	s.mu.Unlock()
}
