package guard

import (
	"crypto/tls"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/tidwall/redcon"
)

// One who sends more than a buffer takes waits for its turn between one buffer and the
// next, and others are served meanwhile.
func TestWhoSendsMuchWaitsForItsTurnAndOthersDoNot(t *testing.T) {
	s := serve(t, "tcp", nil, Limits{}, nil)
	letGo := takePlaces(t, s)
	ping := array("PING")
	pings := 2 * readBytes / len(ping)
	much := s.dial(t)
	got := make(chan string, 1)
	go func() { got <- exchange(t, much, strings.Repeat(ping, pings), pings*len("+PONG\r\n")) }()
	s.until(t, "its first buffer is served", func() bool { return s.handled.Load() > 0 })
	pingOthers(t, s)
	if n := s.handled.Load(); n > int64(readBytes/len(ping))+others {
		t.Errorf("%d commands were served", n)
	}
	letGo()
	if reply := <-got; reply != strings.Repeat("+PONG\r\n", pings) {
		t.Errorf("%d bytes of replies", len(reply))
	}
}

// A record of TLS for each command is the least that a read may give.
func TestWhoSendsManyRecordsWaitsForItsTurn(t *testing.T) {
	config, client := certificates(t)
	s := serve(t, "tcp", config, Limits{}, nil)
	sock := &hoard{Conn: s.dial(t)}
	much := tls.Client(sock, client)
	if reply := exchange(t, much, array("PING"), 7); reply != "+PONG\r\n" { // with the handshake
		t.Fatalf("%q", reply)
	}
	letGo := takePlaces(t, s)
	const pings = 500
	sock.hold = true
	for range pings {
		if _, err := io.WriteString(much, array("PING")); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := sock.Conn.Write(sock.held); err != nil {
		t.Fatal(err)
	}
	s.until(t, "some are served", func() bool { return s.handled.Load() > 1 })
	for range others {
		c := tls.Client(s.dial(t), client)
		if reply := exchange(t, c, array("PING"), 7); reply != "+PONG\r\n" {
			t.Errorf("another client: %q", reply)
		}
	}
	if n := s.handled.Load(); n > pings/2 {
		t.Errorf("%d commands were served", n)
	}
	letGo()
	if reply := exchange(t, much, "", pings*7); reply != strings.Repeat("+PONG\r\n", pings) {
		t.Errorf("%d bytes of replies", len(reply))
	}
}

// A hoard keeps what is written to it.
type hoard struct {
	net.Conn
	hold bool
	held []byte
}

func (h *hoard) Write(b []byte) (int, error) {
	if !h.hold {
		return h.Conn.Write(b)
	}
	h.held = append(h.held, b...)
	return len(b), nil
}

func TestWhoIsSentMuchWaitsForItsTurnAndOthersDoNot(t *testing.T) {
	const size = len("$16384\r\n\r\n") + turnBytes
	s := serve(t, "tcp", nil, Limits{}, func(c *Conn, to redcon.Conn, args [][]byte) {
		if string(args[0]) == "MUCH" {
			to.WriteBulk(make([]byte, turnBytes))
			return
		}
		answer(c, to, args)
	})
	letGo := takePlaces(t, s)
	much := s.dial(t)
	if reply := exchange(t, much, array("MUCH"), size); len(reply) != size {
		t.Fatalf("%d bytes of a reply", len(reply))
	}
	got := make(chan string, 1)
	go func() { got <- exchange(t, much, array("MUCH"), size) }()
	pingOthers(t, s)
	if n := s.handled.Load(); n != 1+others {
		t.Errorf("%d commands were served", n)
	}
	letGo()
	if reply := <-got; len(reply) != size {
		t.Errorf("%d bytes of the next reply", len(reply))
	}
}

// others is how many clients pingOthers is.
const others = 5

// pingOthers has other clients be served.
func pingOthers(t *testing.T, s *served) {
	t.Helper()
	for range others {
		if reply := exchange(t, s.dial(t), array("PING"), 7); reply != "+PONG\r\n" {
			t.Errorf("another client: %q", reply)
		}
	}
}

// takePlaces takes all places of the turnstile, and returns how to give them back before
// the test ends.
func takePlaces(t *testing.T, s *served) (letGo func()) {
	t.Helper()
	places := runtime.GOMAXPROCS(0)
	for range places {
		s.turns.Enter(t.Context())
	}
	letGo = sync.OnceFunc(func() {
		for range places {
			s.turns.Leave()
		}
	})
	t.Cleanup(letGo)
	return letGo
}
