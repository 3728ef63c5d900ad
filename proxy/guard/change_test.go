package guard

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidwall/redcon"
)

const pong = "+PONG\r\n"

// shown is the certificate that a new client meets, or why it meets none.
func shown(t *testing.T, s *served, client *tls.Config) (*tls.Conn, error) {
	t.Helper()
	c := tls.Client(s.dial(t), client)
	return c, c.Handshake()
}

func TestNewCertificateIsForNewClientsAndOldOnesStay(t *testing.T) {
	first, trustsFirst := certificates(t)
	second, trustsSecond := certificates(t)
	s := serve(t, "tcp", first, Limits{}, nil)
	old, err := shown(t, s, trustsFirst)
	if err != nil {
		t.Fatal(err)
	}
	exchange(t, old, "PING\r\n", len(pong))
	s.Change(second, Limits{})
	if _, err := shown(t, s, trustsSecond); err != nil {
		t.Errorf("a new client: %v", err)
	}
	if _, err := shown(t, s, trustsFirst); err == nil {
		t.Error("the old certificate is still shown")
	}
	if got := exchange(t, old, "PING\r\n", len(pong)); got != pong {
		t.Errorf("the old client: %q", got)
	}
	s.Change(nil, Limits{})
	if got := exchange(t, s.dial(t), "PING\r\n", len(pong)); got != pong {
		t.Errorf("without TLS: %q", got)
	}
	if got := exchange(t, old, "PING\r\n", len(pong)); got != pong {
		t.Errorf("the old client: %q", got)
	}
}

func TestNewLimitsHoldFromTheNextCommandOn(t *testing.T) {
	const long = 100
	synctest.Test(t, func(t *testing.T) {
		ln := newPipes()
		s := serveOn(t, ln, nil, Limits{After: Size{Bulk: 2 * long}}, nil)
		text, want := array("ECHO", strings.Repeat("a", long)), "$100\r\n"+strings.Repeat("a", long)+"\r\n"
		c := ln.dial(t)
		begun := len("*2\r\n$4\r\nECHO\r\n")
		if _, err := io.WriteString(c, text[:begun]); err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // the beginning has been taken in
		s.Change(nil, Limits{After: Size{Bulk: long / 2}})
		if got := exchange(t, c, text[begun:], len(want)); got != want {
			t.Errorf("the command that had begun: %q", got)
		}
		synctest.Wait()
		for name, c := range map[string]net.Conn{"the next command": c, "a new client": ln.dial(t)} {
			const refusal = "-ERR Protocol error: invalid bulk length\r\n"
			if got := exchange(t, c, text, len(refusal)); got != refusal {
				t.Errorf("%s: %q", name, got)
			}
		}
	})
}

func TestFewerClientsMayBeConnectedAndNobodyIsSentAway(t *testing.T) {
	s := serve(t, "tcp", nil, Limits{}, nil)
	var all []net.Conn
	for range 3 {
		c := s.dial(t)
		exchange(t, c, "PING\r\n", len(pong))
		all = append(all, c)
	}
	s.Change(nil, Limits{MaxClients: 1})
	if got, _ := io.ReadAll(s.dial(t)); string(got) != "-ERR max number of clients reached\r\n" {
		t.Errorf("one too many: %q", got)
	}
	for i, c := range all {
		if got := exchange(t, c, "PING\r\n", len(pong)); got != pong {
			t.Errorf("client %d: %q", i, got)
		}
	}
}

func TestLoginIsAskedOfThoseWhoComeAfterThePassword(t *testing.T) {
	var loggedIn atomic.Value
	s := serve(t, "tcp", nil, Limits{}, func(c *Conn, to redcon.Conn, args [][]byte) {
		loggedIn.Store(c.Authenticated())
		answer(c, to, args)
	})
	was := func(c net.Conn) bool {
		t.Helper()
		exchange(t, c, "PING\r\n", len(pong))
		return loggedIn.Load().(bool)
	}
	before := s.dial(t)
	if !was(before) {
		t.Error("without a password a client counts as not logged in")
	}
	s.Change(nil, Limits{AuthRequired: true})
	after := s.dial(t)
	if was(after) || !was(before) {
		t.Error("the password is not for those, and only those, who came after it")
	}
	s.Change(nil, Limits{})
	if was(after) {
		t.Error("nobody has logged it in")
	}
}

func TestNewIdleTimeBeginsWithTheNextCommand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ln := newPipes()
		s := serveOn(t, ln, nil, Limits{}, nil)
		c := ln.dial(t)
		ping := func() error {
			if _, err := io.WriteString(c, "PING\r\n"); err != nil {
				return err
			}
			_, err := io.ReadFull(c, make([]byte, len(pong)))
			return err
		}
		if err := ping(); err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // it waits for the next command
		s.Change(nil, Limits{Idle: time.Minute})
		time.Sleep(time.Hour) // the wait that has begun has no end
		if err := ping(); err != nil {
			t.Fatalf("it was cut off for the past: %v", err)
		}
		time.Sleep(59 * time.Second)
		synctest.Wait()
		if s.count(CauseIdle) != 0 {
			t.Error("cut off too early")
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if s.count(CauseIdle) != 1 {
			t.Error("the new limit does not hold")
		}
	})
}

// With the race detector: everything that is read while clients are served may change.
func TestChangesWhileClientsComeAndTalk(t *testing.T) {
	first, trusts := certificates(t)
	s := serve(t, "tcp", first, Limits{}, nil)
	stop := make(chan struct{})
	var changes, clients sync.WaitGroup
	changes.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				s.Change(first.Clone(), Limits{MaxClients: 100 + i%2, Large: 1<<20 + i%2, Line: 1024 + i%2, Idle: time.Hour})
			}
		}
	})
	errs := make(chan error, 4)
	for range 4 {
		clients.Go(func() {
			for range 5 {
				conn, err := net.Dial("tcp", s.ln.Addr().String())
				if err != nil {
					errs <- err
					return
				}
				c := tls.Client(conn, trusts)
				err = func() error {
					defer c.Close()
					for range 20 {
						if _, err := io.WriteString(c, array("ECHO", strings.Repeat("a", 20<<10))); err != nil {
							return err
						}
						if _, err := io.CopyN(io.Discard, c, 20<<10+10); err != nil {
							return err
						}
					}
					return nil
				}()
				if err != nil {
					errs <- err
					return
				}
			}
		})
	}
	clients.Wait()
	close(stop)
	changes.Wait()
	close(errs)
	var all error
	for err := range errs {
		all = errors.Join(all, err)
	}
	if all != nil {
		t.Error(all)
	}
}
