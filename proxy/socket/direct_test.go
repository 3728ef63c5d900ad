//go:build linux

package socket

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for what must happen.
const patience = 20 * time.Second

// pair is a direct connection and the plain one at its other end.
func pair(t *testing.T, network string) (d, peer net.Conn) {
	t.Helper()
	addr := "127.0.0.1:0"
	if network == "unix" {
		addr = filepath.Join(t.TempDir(), "s")
	}
	ln, err := net.Listen(network, addr)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	c, err := net.Dial(network, ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if peer, err = ln.Accept(); err != nil {
		t.Fatal(err)
	}
	d = Direct(c)
	if d == c {
		t.Fatalf("a %s socket was returned as it is", network)
	}
	for _, c := range []net.Conn{d, peer} {
		_ = c.SetDeadline(time.Now().Add(patience))
		t.Cleanup(func() { _ = c.Close() })
	}
	return d, peer
}

// onBoth runs a test on TCP and on Unix sockets.
func onBoth(t *testing.T, test func(t *testing.T, d, peer net.Conn)) {
	for _, network := range []string{"tcp", "unix"} {
		t.Run(network, func(t *testing.T) {
			d, peer := pair(t, network)
			test(t, d, peer)
		})
	}
}

func TestBytesArriveWholeAndInOrder(t *testing.T) {
	onBoth(t, func(t *testing.T, d, peer net.Conn) {
		sent := make([]byte, 8<<20) // many times what a socket's buffer holds
		_, _ = rand.Read(sent)
		go func() { _, _ = io.Copy(peer, peer) }() // ends with the connection
		written := make(chan error, 1)
		go func() {
			n, err := d.Write(sent)
			if err == nil && n != len(sent) {
				err = io.ErrShortWrite
			}
			written <- err
		}()
		got := make([]byte, len(sent))
		if _, err := io.ReadFull(d, got); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, sent) {
			t.Fatal("what came back is not what was sent")
		}
		if err := <-written; err != nil {
			t.Fatal(err)
		}
	})
}

func TestReadTakesWhatIsThere(t *testing.T) {
	onBoth(t, func(t *testing.T, d, peer net.Conn) {
		_, _ = peer.Write([]byte("abc"))
		b := make([]byte, 10)
		if n, err := d.Read(b); n != 3 || err != nil || string(b[:n]) != "abc" {
			t.Fatalf("read %d, %v: %q", n, err, b[:n])
		}
		_ = peer.Close()
		if n, err := d.Read(b); n != 0 || err != io.EOF {
			t.Fatalf("read %d, %v after the end; want 0, EOF", n, err)
		}
	})
}

func TestNothingIsMovedWithoutRoom(t *testing.T) {
	onBoth(t, func(t *testing.T, d, peer net.Conn) {
		if n, err := d.Read(nil); n != 0 || err != nil {
			t.Errorf("an empty read: %d, %v", n, err)
		}
		if n, err := d.Write(nil); n != 0 || err != nil {
			t.Errorf("an empty write: %d, %v", n, err)
		}
	})
}

func TestDeadlinesEndWaits(t *testing.T) {
	onBoth(t, func(t *testing.T, d, peer net.Conn) {
		_ = d.SetDeadline(time.Now().Add(time.Millisecond))
		if _, err := d.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("read: %v", err)
		}
		n, err := d.Write(make([]byte, 64<<20)) // the peer does not read
		if !errors.Is(err, os.ErrDeadlineExceeded) || n >= 64<<20 {
			t.Errorf("write: %d, %v", n, err)
		}
		var where *net.OpError
		if !errors.As(err, &where) || where.Op != "write" {
			t.Errorf("the error is %v, not one of writing", err)
		}
	})
}

func TestWriteNowTakesWhatFitsAndWaitsForNothing(t *testing.T) {
	onBoth(t, func(t *testing.T, d, peer net.Conn) {
		_ = d.SetWriteDeadline(time.Unix(1, 0)) // is not for it
		if n, err := WriteNow(d, []byte("first")); n != 5 || err != nil {
			t.Fatalf("%d, %v", n, err)
		}
		taken, tries := 0, 0
		for more := true; more && tries < 1000; tries++ { // the peer does not read, so the room comes to an end
			n, err := WriteNow(d, make([]byte, 64<<20))
			if err != nil {
				t.Fatal(err)
			}
			taken, more = taken+n, n > 0
		}
		if taken == 0 || tries == 1000 {
			t.Errorf("%d bytes in %d writes", taken, tries)
		}
		got := make([]byte, 5+taken)
		if _, err := io.ReadFull(peer, got); err != nil || string(got[:5]) != "first" {
			t.Errorf("%q, %v", got[:5], err)
		}
		if n, err := WriteNow(d, nil); n != 0 || err != nil {
			t.Errorf("nothing: %d, %v", n, err)
		}
		_ = d.Close()
		if n, err := WriteNow(d, []byte("x")); n != 0 || !errors.Is(err, net.ErrClosed) {
			t.Errorf("closed: %d, %v", n, err)
		}
	})
}

func TestCloseEndsAWait(t *testing.T) {
	onBoth(t, func(t *testing.T, d, peer net.Conn) {
		read := make(chan error, 1)
		go func() {
			_, err := d.Read(make([]byte, 1))
			read <- err
		}()
		_ = d.Close()
		if err := <-read; !errors.Is(err, net.ErrClosed) {
			t.Errorf("the read that waited: %v", err)
		}
		if _, err := d.Write([]byte("x")); !errors.Is(err, net.ErrClosed) {
			t.Errorf("a write afterwards: %v", err)
		}
	})
}

func TestABrokenConnectionIsAnError(t *testing.T) {
	onBoth(t, func(t *testing.T, d, peer net.Conn) {
		_ = peer.Close()
		var err error
		for end := time.Now().Add(patience); err == nil && time.Now().Before(end); {
			_, err = d.Write([]byte("x")) // TCP learns of it by the answer to the first
		}
		if !errors.Is(err, syscall.EPIPE) && !errors.Is(err, syscall.ECONNRESET) {
			t.Fatalf("writing to nobody: %v", err)
		}
	})
}

func TestOtherConnectionsStayAsTheyAre(t *testing.T) {
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	if Direct(a) != a {
		t.Error("a connection that is no socket was changed")
	}
	if n, err := WriteNow(a, []byte("x")); n != 0 || err != nil {
		t.Errorf("WriteNow: %d, %v", n, err)
	}
}
