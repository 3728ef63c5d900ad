package quorum

import (
	"context"
	"sync/atomic"
	"time"
)

// turn makes transactions on the keys of one stripe commit one after the other. It is
// a courtesy among the clients of one group: nothing depends on it but that none of
// them loses to the others again and again until its time is up.
type turn struct {
	taken  chan struct{} // full while somebody has it; who waits gets it in order
	wanted atomic.Int32  // how many have it or wait for it
}

// turns are as many as there are order locks. Two keys that share one wait for each
// other's transactions, which costs time only where both are fought for.
type turns [stripes]turn

func (all *turns) init() {
	for i := range all {
		all[i].taken = make(chan struct{}, 1)
	}
}

// crowded tells whether anybody has or awaits one of these turns.
func (all *turns) crowded(some []int) bool {
	for _, s := range some {
		if all[s].wanted.Load() > 0 {
			return true
		}
	}
	return false
}

// take waits for all of these turns, which must be in rising order, so that no two
// that wait can wait for each other. It returns what gives them back; nil if ctx
// ended first, by its deadline too.
func (all *turns) take(ctx context.Context, some []int) (give func()) {
	var late <-chan time.Time
	if end, limited := ctx.Deadline(); limited {
		timer := time.NewTimer(time.Until(end))
		defer timer.Stop()
		late = timer.C
	}
	got := 0
	give = func() {
		for _, s := range some[:got] {
			<-all[s].taken
			all[s].wanted.Add(-1)
		}
	}
	for _, s := range some {
		all[s].wanted.Add(1)
		select {
		case all[s].taken <- struct{}{}:
			got++
			continue
		case <-late:
		case <-ctx.Done():
		}
		all[s].wanted.Add(-1)
		give()
		return nil
	}
	return give
}

// queue waits for the turn at the keys that the program has met, and reads them: what
// was known is old by then.
func (t *transaction) queue(ctx limited, v *View) error {
	if t.give = t.g.turns.take(ctx, t.g.stripesOf(v.touched)); t.give == nil {
		return unavailable(t.last)
	}
	return t.read(ctx, v.touched)
}

func (t *transaction) giveTurns() {
	if t.give != nil {
		t.give()
	}
}
