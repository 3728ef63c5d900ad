package guard

import (
	"io"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidwall/redcon"
)

// closedAfter is how long the other side keeps c open.
func closedAfter(c net.Conn) time.Duration {
	start := time.Now()
	io.Copy(io.Discard, c)
	return time.Since(start)
}

// trickle sends text, one byte every step, until it fails. The test ends after it.
func trickle(t *testing.T, c net.Conn, text string, step time.Duration) {
	var wg sync.WaitGroup
	t.Cleanup(wg.Wait)
	wg.Go(func() {
		for i := range len(text) {
			if _, err := io.WriteString(c, text[i:i+1]); err != nil {
				return
			}
			time.Sleep(step)
		}
	})
}

func TestHalfACommandHasOneDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ln := newPipes()
		s := serveOn(t, ln, nil, Limits{}, nil)
		for _, text := range []string{array("SET", "a", "b"), "SET a b c d e f g h\r\n"} {
			c := ln.dial(t)
			trickle(t, c, text, 3*time.Second)
			if d := closedAfter(c); d != 10*time.Second {
				t.Errorf("%q: closed after %v", text, d)
			}
		}
		if s.count(CauseHalfCommand) != 2 {
			t.Errorf("causes %v", s.causes)
		}
	})
}

func TestEachCommandHasADeadlineOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ln := newPipes()
		serveOn(t, ln, nil, Limits{}, nil)
		c := ln.dial(t)
		trickle(t, c, "PING\r\nPING\r\nPING\r\n*1\r\n", time.Second)
		// The fourth begins at 18 s.
		if d := closedAfter(c); d != 28*time.Second {
			t.Errorf("closed after %v", d)
		}
	})
}

func TestBusyTimeDoesNotCountAsTheClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ln := newPipes()
		serveOn(t, ln, nil, Limits{}, slowly(time.Minute))
		c := ln.dial(t)
		go func() {
			io.WriteString(c, "PING\r\nPI")
			io.WriteString(c, "NG\r\nQUIT\r\n") // a pipe takes it when the first is answered
		}()
		got, _ := io.ReadAll(c)
		if want := "+PONG\r\n+PONG\r\n+OK\r\n"; string(got) != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

func TestSilentClientsMayStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ln := newPipes()
		s := serveOn(t, ln, nil, Limits{}, nil)
		var idle []net.Conn
		for range 500 {
			idle = append(idle, ln.dial(t))
		}
		time.Sleep(240 * time.Hour)
		for _, c := range idle {
			if got := exchange(t, c, "PING\r\n", 7); got != "+PONG\r\n" {
				t.Fatalf("got %q", got)
			}
		}
		if s.Clients() != 500 {
			t.Errorf("%d clients", s.Clients())
		}
	})
}

func TestIdleClientsAreClosedIfSoConfigured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ln := newPipes()
		s := serveOn(t, ln, nil, Limits{Idle: time.Minute}, nil)
		c := ln.dial(t)
		trickle(t, c, "\n\n\n\n\n\n", 20*time.Second) // bytes at 0 … 100 s
		if d := closedAfter(c); d != 160*time.Second {
			t.Errorf("closed after %v", d)
		}
		if s.count(CauseIdle) != 1 {
			t.Errorf("causes %v", s.causes)
		}
	})
}

// Without a password, nobody has to speak to stay connected; the setting ends that, too.
func TestClientsThatNeverSpokeAreClosedIfSoConfigured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ln := newPipes()
		s := serveOn(t, ln, nil, Limits{Idle: time.Minute}, nil)
		var silent []net.Conn
		for range 500 {
			silent = append(silent, ln.dial(t))
		}
		start := time.Now()
		for _, c := range silent {
			closedAfter(c)
		}
		if d := time.Since(start); d != time.Minute {
			t.Errorf("closed after %v", d)
		}
		synctest.Wait()
		if s.Clients() != 0 || s.count(CauseIdle) != 500 {
			t.Errorf("%d clients, causes %v", s.Clients(), s.causes)
		}
	})
}

func TestClientsThatDoNotLogInAreClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ln := newPipes()
		s := serveOn(t, ln, nil, Limits{AuthRequired: true}, nil)
		good, silent, busy := ln.dial(t), ln.dial(t), ln.dial(t)
		exchange(t, good, array("AUTH", "p"), 5)
		trickle(t, busy, strings.Repeat("PING\r\n", 20), time.Second/7)
		start := time.Now()
		closedAfter(silent)
		closedAfter(busy)
		if d := time.Since(start); d != 10*time.Second {
			t.Errorf("closed after %v", d)
		}
		time.Sleep(time.Hour)
		if s.Clients() != 1 || s.count(CauseAuth) != 2 {
			t.Errorf("%d clients, causes %v", s.Clients(), s.causes)
		}
	})
}

func TestResetBeforeTheLoginDoesNotProlongIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ln := newPipes()
		s := serveOn(t, ln, nil, Limits{AuthRequired: true}, func(c *Conn, to redcon.Conn, args [][]byte) {
			c.SetAuthenticated(string(args[0]) == "AUTH")
			to.WriteString("OK")
		})
		stranger, known := ln.dial(t), ln.dial(t)
		exchange(t, known, array("AUTH", "p"), 5)
		start := time.Now()
		time.Sleep(5 * time.Second)
		exchange(t, stranger, array("RESET"), 5)
		exchange(t, known, array("RESET"), 5)
		closedAfter(stranger)
		if d := time.Since(start); d != 10*time.Second {
			t.Errorf("a stranger: closed after %v", d)
		}
		closedAfter(known)
		if d := time.Since(start); d != 15*time.Second || s.Clients() != 0 {
			t.Errorf("one that was logged in: closed after %v", d)
		}
	})
}

func TestClientsThatDoNotReadAreClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ln := newPipes()
		s := serveOn(t, ln, nil, Limits{}, nil)
		c := ln.dial(t)
		start := time.Now()
		io.WriteString(c, "PING\r\n")
		s.until(t, "closed", func() bool { return s.Clients() == 0 })
		if d := time.Since(start).Round(time.Second); d != 10*time.Second {
			t.Errorf("closed after %v", d)
		}
		if s.count(CauseWriteStall) != 1 {
			t.Errorf("causes %v", s.causes)
		}
	})
}

// brokenListener fails for ever, as with too many open files.
type brokenListener struct {
	*pipes
	tries int
}

func (b *brokenListener) Accept() (net.Conn, error) {
	b.tries++
	return nil, syscall.EMFILE
}

func TestFailingAcceptsDoNotSpin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ln := &brokenListener{pipes: newPipes()}
		s := serveOn(t, ln, nil, Limits{}, nil)
		time.Sleep(time.Minute + time.Second/2)
		synctest.Wait()
		if ln.tries < 60 || ln.tries > 70 {
			t.Errorf("%d tries in a minute", ln.tries)
		}
		s.Close() // must not wait
	})
}
