package admission

import (
	"context"
	"hash/maphash"
	"sync"
	"time"

	"redlockproxy/quorum"
)

// Bounds of one refill.
const (
	// notes is how many keys of the learner's former life, and how many keys that are
	// done, are remembered, 16 and 8 bytes each. A key over the bound is looked at
	// again where it is met again, and a leftover over it stays until it expires.
	notes = 4 << 20

	// pageKeys is about how many keys are looked at in one request. Reading as many takes
	// a backend a millisecond or two, for which it answers nobody else.
	pageKeys = 500

	// tries bounds how often a key that changes between the look at it and the change
	// is tried again.
	tries = 50
)

// refill makes one learner a voter again.
type refill struct {
	rule    Rule
	index   int
	members []Member
	all     bool // every other backend counts as a source, voter or not: nobody can tell more
	seed    maphash.Seed

	learning string            // the learner's marker while it is refilled
	admitted string            // and afterwards
	noted    map[uint64]uint64 // hashes of the learner's keys and values at the beginning
	done     map[uint64]bool   // hashes of keys that are settled
	sources  map[int]source    // the other voters, by index
	filled   int               // keys that were written
	blocked  []quorum.Key      // keys with a block, to be looked at again
	quiet    time.Duration
}

// source is a backend that a learner is refilled from.
type source struct {
	Member
	text string // its marker: while this stays, it has forgotten nothing
}

// run is one try; see the package comment.
func (r *refill) run(ctx context.Context) error {
	r.noted, r.done = map[uint64]uint64{}, map[uint64]bool{}
	learner := r.members[r.index]
	if err := r.begin(ctx, learner); err != nil {
		return err
	}
	if err := r.note(ctx, learner); err != nil {
		return err
	}
	if err := r.findSources(ctx); err != nil {
		return err
	}
	if err := sleep(ctx, r.quiet); err != nil {
		return err
	}
	if err := r.fillFromSources(ctx); err != nil {
		return err
	}
	if err := r.fill(ctx, r.index); err != nil { // what only the learner has
		return err
	}
	ok, err := swap(ctx, learner, r.learning, r.admitted)
	if err == nil && !ok {
		err = errMoved
	}
	return err
}

