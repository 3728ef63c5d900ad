package guard

import (
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/tidwall/redcon"
	"golang.org/x/sys/unix"
)

// A client whose machine vanished is found by TCP itself, since silence is allowed.
func TestVanishedClientsAreProbedByTCP(t *testing.T) {
	found := make(chan map[string]int, 1)
	s := serve(t, "tcp", nil, Limits{KeepAlive: 6 * time.Second}, func(c *Conn, out redcon.Conn, _ [][]byte) {
		found <- keepAlive(t, c)
		out.WriteString("OK")
	})
	c := s.dial(t)
	if _, err := c.Write([]byte(array("PING"))); err != nil {
		t.Fatal(err)
	}
	got := <-found
	for name, want := range map[string]int{"on": 1, "idle": 6, "interval": 2, "count": 3} {
		if got[name] != want {
			t.Errorf("%s: %d, want %d", name, got[name], want)
		}
	}
}

// keepAlive is how the kernel probes the other end, in seconds.
func keepAlive(t *testing.T, c *Conn) map[string]int {
	raw, err := c.raw.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Error(err)
		return nil
	}
	set := map[string]int{}
	err = raw.Control(func(fd uintptr) {
		for name, option := range map[string][2]int{
			"on":       {syscall.SOL_SOCKET, syscall.SO_KEEPALIVE},
			"idle":     {syscall.IPPROTO_TCP, unix.TCP_KEEPIDLE},
			"interval": {syscall.IPPROTO_TCP, unix.TCP_KEEPINTVL},
			"count":    {syscall.IPPROTO_TCP, unix.TCP_KEEPCNT},
		} {
			if set[name], err = unix.GetsockoptInt(int(fd), option[0], option[1]); err != nil {
				t.Error(err)
			}
		}
	})
	if err != nil {
		t.Error(err)
	}
	return set
}
