package redistest

import (
	"net"
	"strconv"
	"testing"
)

func TestFreeAddrIsOneThatNoConnectionIsGivenMeanwhile(t *testing.T) {
	addr := FreeAddr(t)
	_, text, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	if port, err := strconv.Atoi(text); err != nil || port < lowestPort || port > highestPort() {
		t.Errorf("port %s, %v; wanted %d to %d", text, err, lowestPort, highestPort())
	}
	for range 2 { // a server comes, goes, and comes back
		l, err := net.Listen("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
