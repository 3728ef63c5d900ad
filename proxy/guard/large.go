package guard

import (
	"sync"
	"sync/atomic"
)

// large is the bytes of large commands that all clients of a Listener hold together:
// what each holds beyond keepBytes. A client whose commands are small holds none, so
// however much others send, it is never turned away for it.
type large struct {
	most  atomic.Int64
	bytes atomic.Int64
}

// A share is what one connection has of it.
type share struct {
	of *large

	mu    sync.Mutex
	bytes int64
	ended bool
}

// hold sets what the connection holds now. It reports whether that may be: less than
// before always may.
func (s *share) hold(bytes int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := int64(max(bytes-keepBytes, 0))
	if s.ended || now == s.bytes {
		return true
	}
	more := now - s.bytes
	s.bytes = now
	return s.of.bytes.Add(more) <= s.of.most.Load() || more < 0
}

// end gives all back for good. A Read that is still going on can't take it again.
func (s *share) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	s.of.bytes.Add(-s.bytes)
	s.bytes = 0
}
