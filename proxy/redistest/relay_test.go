package redistest

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"testing"
	"time"
)

// relayed is a server, a relay in front of it and a client behind that.
func relayed(t *testing.T) (*Server, *Relay, *Client) {
	t.Helper()
	s := Start(t)
	r := NewRelay(t, s.Addr())
	return s, r, dial(t, r.Addr())
}

func dial(t *testing.T, addr string) *Client {
	t.Helper()
	c, err := Dial(addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func wantOK(t *testing.T, c *Client, args ...string) {
	t.Helper()
	if reply, err := c.Do(args...); err != nil || reply != Status("OK") {
		t.Fatalf("%v: %v, %v", args, reply, err)
	}
}

// wantSilence checks that nothing comes for a moment.
func wantSilence(t *testing.T, c *Client) {
	t.Helper()
	timeout := c.Timeout
	c.Timeout = 30 * time.Millisecond
	if reply, err := c.Receive(); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("not silent: %v, %v", reply, err)
	}
	c.Timeout = timeout
}

func wantEnd(t *testing.T, c *Client) {
	t.Helper()
	if reply, err := c.Receive(); !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) {
		t.Fatalf("not closed: %v, %v", reply, err)
	}
}

func TestHeldRequestRunsOnPassAndHeldReplyComes(t *testing.T) {
	s, r, c := relayed(t)
	r.Hold(Requests)
	if err := c.Send("SET", "a", "1"); err != nil {
		t.Fatal(err)
	}
	wantSilence(t, c)
	if n := s.Get("a"); n != "" {
		t.Fatalf("a held request ran: %q", n)
	}
	r.Pass()
	if reply, err := c.Receive(); err != nil || reply != Status("OK") {
		t.Fatalf("after Pass: %v, %v", reply, err)
	}

	r.Hold(Replies)
	if err := c.Send("SET", "b", "2"); err != nil {
		t.Fatal(err)
	}
	Eventually(t, time.Second, "the request runs", func() bool { return s.Get("b") == "2" })
	wantSilence(t, c)
	r.Pass()
	if reply, err := c.Receive(); err != nil || reply != Status("OK") {
		t.Fatalf("after Pass: %v, %v", reply, err)
	}
}

func TestDelayIsLatencyNotThroughput(t *testing.T) {
	_, r, c := relayed(t)
	const delay, requests, gap = 60 * time.Millisecond, 10, 10 * time.Millisecond
	r.Delay(delay, Replies)
	start := time.Now()
	for range requests {
		if err := c.Send("PING"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(gap) // apart, so that each is a chunk of its own
	}
	for i := range requests {
		if reply, err := c.Receive(); err != nil || reply != Status("PONG") {
			t.Fatalf("reply %d: %v, %v", i, reply, err)
		}
		if early := time.Duration(i)*gap + delay; time.Since(start) < early {
			t.Errorf("reply %d after %s, not %s", i, time.Since(start), early)
		}
	}
	if took := time.Since(start); took > requests*gap+requests*delay/2 {
		t.Errorf("%d replies took %s: delays added up", requests, took)
	}
}

func TestBlackHoleSwallowsBothWaysAndPassClosesWhatLostBytes(t *testing.T) {
	s, r, c := relayed(t)
	quiet := dial(t, r.Addr())
	wantOK(t, quiet, "SET", "q", "1")
	r.BlackHole()
	if err := c.Send("SET", "a", "1"); err != nil {
		t.Fatal(err)
	}
	during := dial(t, r.Addr())
	if err := during.Send("SET", "b", "1"); err != nil {
		t.Fatal(err)
	}
	wantSilence(t, c)
	wantSilence(t, during)
	r.Pass()
	wantEnd(t, c)
	wantEnd(t, during)
	wantOK(t, quiet, "SET", "q", "2")
	wantOK(t, dial(t, r.Addr()), "SET", "c", "1")
	if a, b := s.Get("a"), s.Get("b"); a != "" || b != "" {
		t.Errorf("swallowed requests ran: %q %q", a, b)
	}
}

func TestBlackHoleOneWayLetsTheOtherPass(t *testing.T) {
	s, r, c := relayed(t)
	r.BlackHole(Replies)
	if err := c.Send("SET", "a", "1"); err != nil {
		t.Fatal(err)
	}
	Eventually(t, time.Second, "the request runs", func() bool { return s.Get("a") == "1" })
	wantSilence(t, c)
}

func TestCutDropsBytesAndCloses(t *testing.T) {
	s, r, c := relayed(t)
	r.Cut(Requests)
	if err := c.Send("SET", "a", "1"); err != nil {
		t.Fatal(err)
	}
	wantEnd(t, c)
	r.Pass()
	wantOK(t, dial(t, r.Addr()), "SET", "b", "1")
	if a := s.Get("a"); a != "" {
		t.Errorf("a cut request ran: %q", a)
	}
}

func TestForwardThenCloseRunsTheRequestAndLosesItsReply(t *testing.T) {
	s, r, c := relayed(t)
	r.ForwardThenClose("marked")
	wantOK(t, c, "SET", "plain", "1")
	// The text comes in two pieces: it must be recognised all the same.
	request := Encode("SET", "marked", "1")
	half := len(request) - 12
	if err := c.Write(request[:half]); err != nil {
		t.Fatal(err)
	}
	time.Sleep(20 * time.Millisecond)
	if err := c.Write(request[half:]); err != nil {
		t.Fatal(err)
	}
	wantEnd(t, c)
	if got := s.Get("marked"); got != "1" {
		t.Errorf("the request did not run: %q", got)
	}
}

func TestRefusedPortOpensAgainOnPass(t *testing.T) {
	_, r, c := relayed(t)
	wantOK(t, c, "SET", "a", "1")
	r.Refuse()
	wantEnd(t, c)
	if _, err := Dial(r.Addr()); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("dialling a refusing relay: %v", err)
	}
	r.Pass()
	wantOK(t, dial(t, r.Addr()), "SET", "b", "1")
}

