// Package turnstile lets work that takes much of a processor through a little at a
// time, so that work that takes little is not kept waiting by it.
//
// Go's scheduler treats all goroutines alike: one that computes runs for a hundredth of
// a second before it has to make room, and whether sockets have something new is hardly
// looked at while any can run. The votes on a lock take several turns of the scheduler.
// With a hundred clients that never stop sending, or a script that computes for as long
// as it may, each of those turns would be late, and the lock be lost to the time limits
// of its votes.
package turnstile

import (
	"context"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// pollEvery is the time between two occasions on which the scheduler is made to look
// whether sockets have something new.
const pollEvery = time.Millisecond

// A Turnstile has a few places for those who compute for long. The others wait, in the
// order in which they came.
type Turnstile struct {
	places chan struct{}
	bell   *bell
	start  time.Time
	polled atomic.Int64 // when the scheduler was last made to look, in nanoseconds from start
}

// New makes a turnstile with a number of places, ≥ 1.
func New(places int) *Turnstile {
	return &Turnstile{places: make(chan struct{}, places), bell: theBell(), start: time.Now()}
}

// Enter waits for a place. It returns false if ctx was done before there was one.
func (t *Turnstile) Enter(ctx context.Context) bool {
	select {
	case t.places <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// Leave gives the place back.
func (t *Turnstile) Leave() { <-t.places }

// Inside is how many have a place now.
func (t *Turnstile) Inside() int { return len(t.places) }

// Rest lets everybody else go first. Who has a place is to call it every tenth of a
// millisecond or so.
func (t *Turnstile) Rest() {
	now, last := int64(time.Since(t.start)), t.polled.Load()
	if now-last >= int64(pollEvery) && t.polled.CompareAndSwap(last, now) {
		t.bell.ring()
	}
	runtime.Gosched()
}

// Pass waits for a place and gives it back after a rest: what the caller does until it
// calls it again is what it may do at a time.
func (t *Turnstile) Pass() {
	t.places <- struct{}{}
	t.Rest()
	t.Leave()
}

// A bell is a pipe to oneself. The scheduler looks at sockets, pipes and the like when
// nobody can run, and one who waits for what was just written to a pipe can't. To sleep
// would do the same, but for a millisecond or more where there is nobody else.
type bell struct {
	in  *os.File
	out syscall.RawConn
}

// theBell is that of the process, and stays open. Without one, nil, the scheduler looks
// when it does by itself.
var theBell = sync.OnceValue(func() *bell {
	out, in, err := os.Pipe()
	if err != nil {
		return nil
	}
	raw, err := out.SyscallConn()
	if err != nil || out.SetReadDeadline(time.Time{}) != nil {
		return nil // the scheduler does not look at this one
	}
	return &bell{in: in, out: raw}
})

// ring returns when the scheduler has looked.
func (b *bell) ring() {
	if b == nil {
		return
	}
	rung := false
	// Read calls again when the pipe has something, and to find that out it waits.
	_ = b.out.Read(func(fd uintptr) (done bool) {
		if !rung {
			rung = true
			_, err := b.in.Write([]byte{0})
			return err != nil
		}
		_, _ = syscall.Read(int(fd), make([]byte, 1))
		return true
	})
}
