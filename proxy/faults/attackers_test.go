package faults_test

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"redlockproxy/proxy/redistest"
)

// again sends the same bytes until the time is up, with a pause between.
func again(b string, pause time.Duration) func(net.Conn, int, time.Time) error {
	return func(c net.Conn, _ int, until time.Time) error {
		for time.Now().Before(until) {
			if _, err := io.WriteString(c, b); err != nil {
				return err
			}
			time.Sleep(pause)
		}
		return nil
	}
}

// ask sends the same bytes, and waits for a reply each time, until the time is up.
func ask(b string) func(net.Conn, int, time.Time) error {
	return func(c net.Conn, _ int, until time.Time) error {
		reply := make([]byte, 4096)
		for time.Now().Before(until) {
			if _, err := io.WriteString(c, b); err != nil {
				return err
			}
			if _, err := c.Read(reply); err != nil {
				return err
			}
		}
		return nil
	}
}

// after sends some bytes first.
func after(b string, do func(net.Conn, int, time.Time) error) func(net.Conn, int, time.Time) error {
	return func(c net.Conn, i int, until time.Time) error {
		if _, err := io.WriteString(c, b); err != nil {
			return err
		}
		return do(c, i, until)
	}
}

// reading does something and takes all replies meanwhile.
func reading(do func(net.Conn, int, time.Time) error) func(net.Conn, int, time.Time) error {
	return func(c net.Conn, i int, until time.Time) error {
		var reader sync.WaitGroup
		reader.Go(func() { _, _ = io.Copy(io.Discard, c) }) // until the connection ends
		err := do(c, i, until)
		_ = c.Close()
		reader.Wait()
		return err
	}
}

func wait(c net.Conn, _ int, until time.Time) error {
	_ = c.SetReadDeadline(until)
	_, err := io.Copy(io.Discard, c)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil
	}
	if err == nil {
		err = io.EOF
	}
	return err
}

func array(args ...string) string { return string(redistest.Encode(args...)) }

// hugeThenSilent sends a huge command, some clients after the others, and keeps quiet
// when it has its reply: nothing may be kept for it.
func hugeThenSilent(huge string) func(net.Conn, int, time.Time) error {
	return func(c net.Conn, number int, until time.Time) error {
		time.Sleep(time.Duration(number) * 5 * time.Millisecond)
		return after(huge, wait)(c, number, until)
	}
}

// manyScripts are all different, so that each is compiled and kept.
func manyScripts(c net.Conn, number int, until time.Time) error {
	filler := strings.Repeat("local a = 1 ", 1000)
	for i := 0; time.Now().Before(until); i++ {
		if _, err := io.WriteString(c, array("EVAL", fmt.Sprintf("return %d -- %d\n%s", number, i, filler), "0")); err != nil {
			return err
		}
	}
	return nil
}

// garbage are bytes by chance, with what the protocol is made of among them.
func garbage(c net.Conn, number int, until time.Time) error {
	r := rand.New(rand.NewPCG(uint64(number), 0))
	pieces := []string{"*", "$", "\r\n", "-1", "3", "99999999999", "SET", "\x00", "\xff", " ", "\"", "*1\r\n$4\r\nPING\r\n", "EVAL"}
	for time.Now().Before(until) {
		var b strings.Builder
		for range 100 {
			b.WriteString(pieces[r.IntN(len(pieces))])
		}
		if _, err := io.WriteString(c, b.String()); err != nil {
			return err
		}
		time.Sleep(time.Millisecond)
	}
	return nil
}

// strangers try to log in, and send what is large before they are in. Who is cut off
// comes again.
func strangers(huge string) func(net.Conn, int, time.Time) error {
	texts := []string{
		array("AUTH", "wrong"), array("HELLO", "3", "AUTH", "default", "wrong"),
		array("AUTH", huge), array("HELLO", "3", "AUTH", "default", huge), array("SET", "k", huge, "NX"),
	}
	return func(c net.Conn, number int, until time.Time) error {
		try := reading(again(texts[number%len(texts)], 5*time.Millisecond))
		_ = try(c, number, until)
		for time.Now().Before(until) {
			next, err := net.DialTimeout("tcp", c.RemoteAddr().String(), time.Second)
			if err != nil {
				return err
			}
			_ = next.SetDeadline(until.Add(time.Second))
			_ = try(next, number, until)
		}
		return nil
	}
}

// resets opens connection after connection and resets each in the middle of a SET.
func resets(c net.Conn, _ int, until time.Time) error {
	for time.Now().Before(until) {
		conn, err := net.Dial("tcp", c.RemoteAddr().String())
		if err != nil {
			return err
		}
		_, _ = io.WriteString(conn, "*3\r\n$3\r\nSET\r\n$1\r\n")
		_ = conn.(*net.TCPConn).SetLinger(0)
		_ = conn.Close()
	}
	return nil
}
