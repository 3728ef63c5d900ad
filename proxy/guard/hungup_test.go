package guard

import (
	"crypto/tls"
	"io"
	"net"
	"testing"

	"github.com/tidwall/redcon"
)

// TestHungUpIsSeen lets a client send a command and leave while it is handled.
func TestHungUpIsSeen(t *testing.T) {
	config, client := certificates(t)
	leave := map[string]func(net.Conn){
		"close": func(c net.Conn) { c.Close() },
		"reset": func(c net.Conn) {
			if tcp, ok := c.(*net.TCPConn); ok {
				tcp.SetLinger(0)
			}
			c.Close()
		},
		"close with more sent": func(c net.Conn) { io.WriteString(c, "PING\r\n"); c.Close() },
	}
	for name, leave := range leave {
		for _, network := range []string{"tcp", "unix", "tls"} {
			t.Run(name+" "+network, func(t *testing.T) {
				handling, left := make(chan *Conn, 2), make(chan bool)
				handle := func(c *Conn, _ redcon.Conn, _ [][]byte) {
					handling <- c
					<-left
				}
				var s *served
				var conn net.Conn
				if network == "tls" {
					s = serve(t, "tcp", config, Limits{}, handle)
					conn = tls.Client(s.dial(t), client)
				} else {
					s = serve(t, network, nil, Limits{}, handle)
					conn = s.dial(t)
				}
				t.Cleanup(func() { close(left) })
				io.WriteString(conn, "SET k v\r\n")
				c := <-handling
				if c.HungUp() {
					t.Error("hung up before it did")
				}
				leave(conn)
				s.until(t, "hung up", c.HungUp)
			})
		}
	}
}

func TestPresentClientsHaveNotHungUp(t *testing.T) {
	seen := make(chan bool, 1)
	proceed := make(chan struct{})
	s := serve(t, "tcp", nil, Limits{}, func(c *Conn, to redcon.Conn, _ [][]byte) {
		<-proceed
		seen <- c.HungUp()
		to.WriteString("OK")
	})
	c := s.dial(t)
	io.WriteString(c, "SET k v\r\n")
	s.until(t, "handled", func() bool { return s.handled.Load() == 1 })
	io.WriteString(c, "PING\r\n") // unread while HungUp looks
	close(proceed)
	if <-seen {
		t.Error("a client with a second request has hung up")
	}
}

func TestConnectionsWeClosedHaveHungUp(t *testing.T) {
	conns := make(chan *Conn, 1)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := Listen(ln, Limits{}, Hooks{})
	defer l.Close()
	go func() {
		if c, err := l.Accept(); err == nil {
			conns <- c.(*Conn)
		}
	}()
	client, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	c := <-conns
	if c.HungUp() {
		t.Error("hung up while open")
	}
	c.Close()
	if !c.HungUp() {
		t.Error("not hung up when closed")
	}
}
