package redistest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"syscall"
	"testing"
)

// Ports for servers and relays come from below the range in which the kernel
// hands out ports by itself. A server that is down for a while then finds its
// port free when it comes back, since neither a listener on port 0 nor an
// outgoing connection can have been given it; and a client that dials a port
// nobody listens on can't be connected to itself, which on loopback happens
// when the port it dials is given to it as its own.
const (
	lowestPort       = 10240
	usualDynamicPort = 32768 // the lowest dynamic port of a Linux without settings of its own
	portTries        = 50    // random picks before giving up; one in a few hundred is taken at worst
)

// highestPort is the port just below the dynamic range.
func highestPort() int {
	text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err != nil {
		return usualDynamicPort - 1
	}
	var from, to int
	if _, err := fmt.Sscan(string(text), &from, &to); err != nil || from < lowestPort+1000 {
		return usualDynamicPort - 1
	}
	return from - 1
}

// listenBelowDynamic listens on a free port of 127.0.0.1 outside the dynamic range.
func listenBelowDynamic() (net.Listener, error) {
	highest := highestPort()
	var last error
	for range portTries {
		port := lowestPort + rand.IntN(highest-lowestPort+1)
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err == nil {
			return l, nil
		}
		if last = err; !errors.Is(err, syscall.EADDRINUSE) {
			break
		}
	}
	return nil, fmt.Errorf("no free port: %w", last)
}

// freePort is a port that was free a moment ago. Whoever takes it must be ready
// to find it taken, and ask again.
func freePort() (int, error) {
	l, err := listenBelowDynamic()
	if err != nil {
		return 0, err
	}
	port := l.Addr().(*net.TCPAddr).Port
	return port, l.Close()
}

// FreeAddr is a host:port of 127.0.0.1 that nobody listens on, for a server that is
// to come back to the same address after it was away.
func FreeAddr(tb testing.TB) string {
	tb.Helper()
	port, err := freePort()
	if err != nil {
		tb.Fatal(err)
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
}
