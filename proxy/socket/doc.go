// Package socket moves bytes through a socket, and asks whether anybody is still there,
// at the least cost that Go's scheduler allows.
//
// The standard library announces each system call to the scheduler, so that others may
// use the processor if the call takes long. The sockets of Go never block, so a call is
// only long when the kernel is busy, and then the announcement makes things worse: the
// scheduler's monitor, which looks every 20 µs while calls are under way, takes the
// processor from the goroutine and wakes a thread to go on with another, each of which
// costs more than the call. For a proxy that does little else than to read and write
// small messages that was a sixth of its processor time.
//
// The package knows nothing of what the bytes mean.
package socket
