package admission

import (
	"context"
	"hash/maphash"
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
	from    origin
	numbers bool // a voter about locks is brought up to date about numbers, and nothing else

	// sparesFounder leaves a founder alone: whoever founds the group is about to let it
	// vote.
	sparesFounder bool

	// waited is the token that the backend has had all the time while locks were waited
	// out; "" if it need not be that. With another, it may have voted meanwhile.
	waited string

	seed maphash.Seed

	learning string            // the learner's marker while it is refilled
	admitted string            // and afterwards
	noted    map[uint64]uint64 // hashes of the learner's keys and values at the beginning
	done     map[uint64]bool   // hashes of keys that are settled
	sources  map[int]source    // the other voters, by index
	filled   int               // keys that were written
	wrote    []wrote           // values and blocks that were put, to be looked at again
	quiet    time.Duration
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
	if r.needed() > 0 { // else nobody could tell what only the learner has
		if err := r.fill(ctx, r.index); err != nil {
			return err
		}
	}
	if look := learner.Look(); look.lost() || look.Jumped {
		return errUnsound // and lacks some of what it was given, perhaps
	}
	ok, err := swap(ctx, learner, r.learning, r.admitted)
	if err == nil && !ok {
		err = errMoved
	}
	return err
}

// begin takes the learner's vote for every proxy, or joins one that refills it already.
func (r *refill) begin(ctx context.Context, learner Member) error {
	look := learner.Look()
	text, err := marker(ctx, learner)
	if err != nil {
		return err
	}
	m, standing := r.rule.Judge(text, look.RunID)
	switch {
	case r.waited != "" && m.Token != r.waited:
		return errMoved
	case r.numbers && standing == Locking:
		r.learning = text // its vote about locks stays
	case r.numbers, standing == Founding && r.sparesFounder:
		return errMoved
	case standing == Learning:
		r.learning = text
	case standing == Unmarked, standing == Founding:
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
	if r.numbers {
		return nil
	}
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
	reads, now, err := r.look(ctx, keys)
	if err != nil {
		return nil, err
	}
	var ops []quorum.Op
	var changed []quorum.Key
	for k, key := range keys {
		others, s := r.sight(reads, k, key, now[k])
		change, ok := r.judge(others).change(key, s)
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

// look reads keys on the sources and on the learner, whose marker must be the expected.
func (r *refill) look(ctx context.Context, keys []quorum.Key) (reads [][]quorum.Held, now []quorum.Held, err error) {
	if reads, err = r.readSources(ctx, keys); err != nil {
		return nil, nil, err
	}
	now, text, err := read(ctx, r.members[r.index], keys)
	if err == nil && text != r.learning {
		err = errMoved
	}
	return reads, now, err
}

// judge decides what the learner must hold.
func (r *refill) judge(others []quorum.Held) verdict {
	v := judge(others, len(r.members))
	if number, ttl, ok := counter(others, 1); ok && r.from == fromAll {
		return raising(number, ttl) // the highest that anybody has kept
	}
	if r.numbers && v.action != raise {
		return verdict{}
	}
	return v
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
			if op.Writes[0].Kind == quorum.Put && len(r.wrote) < maxWrote {
				r.wrote = append(r.wrote, wrote{key: keys[i], stored: op.Writes[0].Stored})
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
