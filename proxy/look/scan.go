package look

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"redlockproxy/quorum"
)

// How far a search goes: so many calls of SCAN on a backend, each over about so many
// keys, and so many keys that are looked at on all backends, beside the one that is
// called as what was searched for. A backend spends less
// than a millisecond on one call.
const (
	scanCalls = 20
	scanCount = 500
	maxKeys   = 200
)

// Locks is what a search has found.
type Locks struct {
	Keys []Key `json:"keys"`
	// More says that the search ended before all keys had been seen.
	More bool      `json:"more"`
	At   time.Time `json:"at"`
}

// Locks searches for keys that are held or left over, by a part of their name; "" finds
// all. It looks at a limited number of keys, and says so if there are more; the key of
// just this name is always among them. The error
// says that too few backends can be searched.
//
// All backends that answer are searched. What a majority holds is on one of any
// N − Q + 1 of them, so with fewer a lock could be missed. What was found is then looked
// at on all of them.
func (l *Looker) Locks(ctx context.Context, part string) (Locks, error) {
	v := l.visit()
	defer v.end()
	n := len(v)
	names := make([][]string, n)
	more := make([]bool, n)
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i, client := range v {
		wg.Go(func() { names[i], more[i], errs[i] = l.scan(ctx, client, part) })
	}
	wg.Wait()
	found := Locks{At: time.Now()}
	answered := 0
	for i, err := range errs {
		if err != nil {
			errs[i] = fmt.Errorf("backend %s: %w", l.cfg.Backends[i].Name, err)
		} else {
			answered++
		}
		found.More = found.More || more[i]
	}
	if need := n - quorum.Majority(n) + 1; answered < need {
		return found, fmt.Errorf("%d of %d backends can be searched; %d are needed: %w", answered, n, need, errors.Join(errs...))
	}
	all := slices.Compact(slices.Sorted(slices.Values(slices.Concat(names...))))
	if len(all) > maxKeys {
		all, found.More = all[:maxKeys], true
	}
	// Who types the whole name finds it, however many keys SCAN has left out.
	if i, there := slices.BinarySearch(all, part); part != "" && !there && !l.hidden(part) {
		all = slices.Insert(all, i, part)
	}
	if len(all) == 0 {
		return found, nil
	}
	for _, k := range l.keys(ctx, v, all) {
		if k.Answer != Free { // it has ended meanwhile
			found.Keys = append(found.Keys, k)
		}
	}
	slices.SortStableFunc(found.Keys, func(a, b Key) int { return cmp.Compare(rank[a.Answer], rank[b.Answer]) })
	return found, nil
}

// rank is the order in which answers are shown: what is doubtful first.
var rank = map[Answer]int{Undecided: 0, Taken: 1, Leftover: 2}

// scan lists keys of one backend.
func (l *Looker) scan(ctx context.Context, client *redis.Client, part string) (names []string, more bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, l.cfg.Limit)
	defer cancel()
	cursor := uint64(0)
	for range scanCalls {
		var keys []string
		keys, cursor, err = client.Scan(ctx, cursor, "*"+literal(part)+"*", scanCount).Result()
		if err != nil {
			return nil, false, err
		}
		for _, k := range keys {
			if !l.hidden(k) {
				names = append(names, k)
			}
		}
		if cursor == 0 || len(names) > maxKeys {
			break
		}
	}
	return names, cursor != 0, nil
}

func (l *Looker) hidden(key string) bool { return l.cfg.Hidden != nil && l.cfg.Hidden(key) }

// literal takes their meaning from the characters that SCAN's MATCH treats specially.
func literal(part string) string { return special.Replace(part) }

var special = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`)
