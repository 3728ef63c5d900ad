package status

import (
	"context"
	"time"

	"redlockproxy/proxy/look"
)

// searchAge is how old the answer to a search may be. The page of every reader asks
// once in a while; together they cost the backends no more than one search in this time.
const searchAge = time.Second

// A search runs one search at a time, and gives its answer to all who wanted the same.
type search struct {
	locks func(ctx context.Context, part string) (look.Locks, error)

	turn  chan struct{} // holds one place, taken by whoever uses what follows
	part  string
	found look.Locks
	err   error
	until time.Time // when found is too old
}

func newSearch(locks func(context.Context, string) (look.Locks, error)) *search {
	return &search{locks: locks, turn: make(chan struct{}, 1)}
}

// find answers from what was found for the same part a moment ago, or searches. Who
// comes meanwhile waits: the number of connections to the admin address bounds how many.
func (s *search) find(ctx context.Context, part string) (look.Locks, error) {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return look.Locks{}, ctx.Err()
	}
	if s.part == part && time.Now().Before(s.until) {
		return s.found, s.err
	}
	if err := ctx.Err(); err != nil {
		return look.Locks{}, err
	}
	s.part = part
	s.found, s.err = s.locks(ctx, part)
	s.until = time.Now().Add(searchAge)
	if ctx.Err() != nil {
		s.until = time.Time{} // it failed because this one went away
	}
	return s.found, s.err
}