// fillFromSources settles every key that enough sources have to the end.
func (r *refill) fillFromSources(ctx context.Context) error {
	scanned := 0
	for i, s := range r.sources {
		if err := r.fill(ctx, i); err == nil {
			if text, err := marker(ctx, s); err == nil && text == s.text && !r.jumped(s) {
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

// needed is how many of the other backends must be read. Any that may have been
// granted with the lost vote is on Q-1 of the N-1 others, so on one of these.
func (r *refill) needed() int {
	if r.all {
		return len(r.members) - 1
	}
	return len(r.members) - quorum.Majority(len(r.members)) + 1
}

// begin takes the learner's vote for every proxy, or joins one that refills it already.
func (r *refill) begin(ctx context.Context, learner Member) error {
	look := learner.Look()
	text, err := marker(ctx, learner)
	if err != nil {
		return err
	}
	m, standing := r.rule.Judge(text, look.RunID)
	switch standing {
	case Learning:
		r.learning = text
	case Unmarked, Founding:
		m = Marker{Identity: r.rule.Identity, Role: Learner, RunID: look.RunID, Token: newToken(), Quiet: r.rule.Quiet}
		ok, err := swap(ctx, learner, text, m.String())
		if err != nil {
			return err
		}
		if !ok {
			return errMoved
		}
		r.learning = m.String()
	default:
		return errMoved
	}
	r.quiet = max(r.rule.Quiet, m.Quiet)
	return nil
}

// note remembers what the learner holds before anything new could count there.
func (r *refill) note(ctx context.Context, learner Member) error {
	return pages(ctx, learner, func(keys []quorum.Key) error {
		if len(r.noted) > notes {
			return nil
		}
		held, _, err := read(ctx, learner, keys)
		if err != nil {
			return err
		}
		for i, k := range keys {
			if held[i].Kind == quorum.String {
				r.noted[r.hash(string(k))] = r.hash(string(held[i].Stored))
			}
		}
		return nil
	})
}

// findSources picks the backends to read from, and makes the quiet period as long as
// any proxy that they have met needs it.
func (r *refill) findSources(ctx context.Context) error {
	if err := r.refreshSources(ctx); err != nil {
		return err
	}
	final := Marker{Identity: r.rule.Identity, Role: Voter, RunID: r.members[r.index].Look().RunID, Token: newToken(), Quiet: r.quiet}
	r.admitted = final.String()
	r.quiet += r.quiet/10 + 10*time.Millisecond // clocks differ
	return nil
}

// refreshSources takes every backend that votes by now for a source.
func (r *refill) refreshSources(ctx context.Context) error {
	r.sources = map[int]source{}
	for i, m := range r.members {
		look := m.Look()
		if i == r.index || !look.Connected || !r.all && !look.Votes() {
			continue
		}
		text, err := marker(ctx, m)
		if err != nil {
			continue // one that can't be read is none
		}
		mark, standing := r.rule.other(i).Judge(text, look.RunID)
		if standing != Admitted && standing != Brief && !r.all {
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

// fill settles all keys of one backend that are not settled yet.
func (r *refill) fill(ctx context.Context, i int) error {
	return pages(ctx, r.members[i], func(keys []quorum.Key) error {
		left := keys[:0]
		for _, k := range keys {
			if !r.done[r.hash(string(k))] {
				left = append(left, k)
			}
		}
		for range tries {
			var err error
			if left, err = r.settle(ctx, left); err != nil || len(left) == 0 {
				return err
			}
		}
		return errMoved
	})
}

// settle makes what the learner holds under the keys safe, and gives back the keys
// that changed in between.
func (r *refill) settle(ctx context.Context, keys []quorum.Key) (left []quorum.Key, err error) {
	if len(keys) == 0 {
		return nil, nil
	}
	reads, err := r.readSources(ctx, keys)
	if err != nil {
		return nil, err
	}
	now, text, err := read(ctx, r.members[r.index], keys)
	if err != nil {
		return nil, err
	}
	if text != r.learning {
		return nil, errMoved
	}
	var ops []quorum.Op
	var changed []quorum.Key
	for k, key := range keys {
		others, s := r.sight(reads, k, key, now[k])
		change, ok := judge(others, len(r.members)).change(key, s)
		if !ok {
			r.settled(key)
			continue
		}
		change.Guards = append(change.Guards, marked(r.learning))
		ops = append(ops, change)
		changed = append(changed, key)
	}
	return r.apply(ctx, ops, changed)
}

// sight is what the learner and the sources hold under key number k of those read.
func (r *refill) sight(reads [][]quorum.Held, k int, key quorum.Key, now quorum.Held) (others []quorum.Held, s sight) {
	s.held = now
	for _, held := range reads {
		others = append(others, held[k])
		s.elsewhere = s.elsewhere || held[k].Kind == quorum.String && held[k].Stored == now.Stored
	}
	value, noted := r.noted[r.hash(string(key))]
	s.noted = noted && now.Kind == quorum.String && value == r.hash(string(now.Stored))
	return others, s
}

// apply makes the changes, and gives back the keys of those that were refused.
func (r *refill) apply(ctx context.Context, ops []quorum.Op, keys []quorum.Key) (left []quorum.Key, err error) {
	if len(ops) == 0 {
		return nil, nil
	}
	answers, err := r.members[r.index].Ask(ctx, ops)
	if err != nil {
		return nil, err
	}
	if len(answers) != len(ops) {
		return nil, errAnswer
	}
	for i, a := range answers {
		op := ops[i].(quorum.Commit)
		switch {
		case a.Err != nil:
			return nil, a.Err
		case a.Vote == quorum.Granted:
			r.settled(keys[i])
			r.filled++
			if op.Writes[0].Stored.IsBlock() && len(r.blocked) < notes {
				r.blocked = append(r.blocked, keys[i])
			}
		case a.FailedGuard == len(op.Guards)-1:
			return nil, errMoved
		default:
			left = append(left, keys[i])
		}
	}
	return left, nil
}

func (r *refill) settled(key quorum.Key) {
	if len(r.done) < notes {
		r.done[r.hash(string(key))] = true
	}
}

// jumped tells whether what was read of a source may be wrong, because its clock has
// jumped: locks ended there too soon, and the marker knows nothing of it. Each answer to
// Ask comes with a look at the clock. Where nobody can tell more, it is read all the same.
func (r *refill) jumped(s source) bool { return !r.all && s.Look().Jumped }

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
			if err != nil || text != s.text || r.jumped(s) {
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

func (r *refill) hash(s string) uint64 { return maphash.String(r.seed, s) }

// pages calls f with all keys of a member, page by page, without the marker.
func pages(ctx context.Context, m Member, f func(keys []quorum.Key) error) error {
	for cursor := uint64(0); ; {
		page, err := one(ctx, m, quorum.Walk{Cursor: cursor, Count: pageKeys})
		if err != nil {
			return err
		}
		own := make([]quorum.Key, 0, len(page.Keys))
		for _, k := range page.Keys {
			if k != MarkerKey {
				own = append(own, k)
			}
		}
		if len(own) > 0 {
			if err := f(own); err != nil {
				return err
			}
		}
		if cursor = page.Next; cursor == 0 {
			return nil
		}
	}
}

// sleep waits for d by the monotonic clock, which stands still while the machine is
// suspended: then the wait is longer, which is safe.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
