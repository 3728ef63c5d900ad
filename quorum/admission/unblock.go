package admission

import (
	"context"
	"time"

	"redlockproxy/quorum"
)

// Bounds of the looks at blocks after a refill.
const (
	// unblockMin and unblockMax are the shortest and the longest pause between two
	// looks, each twice the one before. Most blocks are there because an attempt on
	// the same key was under way, which is undone in a moment.
	unblockMin, unblockMax = 50 * time.Millisecond, 5 * time.Second
	// unblockLooks is how often it is looked. What is left then ends with its expiry.
	unblockLooks = 40
)

// unblock looks again at the keys for which a refilled backend has a block, and gives
// it what by then can be told. While a block is there, the backend has not voted under
// that key since it lost its memory, so that the rule of the refill goes on to hold.
func (r *refill) unblock(ctx context.Context) {
	r.learning = r.admitted // the marker that must stay
	pause := unblockMin
	for range unblockLooks {
		if len(r.blocked) == 0 || sleep(ctx, pause) != nil {
			return
		}
		pause = min(2*pause, unblockMax)
		var left []quorum.Key
		for keys := r.blocked; len(keys) > 0; {
			page := keys[:min(len(keys), pageKeys)]
			keys = keys[len(page):]
			still, err := r.unblockPage(ctx, page)
			if err == errMoved {
				return // it has forgotten again
			}
			if err != nil {
				still = page
			}
			left = append(left, still...)
		}
		r.blocked = left
	}
}

// unblockPage is one look at some keys; it gives back those that stay blocked.
func (r *refill) unblockPage(ctx context.Context, keys []quorum.Key) (left []quorum.Key, err error) {
	if err := r.refreshSources(ctx); err != nil {
		return nil, err
	}
	reads, now, err := r.look(ctx, keys)
	if err != nil {
		return nil, err
	}
	var ops []quorum.Op
	var changed []quorum.Key
	for k, key := range keys {
		if !now[k].Stored.IsBlock() {
			continue // it expired, or somebody wrote over it
		}
		others, _ := r.sight(reads, k, key, now[k])
		v := r.judge(others)
		if v.action == block {
			left = append(left, key)
			continue
		}
		change, _ := v.change(key, sight{held: now[k], noted: true})
		change.Guards = append(change.Guards, marked(r.learning))
		ops = append(ops, change)
		changed = append(changed, key)
	}
	again, err := r.apply(ctx, ops, changed)
	return append(left, again...), err
}
