package guard

import (
	"bytes"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/tidwall/redcon"
)

func BenchmarkHungUp(b *testing.B) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	l := Listen(ln, Limits{}, Hooks{})
	defer l.Close()
	client, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	defer client.Close()
	c, err := l.Accept()
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	b.ReportAllocs()
	for b.Loop() {
		if c.(*Conn).HungUp() {
			b.Fatal("hung up")
		}
	}
}

// BenchmarkParse is the guard's own work for a pipeline of SETs.
func BenchmarkParse(b *testing.B) {
	chunk := []byte(strings.Repeat(array("SET", "lock:1234", "0123456789abcdef", "NX", "PX", "30000"), 40))
	p := parser{limits: Limits{}.normal()}
	dst := make([]byte, 4096)
	b.SetBytes(int64(len(chunk)))
	b.ReportAllocs()
	for b.Loop() {
		p.feed(chunk, true)
		for p.take(dst) > 0 {
		}
	}
}

// BenchmarkLargeCommand is redcon's reader on a command of 1 MiB that the guard
// hands over: its rescanning must stay linear.
func BenchmarkLargeCommand(b *testing.B) {
	for name, text := range map[string]string{
		"two bulks":  array("SET", strings.Repeat("x", 500<<10), strings.Repeat("x", 500<<10)),
		"1024 bulks": array(strings.Split(strings.Repeat(strings.Repeat("x", 1000)+" ", 1023)+"x", " ")...),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				fake := &fakeConn{chunks: [][]byte{[]byte(text)}}
				c := newConn(Listen(nil, Limits{}, Hooks{}), fake)
				if _, err := redcon.NewReader(c).ReadCommand(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkPipeline is redcon with and without the guard, over a socket.
func BenchmarkPipeline(b *testing.B) {
	for _, guarded := range []bool{false, true} {
		b.Run(map[bool]string{false: "bare", true: "guarded"}[guarded], func(b *testing.B) {
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				b.Fatal(err)
			}
			if guarded {
				ln = Listen(ln, Limits{}, Hooks{})
			}
			done := make(chan error, 1)
			go func() {
				done <- redcon.Serve(ln, func(c redcon.Conn, _ redcon.Command) { c.WriteString("OK") }, nil, nil)
			}()
			defer func() { ln.Close(); <-done }()
			c, err := net.Dial("tcp", ln.Addr().String())
			if err != nil {
				b.Fatal(err)
			}
			defer c.Close()
			in := bytes.Repeat([]byte(array("SET", "lock:1234", "0123456789abcdef", "NX", "PX", "30000")), 16)
			got := make([]byte, 16*5)
			for b.Loop() {
				c.Write(in)
				if _, err := io.ReadFull(c, got); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
