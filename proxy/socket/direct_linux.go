package socket

import (
	"io"
	"net"
	"os"
	"syscall"
	"unsafe"
)

// Direct returns c with a Read and a Write whose system calls are not announced to the
// scheduler. Waiting, deadlines, closing and errors are those of c. Read may be used by
// one goroutine at a time, and so may Write; a net.Conn is less particular.
//
// What is not a plain TCP or Unix socket is returned as it is, and so are all
// connections where the operating system is not Linux.
func Direct(c net.Conn) net.Conn {
	var raw syscall.RawConn
	var err error
	switch s := c.(type) {
	case *net.TCPConn:
		raw, err = s.SyscallConn()
	case *net.UnixConn:
		raw, err = s.SyscallConn()
	}
	if raw == nil || err != nil {
		return c // an error: it is closed already, which its user will find out
	}
	d := &direct{Conn: c, raw: raw}
	d.in.once, d.out.once = d.in.read, d.out.write
	once := func(fd uintptr) { d.out.write(fd) }
	d.atOnce = func(func(uintptr) bool) error { return raw.Control(once) }
	return d
}

type direct struct {
	net.Conn
	raw     syscall.RawConn
	in, out transfer
	atOnce  func(func(uintptr) bool) error // calls out.write once, whatever comes of it
}

// SyscallConn implements syscall.Conn.
func (d *direct) SyscallConn() (syscall.RawConn, error) { return d.raw, nil }

// WriteNow writes what the buffer of c's socket takes at once, without waiting, and
// returns how much that was; c's deadlines have no part in it. Like Write it is for one
// goroutine at a time. To what Direct has not made it writes nothing.
func WriteNow(c net.Conn, b []byte) (int, error) {
	d, ok := c.(*direct)
	if !ok || len(b) == 0 {
		return 0, nil
	}
	return d.out.run("write", b, d.LocalAddr(), d.atOnce)
}

// A transfer is one Read or Write under way. It is kept with its connection, because a
// new closure for each call would have to be allocated.
type transfer struct {
	b     []byte
	n     int // bytes moved
	errno syscall.Errno
	once  func(fd uintptr) (done bool) // read or write, as syscall.RawConn wants it
}

// run moves bytes of b; through is the raw connection's Read or Write, which waits
// and calls again when once could do nothing yet.
func (t *transfer) run(op string, b []byte, local net.Addr, through func(func(uintptr) bool) error) (int, error) {
	t.b, t.n, t.errno = b, 0, 0
	err := through(t.once)
	t.b = nil
	if err == nil && t.errno != 0 {
		err = os.NewSyscallError(op, t.errno)
	}
	if err == nil {
		return t.n, nil
	}
	if trouble, ok := err.(*net.OpError); ok {
		trouble.Op = op // it says "raw-read" and the like
		return t.n, trouble
	}
	return t.n, &net.OpError{Op: op, Net: local.Network(), Addr: local, Err: err}
}

// Read implements net.Conn.
func (d *direct) Read(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	n, err := d.in.run("read", b, d.LocalAddr(), d.raw.Read)
	if n == 0 && err == nil {
		err = io.EOF
	}
	return n, err
}

// Write implements net.Conn.
func (d *direct) Write(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	return d.out.run("write", b, d.LocalAddr(), d.raw.Write)
}

// read takes what has arrived.
func (t *transfer) read(fd uintptr) (done bool) {
	n, errno := call(syscall.SYS_READ, fd, t.b)
	if errno == syscall.EAGAIN {
		return false
	}
	t.n, t.errno = n, errno
	return true
}

// write hands over all that the socket's buffer takes.
func (t *transfer) write(fd uintptr) (done bool) {
	for t.n < len(t.b) {
		n, errno := call(syscall.SYS_WRITE, fd, t.b[t.n:])
		if errno == syscall.EAGAIN {
			return false
		}
		if errno != 0 {
			t.errno = errno
			return true
		}
		t.n += n
	}
	return true
}

// call is read(2) or write(2) of at least one byte on a descriptor that does not
// block, which is what makes it right not to tell the scheduler.
func call(number, fd uintptr, b []byte) (int, syscall.Errno) {
	for {
		n, _, errno := syscall.RawSyscall(number, fd, uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)))
		switch errno {
		case 0:
			return int(n), 0
		case syscall.EINTR: // by a signal, any number of times
		default:
			return 0, errno
		}
	}
}
