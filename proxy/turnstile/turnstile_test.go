package turnstile

import (
	"context"
	"io"
	"net"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"
)

func TestAtMostAsManyAreInsideAsThereArePlaces(t *testing.T) {
	s := New(2)
	for range 2 {
		if !s.Enter(t.Context()) {
			t.Fatal("no place")
		}
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if s.Enter(over) || s.Inside() != 2 {
		t.Errorf("%d are inside", s.Inside())
	}
	s.Leave()
	s.Pass()
	if s.Inside() != 1 {
		t.Errorf("%d are inside", s.Inside())
	}
}

func TestTurnsComeInTheOrderOfAsking(t *testing.T) {
	const callers = 20
	s := New(1)
	s.Enter(t.Context())
	var order []int // of who is inside
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() {
			s.Enter(t.Context())
			order = append(order, i)
			s.Rest()
			s.Leave()
		})
		for end := time.Now().Add(10 * time.Second); waiting(t) <= i; runtime.Gosched() {
			if time.Now().After(end) {
				t.Fatalf("%d callers wait, of %d", waiting(t), i+1)
			}
		}
	}
	s.Leave()
	all.Wait()
	if !slices.IsSorted(order) || len(order) != callers {
		t.Errorf("their order: %v", order)
	}
}

// waiting is how many goroutines wait in Enter.
func waiting(t *testing.T) (n int) {
	t.Helper()
	all := make([]runtime.StackRecord, 100)
	known, ok := runtime.GoroutineProfile(all)
	if !ok {
		t.Fatalf("%d goroutines", known)
	}
	for _, r := range all[:known] {
		var names []string
		frames := runtime.CallersFrames(r.Stack())
		for more := true; more; {
			var f runtime.Frame
			f, more = frames.Next()
			names = append(names, f.Function)
		}
		if slices.Contains(names, "runtime.selectgo") && slices.Contains(names, "redlockproxy/proxy/turnstile.(*Turnstile).Enter") {
			n++
		}
	}
	return n
}

// On one processor, one that computes all the time and others that wait for each other's
// bytes: their way through the sockets must not wait until the scheduler looks at sockets
// by itself, which it does every ten milliseconds.
func TestRestLetsSocketsBeServed(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const (
		trips = 20
		spell = 200 * time.Microsecond
		// Two readings a trip, each found within a few spells; fifty without a rest.
		most = 2 * trips * 20
	)
	near, far := connected(t)
	done := make(chan error, 2)
	go func() {
		_, err := io.CopyN(far, far, trips) // gives back what comes
		done <- err
	}()
	go func() {
		b := make([]byte, 1)
		for range trips {
			if _, err := near.Write(b); err != nil {
				done <- err
				return
			}
			if _, err := io.ReadFull(near, b); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	s := New(1)
	s.Enter(t.Context())
	defer s.Leave()
	spells := 0
	for ended := 0; ended < 2; spells++ {
		for start := time.Now(); time.Since(start) < spell; {
		}
		s.Rest()
		select {
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
			ended++
		default:
		}
	}
	if spells > most {
		t.Errorf("%d spells of computing passed while a byte went %d times to and fro", spells, trips)
	}
}

func connected(t *testing.T) (near, far net.Conn) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	near, err = net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	far, err = ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []net.Conn{near, far} {
		t.Cleanup(func() { _ = c.Close() })
	}
	return near, far
}

// Two that ring at the same time both come back.
func TestTheBellServesAll(t *testing.T) {
	b := theBell()
	if b == nil {
		t.Fatal("there is none")
	}
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			for range 100 {
				b.ring()
			}
		})
	}
	all.Wait()
	(*bell)(nil).ring() // as where there are no files left
}