func TestRejectedConnectionsAreCounted(t *testing.T) {
	_, r, c := relayed(t)
	r.Reject()
	wantEnd(t, c)
	before := r.Accepted()
	for range 3 {
		wantEnd(t, dial(t, r.Addr()))
	}
	if n := r.Accepted() - before; n != 3 {
		t.Errorf("%d attempts counted", n)
	}
	r.Pass()
	wantOK(t, dial(t, r.Addr()), "SET", "b", "1")
}

func TestEndOfOneSideReachesTheOther(t *testing.T) {
	s, r, c := relayed(t)
	wantOK(t, c, "CLIENT", "SETNAME", "seen")
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	Eventually(t, time.Second, "the server has no relayed client", func() bool {
		return s.MustDo("CLIENT", "KILL", "SKIPME", "yes") == int64(0)
	})
	c = dial(t, r.Addr())
	wantOK(t, c, "SET", "a", "1")
	s.Kill()
	wantEnd(t, c)
}

func TestCloseEndsHeldAndDelayedConnections(t *testing.T) {
	_, r, c := relayed(t)
	r.Hold(Replies)
	r.Delay(time.Hour, Requests)
	if err := c.Send("PING"); err != nil {
		t.Fatal(err)
	}
	wantSilence(t, c)
	start := time.Now()
	r.Close()
	if took := time.Since(start); took > time.Second {
		t.Errorf("Close took %s", took)
	}
	wantEnd(t, c)
}

func TestJitterDelaysAndKeepsTheOrder(t *testing.T) {
	_, r, c := relayed(t)
	const least = 5 * time.Millisecond
	r.Jitter(least, 10*time.Millisecond, Replies)
	start := time.Now()
	for i := range 20 {
		if err := c.Send("ECHO", fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 20 {
		if reply, err := c.Receive(); err != nil || reply != fmt.Sprint(i) {
			t.Fatalf("reply %d: %v, %v", i, reply, err)
		}
		if took := time.Since(start); took < least {
			t.Fatalf("reply %d after %s", i, took)
		}
	}
}

func TestResetEndsConnectionsAndServesNewOnes(t *testing.T) {
	_, r, c := relayed(t)
	wantOK(t, c, "SET", "a", "1")
	r.Reset()
	if reply, err := c.Receive(); !errors.Is(err, syscall.ECONNRESET) {
		t.Fatalf("not reset: %v, %v", reply, err)
	}
	wantOK(t, dial(t, r.Addr()), "SET", "a", "2")
}
