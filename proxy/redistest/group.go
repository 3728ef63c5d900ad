package redistest

import (
	"errors"
	"sync"
	"testing"
)

// Group is a set of independent servers.
type Group []*Server

// StartGroup starts n servers at the same time.
func StartGroup(tb testing.TB, n int, opts ...Option) Group {
	tb.Helper()
	group := make(Group, n)
	errs := make([]error, n)
	var starts sync.WaitGroup
	for i := range group {
		starts.Go(func() { group[i], errs[i] = start(tb, opts) })
	}
	starts.Wait()
	if err := errors.Join(errs...); err != nil {
		tb.Fatal(err)
	}
	return group
}

// Addrs are the servers' addresses, in order.
func (g Group) Addrs() []string {
	addrs := make([]string, len(g))
	for i, s := range g {
		addrs[i] = s.Addr()
	}
	return addrs
}

// Holding is the number of servers that hold the key, whatever its type.
// All servers of the group must be running.
func (g Group) Holding(key string) int {
	n := 0
	for _, s := range g {
		s.tb.Helper()
		if s.MustDo("EXISTS", key) == int64(1) {
			n++
		}
	}
	return n
}
