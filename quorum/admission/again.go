package admission

import (
	"context"
	"slices"
	"time"

	"redlockproxy/quorum"
)

// Bounds of the looks at what a refill wrote.
const (
	// againMin and againMax are the shortest and the longest pause between two looks,
	// each twice the one before. Most blocks are there because an attempt on the same key
	// was under way, which is undone in a moment, and most copies that nobody needs
	// because their lock was released at the same time.
	againMin, againMax = 50 * time.Millisecond, 5 * time.Second
	// blockLooks and copyLooks are how often a block and a copy are looked at, and a copy
	// that is on its way out as often as a block. What is left then ends with its expiry.
	blockLooks, copyLooks = 40, 4
	// maxWrote is how many of them are remembered.
	maxWrote = 1 << 20
)

// wrote is what a refill put under a key: a copy of a value, or a block.
type wrote struct {
	key    quorum.Key
	stored quorum.Stored
	gone   time.Time // since when no source has the copied value; zero while one may
}

// lookAgain looks again at what a refilled backend was given. A block becomes what by
// then can be told; a copy goes if no source has had its value for as long as any
// operation's votes count: its lock was released while it was copied, and the release is
// not still on its way to here, where it must find what it takes away. While a block is
// there, the backend has not voted under that key since it lost its memory, so that the
// rule of the refill goes on to hold; and a value that is on no source is nobody's lock.
func (r *refill) lookAgain(ctx context.Context) {
	r.learning = r.admitted // the marker that must stay
	pause := againMin
	for look := 1; look <= blockLooks; look++ {
		if len(r.wrote) == 0 || sleep(ctx, pause) != nil {
			return
		}
		pause = min(2*pause, againMax)
		var left []wrote
		for all := r.wrote; len(all) > 0; {
			page := all[:min(len(all), pageKeys)]
			all = all[len(page):]
			still, err := r.lookAgainAt(ctx, page)
			if err == errMoved {
				return // it has forgotten again
			}
			if err != nil {
				still = page
			}
			for _, w := range still {
				if w.stored.IsBlock() || look < copyLooks || !w.gone.IsZero() {
					left = append(left, w)
				}
			}
		}
		r.wrote = left
	}
}

// lookAgainAt is one look at some keys; it gives back what is still as it was put.
func (r *refill) lookAgainAt(ctx context.Context, page []wrote) (left []wrote, err error) {
	if err := r.refreshSources(ctx); err != nil {
		return nil, err
	}
	keys := make([]quorum.Key, len(page))
	for i, w := range page {
		keys[i] = w.key
	}
	reads, now, err := r.look(ctx, keys)
	if err != nil {
		return nil, err
	}
	var ops []quorum.Op
	for k, w := range page {
		if now[k].Stored != w.stored {
			continue // it expired, or somebody wrote over it
		}
		others, s := r.sight(reads, k, w.key, now[k])
		v := r.judge(others)
		// A block elsewhere may stand for the very value that was copied.
		perhaps := s.elsewhere || v.action == raise ||
			slices.ContainsFunc(others, func(h quorum.Held) bool { return h.Stored.IsBlock() })
		if w.stored.IsBlock() && v.action == block || !w.stored.IsBlock() && perhaps {
			w.gone = time.Time{}
			left = append(left, w)
			continue
		}
		if !w.stored.IsBlock() {
			if w.gone.IsZero() {
				w.gone = time.Now()
			}
			if time.Since(w.gone) < r.quiet {
				left = append(left, w)
				continue
			}
			v = verdict{} // the copy goes, whatever the others have instead
		}
		change, _ := v.change(w.key, sight{held: now[k], noted: true})
		change.Guards = append(change.Guards, marked(r.learning))
		ops = append(ops, change)
	}
	if len(ops) == 0 {
		return left, nil
	}
	answers, err := r.members[r.index].Ask(ctx, ops)
	if err != nil {
		return nil, err
	}
	// One that was refused has been written over; or the marker has gone, which the next
	// look finds.
	for i, a := range answers {
		if w := ops[i].(quorum.Commit).Writes[0]; a.Vote == quorum.Granted && w.Kind == quorum.Put {
			left = append(left, wrote{key: w.Key, stored: w.Stored}) // a copy by now
		}
	}
	return left, nil
}
