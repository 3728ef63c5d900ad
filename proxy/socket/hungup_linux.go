package socket

import (
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// HungUp tells, without waiting, whether the other side has closed its end or the
// connection is broken. It asks the socket, so it sees this also behind bytes that
// nobody has read yet. A side that only shut down its sending counts as hung up. False
// may mean that nothing is known, or not yet. Any goroutine may call it.
func HungUp(c syscall.RawConn) bool {
	q := questions.Get().(*question)
	defer questions.Put(q)
	err := c.Control(q.ask)
	return err != nil || q.yes // an error: we have closed it ourselves
}

// A question is asked with memory that is used again: one comes with every lock.
type question struct {
	poll unix.PollFd
	yes  bool
	ask  func(fd uintptr)
}

var questions = sync.Pool{New: func() any {
	q := &question{}
	q.ask = q.put
	return q
}}

func (q *question) put(fd uintptr) {
	const gone = unix.POLLRDHUP | unix.POLLHUP | unix.POLLERR
	q.poll = unix.PollFd{Fd: int32(fd), Events: unix.POLLRDHUP}
	var noWait unix.Timespec
	n, errno := uintptr(0), syscall.EINTR
	for errno == syscall.EINTR { // by a signal, any number of times
		n, _, errno = syscall.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&q.poll)), 1, uintptr(unsafe.Pointer(&noWait)), 0, 0, 0)
	}
	q.yes = errno == 0 && n > 0 && q.poll.Revents&gone != 0
}
