package guard

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// HungUp tells, without waiting, whether the client has closed its end or the
// connection is broken: then a reply would reach nobody. It asks the socket, so
// it sees this also behind bytes that nobody has read yet, TLS's goodbye among
// them. A client that only shut down its sending side counts as hung up. False
// may mean that nothing is known, or not yet.
func (c *Conn) HungUp() bool {
	socket, ok := c.raw.(syscall.Conn)
	if !ok {
		return false
	}
	conn, err := socket.SyscallConn()
	if err != nil {
		return false
	}
	const gone = unix.POLLRDHUP | unix.POLLHUP | unix.POLLERR
	hungUp := false
	err = conn.Control(func(fd uintptr) {
		poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}
		n, err := unix.Poll(poll, 0)
		hungUp = err == nil && n > 0 && poll[0].Revents&gone != 0
	})
	return hungUp || err != nil // an error: we have closed it ourselves
}
