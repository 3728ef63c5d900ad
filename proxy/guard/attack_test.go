package guard

import (
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestHugeLengthsHurtOnlyTheirSender sends what ends a process that has redcon
// alone.
func TestHugeLengthsHurtOnlyTheirSender(t *testing.T) {
	s := serve(t, "tcp", nil, Limits{}, nil)
	old := s.dial(t)
	attacks := map[string]string{}
	for _, n := range []string{
		"9223372036854775807", "9223372036854775806", "9223372036854775785", "9223372036854775000",
		"9223372036854775808", "99999999999999999999999", "2147483647", "536870913", "4000000000", "-1", "-2", "+4", "04", "", " 4",
	} {
		attacks["*1\r\n$"+n+"\r\n"] = "invalid bulk length"
	}
	for _, n := range []string{"2147483648", "1048577", "1000000", "9223372036854775807", "+1", "01", "", "-0"} {
		attacks["*"+n+"\r\n"] = "invalid multibulk length"
	}
	for attack, text := range attacks {
		got := exchange(t, s.dial(t), attack, manyBytes)
		if want := "-ERR Protocol error: " + text + "\r\n"; got != want {
			t.Errorf("%q: got %q, want %q", attack, got, want)
		}
	}
	if got := exchange(t, old, "PING\r\n", 7); got != "+PONG\r\n" {
		t.Errorf("older connection: %q", got)
	}
	s.until(t, "only the older connection is left", func() bool { return s.Clients() == 1 })
}

func TestOddArgumentListsReachTheHandler(t *testing.T) {
	s := serve(t, "tcp", nil, Limits{}, nil)
	c := s.dial(t)
	for _, args := range [][]string{{""}, {"\x00"}, {"SET"}, {"SET", ""}, {"EVAL", "s"}, make([]string, 1024)} {
		const want = "-ERR unexpected in this test\r\n"
		if got := exchange(t, c, array(args...), len(want)); got != want {
			t.Errorf("%.3q: %q", args, got)
		}
	}
}

// TestUnfinishedRequestsDoNotGrow lets clients send more than they may keep.
func TestUnfinishedRequestsDoNotGrow(t *testing.T) {
	s := serve(t, "tcp", nil, Limits{}, nil)
	small := strings.Repeat("$1\r\na\r\n", 1000)
	mb := strings.Repeat("x", 1<<20)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var wg sync.WaitGroup
	for range 10 {
		for _, start := range []string{"*1\r\n$4000000000\r\n", "", "*1000000\r\n" + small, "*1\r\n$10000000\r\n", array("SET", mb)} {
			c := s.dial(t)
			wg.Go(func() { // 8 MB each, or as far as it gets
				_, err := io.WriteString(c, start)
				for i := 0; i < 8 && err == nil; i++ {
					_, err = io.WriteString(c, mb)
				}
				if err == nil {
					t.Errorf("%.20q: all was taken", start)
				}
			})
		}
	}
	wg.Wait()
	s.until(t, "all cut off", func() bool { return s.Clients() == 0 })
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapInuse) - int64(before.HeapInuse); grown > 16<<20 {
		t.Errorf("%d MB kept", grown>>20)
	}
}

func TestCrossProtocolRequestsGetNoReply(t *testing.T) {
	s := serve(t, "tcp", nil, Limits{}, nil)
	for _, in := range []string{
		"POST / HTTP/1.1\r\nHost: x\r\n\r\nPING\r\n", "post\r\nPING\r\n", "Host: x\r\nPING\r\n",
	} {
		if got := exchange(t, s.dial(t), in, manyBytes); got != "" {
			t.Errorf("%q: %q", in, got)
		}
	}
	got := exchange(t, s.dial(t), "GET / HTTP/1.1\r\nHost: x\r\n\r\nPING\r\n", manyBytes)
	if want := "-ERR unexpected in this test\r\n"; got != want {
		t.Errorf("GET: %q, want %q", got, want)
	}
	if n := s.handled.Load(); n != 1 {
		t.Errorf("%d commands were run, want 1", n)
	}
	s.until(t, "counted", func() bool { return s.count(CauseCrossProtocol) == 4 })
}

// TestAnErrorIsReadBeforeTheEnd has bytes behind the error that nobody reads: with
// them, closing at once would be a reset.
func TestAnErrorIsReadBeforeTheEnd(t *testing.T) {
	s := serve(t, "tcp", nil, Limits{}, nil)
	c := s.dial(t)
	if _, err := io.WriteString(c, "*x\r\n"+strings.Repeat("x", 100_000)); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(c)
	if want := "-ERR Protocol error: invalid multibulk length\r\n"; string(got) != want || err != nil {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

// TestResetsLeaveNothing opens and resets fifty thousand connections, each in the middle
// of a SET.
func TestResetsLeaveNothing(t *testing.T) {
	s := serve(t, "tcp", nil, Limits{}, nil)
	const rounds, atOnce = 250, 200
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for range rounds {
		var wg sync.WaitGroup
		for range atOnce {
			wg.Go(func() {
				c, err := net.Dial("tcp", s.ln.Addr().String())
				if err != nil {
					t.Error(err)
					return
				}
				io.WriteString(c, "*3\r\n$3\r\nSET\r\n$1\r\n")
				c.(*net.TCPConn).SetLinger(0)
				c.Close()
			})
		}
		wg.Wait()
	}
	s.until(t, "all are gone", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.Clients() == 0 && s.accepted > 0 && s.accepted == s.ended
	})
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapInuse) - int64(before.HeapInuse); grown > 16<<20 {
		t.Errorf("%d MB kept", grown>>20)
	}
}

// TestSingleBytesAreCheap holds G4: quadratic work would be 10^10 steps here.
func TestSingleBytesAreCheap(t *testing.T) {
	big := []byte(array("ECHO", strings.Repeat("x", 256<<10)))
	p := parser{limits: Limits{}.normal()}
	start := time.Now()
	for i := range big {
		p.feed(big[i:i+1], true)
	}
	if d := time.Since(start); p.done != len(big) || d > 5*time.Second {
		t.Errorf("%d of %d bytes came out in %v", p.done, len(big), d)
	}
}

func TestLargeCommandsAreAnswered(t *testing.T) {
	s := serve(t, "unix", nil, Limits{}, nil)
	c := s.dial(t)
	for _, size := range []int{0, 4000, 4096, 5000, 100_000, 512 << 10} {
		text := strings.Repeat("x", size)
		want := fmt.Sprintf("$%d\r\n%s\r\n", size, text)
		if got := exchange(t, c, array("ECHO", text), len(want)); got != want {
			t.Errorf("echo of %d bytes: %d bytes came back", size, len(got))
		}
	}
}

func TestPipelinesAreAnsweredInOrder(t *testing.T) {
	s := serve(t, "unix", nil, Limits{}, nil)
	var in, want strings.Builder
	for i := range 20_000 {
		in.WriteString(array("ECHO", fmt.Sprint(i)))
		fmt.Fprintf(&want, "$%d\r\n%d\r\n", len(fmt.Sprint(i)), i)
	}
	in.WriteString("*x\r\n")
	want.WriteString("-ERR Protocol error: invalid multibulk length\r\n")
	if got := exchange(t, s.dial(t), in.String(), 1<<20); got != want.String() {
		t.Errorf("%d bytes came back, want %d", len(got), want.Len())
	}
}
