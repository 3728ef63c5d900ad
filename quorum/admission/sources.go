package admission

import (
	"context"
	"sync"
	"time"

	"redlockproxy/quorum"
)

// origin says from whom a backend is refilled.
type origin int

const (
	fromVoters  origin = iota // those that vote about everything
	fromLockers               // those that vote about locks: it will be one of them
	fromNobody                // all locks of before are over: the same
	fromAll                   // every other backend, voter or not: nobody can tell more
)

// role is what the refilled backend is then.
func (o origin) role() Role {
	if o == fromLockers || o == fromNobody {
		return Locker
	}
	return Voter
}

// takes tells whether a backend is a source.
func (o origin) takes(look Look) bool {
	switch o {
	case fromVoters:
		return look.Counts()
	case fromLockers:
		return look.Votes()
	case fromAll:
		return look.Connected
	}
	return false
}

// source is a backend that a learner is refilled from.
type source struct {
	Member
	text string // its marker: while this stays, it has forgotten nothing
}

// needed is how many of the other backends must be read. Any that may have been
// granted with the lost vote is on Q-1 of the N-1 others, so on one of these.
func (r *refill) needed() int {
	switch r.from {
	case fromAll:
		return len(r.members) - 1
	case fromNobody:
		return 0
	}
	return enough(len(r.members))
}

// enough is how many other backends of a group of n must be read in order to meet
// whatever may have been granted with a lost vote.
func enough(n int) int { return n - quorum.Majority(n) + 1 }

// findSources picks the backends to read from, and makes the quiet period as long as
// any proxy that they have met needs it.
func (r *refill) findSources(ctx context.Context) error {
	if err := r.refreshSources(ctx); err != nil {
		return err
	}
	final := Marker{Identity: r.rule.Identity, Role: r.from.role(), RunID: r.members[r.index].Look().RunID, Token: newToken(), Quiet: r.quiet}
	r.admitted = final.String()
	r.quiet += r.quiet/10 + 10*time.Millisecond // clocks differ
	return nil
}

// refreshSources takes every backend that votes by now for a source.
func (r *refill) refreshSources(ctx context.Context) error {
	r.sources = map[int]source{}
	for i, m := range r.members {
		look := m.Look()
		if i == r.index || !r.from.takes(look) {
			continue
		}
		text, err := marker(ctx, m)
		if err != nil {
			continue // one that can't be read is none
		}
		mark, standing := r.rule.other(i).Judge(text, look.RunID)
		if standing != Admitted && standing != Locking && standing != Brief && r.from != fromAll {
			continue
		}
		r.quiet = max(r.quiet, mark.Quiet)
		r.sources[i] = source{m, text}
	}
	if len(r.sources) < r.needed() {
		return errFew
	}
	return nil
}

// other is the rule for the backend with that index.
func (r Rule) other(index int) Rule {
	r.Place = index + 1
	return r
}

// unsound tells whether what was read of a source may be wrong, because its clock has
// jumped, so that locks ended there too soon, or because it has evicted some, or was a
// replica; the marker knows nothing of any of these. Each answer to Ask comes with a look
// at the clock. Where nobody can tell more, it is read all the same.
func (r *refill) unsound(s source) bool {
	look := s.Look()
	return r.from != fromAll && (look.Jumped || look.lost())
}

// readSources reads keys on all sources at once. A source that can't be read, has lost
// its marker meanwhile, or has a clock that jumped is a source no more.
func (r *refill) readSources(ctx context.Context, keys []quorum.Key) ([][]quorum.Held, error) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	var reads [][]quorum.Held
	var lost []int
	for i, s := range r.sources {
		wg.Go(func() {
			held, text, err := read(ctx, s, keys)
			mu.Lock()
			defer mu.Unlock()
			if err != nil || text != s.text || r.unsound(s) {
				lost = append(lost, i)
				return
			}
			reads = append(reads, held)
		})
	}
	wg.Wait()
	for _, i := range lost {
		delete(r.sources, i)
	}
	if len(reads) < r.needed() {
		return nil, errFew
	}
	return reads, nil
}

// fillFromSources settles every key that enough sources have to the end.
func (r *refill) fillFromSources(ctx context.Context) error {
	scanned := 0
	for i := range r.members { // in order, so that a simulation repeats
		s, ok := r.sources[i]
		if !ok {
			continue
		}
		if err := r.fill(ctx, i); err == nil {
			if text, err := marker(ctx, s); err == nil && text == s.text && !r.unsound(s) {
				scanned++
			}
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	if scanned < r.needed() {
		return errFew
	}
	return nil
}
