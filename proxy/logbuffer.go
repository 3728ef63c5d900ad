package proxy

import (
	"bytes"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// logWaiting is how many bytes of log lines may wait to be written, some five
	// thousand lines. More are dropped and counted: a slow reader of the log must not
	// slow a reply, nor fill the memory.
	logWaiting = 1 << 20

	// logInterval is how long a log line may wait for others, and logChunk how many
	// bytes need not wait longer. A system call for each line, and waking the writer
	// for it, would cost more than the line.
	logInterval = 10 * time.Millisecond
	logChunk    = 64 << 10
)

// A logBuffer gathers log lines and writes them, many at a time, from a goroutine of
// its own. Write never waits for the reader of the log.
type logBuffer struct {
	out     io.Writer
	dropped atomic.Int64 // lines

	mu      sync.Mutex
	waiting []byte // whole lines, at most logWaiting
	spare   []byte // the memory of what was written last
	closed  bool

	some chan struct{} // holds one: something waits
	much chan struct{} // holds one: logChunk waits, or the buffer is closed
	done chan struct{}
}

func newLogBuffer(out io.Writer) *logBuffer {
	b := &logBuffer{
		out:  out,
		some: make(chan struct{}, 1),
		much: make(chan struct{}, 1),
		done: make(chan struct{}),
	}
	go b.run()
	return b
}

// Write takes a line on, or drops it. It implements io.Writer, without an error: there
// is nobody to tell.
func (b *logBuffer) Write(line []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed || len(b.waiting)+len(line) > logWaiting {
		b.dropped.Add(1)
		return len(line), nil
	}
	before := len(b.waiting)
	b.waiting = append(b.waiting, line...)
	if before == 0 {
		signal(b.some)
	}
	if before < logChunk && len(b.waiting) >= logChunk {
		signal(b.much)
	}
	return len(line), nil
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default: // there is one already
	}
}

// Close writes what waits, and waits for that. Lines that come later are dropped.
func (b *logBuffer) Close() error {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	signal(b.some)
	signal(b.much)
	<-b.done
	return nil
}

func (b *logBuffer) run() {
	defer close(b.done)
	timer := time.NewTimer(logInterval)
	for last := false; !last; {
		<-b.some
		timer.Reset(logInterval)
		select {
		case <-timer.C:
		case <-b.much:
		}
		last = b.flush()
	}
}

// flush writes what waits and tells whether nothing will follow.
func (b *logBuffer) flush() (last bool) {
	b.mu.Lock()
	lines := b.waiting
	b.waiting, b.spare = b.spare[:0], nil
	last = b.closed
	b.mu.Unlock()
	if len(lines) > 0 {
		_, _ = b.out.Write(lines) // there is nowhere to report an error
	}
	if cap(lines) <= 2*logChunk { // what a slow reader has let grow is given back
		b.mu.Lock()
		b.spare = lines
		b.mu.Unlock()
	}
	return last
}

// A perLine hands lines on one by one, to a writer that must have them so.
type perLine struct{ out io.Writer }

func (w perLine) Write(lines []byte) (int, error) {
	for line := range bytes.Lines(lines) {
		if _, err := w.out.Write(line); err != nil {
			return 0, err
		}
	}
	return len(lines), nil
}
