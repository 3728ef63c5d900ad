package history

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Check is everything that is wrong with a history whatever became of the backends:
// Exclusion, Numbers, Releases and Looks.
func Check(ops []Op) []string {
	return slices.Concat(Exclusion(ops), Numbers(ops), Releases(ops), Looks(ops))
}

// Exclusion finds locks that two clients surely held at the same time.
func Exclusion(ops []Op) (complaints []string) {
	type hold struct {
		window
		*life
	}
	byKey := map[string][]hold{}
	for _, l := range lives(ops) {
		for _, w := range l.windows() {
			byKey[l.grant.Key] = append(byKey[l.grant.Key], hold{w, l})
		}
	}
	for _, holds := range byKey {
		slices.SortFunc(holds, func(a, b hold) int { return cmp.Compare(a.from, b.from) })
		var last hold // of those so far, the one that ends last
		for _, h := range holds {
			if last.life != nil && last.life != h.life && h.from < last.to {
				complaints = append(complaints, fmt.Sprintf("two holders from %.3f to %.3f ms:\n  %v\n  %v",
					millis(h.from), millis(min(h.to, last.to)), last.grant, h.grant))
			}
			if h.to > last.to {
				last = h
			}
		}
	}
	return complaints
}

// Numbers finds numbers that were drawn twice or fall in real time, and readings below
// what was known before they were asked for.
func Numbers(ops []Op) (complaints []string) {
	byCounter := map[string][]Op{}
	for _, o := range ops {
		counter := o.Key
		switch o.Kind {
		case Fenced:
			counter = o.Counter
		case Increment, Read:
		default:
			continue
		}
		if o.Outcome == Done {
			byCounter[counter] = append(byCounter[counter], o)
		}
	}
	for _, counted := range byCounter {
		complaints = append(complaints, numbersOf(counted)...)
	}
	return complaints
}

func numbersOf(byCall []Op) (complaints []string) {
	byReturn := slices.Clone(byCall)
	slices.SortFunc(byCall, func(a, b Op) int { return cmp.Compare(a.Call, b.Call) })
	slices.SortFunc(byReturn, func(a, b Op) int { return cmp.Compare(a.Return, b.Return) })
	drawn := map[int64]Op{}
	var highest Op // of those that had returned
	for _, o := range byCall {
		for len(byReturn) > 0 && byReturn[0].Return < o.Call {
			if byReturn[0].Number > highest.Number {
				highest = byReturn[0]
			}
			byReturn = byReturn[1:]
		}
		draws := o.Kind != Read
		if o.Number < highest.Number || draws && o.Number == highest.Number {
			complaints = append(complaints, fmt.Sprintf("not above what was known:\n  %v\n  %v", highest, o))
		}
		if twin, ok := drawn[o.Number]; ok && draws {
			complaints = append(complaints, fmt.Sprintf("a number twice:\n  %v\n  %v", twin, o))
		}
		if draws {
			drawn[o.Number] = o
		}
	}
	return complaints
}

// Releases finds locks that were given back more than once, and releases and
// extensions that were told of success for a lock that was refused, or that had been
// given back before.
func Releases(ops []Op) (complaints []string) {
	for _, l := range lives(ops) {
		var released *Op
		for _, o := range slices.Concat(l.releases, l.extends) {
			if o.Outcome == Done && l.grant.Outcome == Refused {
				complaints = append(complaints, fmt.Sprintf("never granted:\n  %v\n  %v", l.grant, o))
			}
		}
		for i, o := range l.releases {
			if o.Outcome != Done {
				continue
			}
			if released != nil {
				complaints = append(complaints, fmt.Sprintf("given back twice:\n  %v\n  %v", *released, o))
			}
			released = &l.releases[i]
		}
		for _, e := range l.extends {
			if released != nil && e.Outcome == Done && e.Call > released.Return {
				complaints = append(complaints, fmt.Sprintf("extended after it was given back:\n  %v\n  %v", *released, e))
			}
		}
	}
	return complaints
}

// Looks finds readings of a lock that name a token which had been given back before,
// or another than the one that surely held it all the time.
func Looks(ops []Op) (complaints []string) {
	all := lives(ops)
	for _, look := range ops {
		if look.Kind != Look || look.Outcome != Done {
			continue
		}
		for _, l := range all {
			if l.grant.Key != look.Key {
				continue
			}
			for _, r := range l.releases {
				if r.Outcome == Done && r.Return < look.Call && look.Seen == l.grant.Token {
					complaints = append(complaints, fmt.Sprintf("seen after it was given back:\n  %v\n  %v", r, look))
				}
			}
			if look.Seen != "" && look.Seen != l.grant.Token && l.heldThrough(look) {
				complaints = append(complaints, fmt.Sprintf("another seen than held it:\n  %v\n  %v", l.grant, look))
			}
		}
	}
	return complaints
}

func (l *life) heldThrough(o Op) bool {
	return slices.ContainsFunc(l.windows(), func(w window) bool { return w.from <= o.Call && o.Return < w.to })
}

// Lost finds locks that were surely held and yet were told to be gone: to their holder
// who extends or gives back, or to one who looks. Backends that forget or whose clocks
// are set forward can bring this about; others must not.
func Lost(ops []Op) (complaints []string) {
	for _, l := range lives(ops) {
		for _, e := range l.extends {
			if e.Outcome == Refused && l.heldThrough(e) {
				complaints = append(complaints, fmt.Sprintf("held, and lost:\n  %v\n  %v", l.grant, e))
			}
		}
		for i, r := range l.releases {
			without := *l // a release must not count as the end of what it was to release
			without.givenBack = never
			for j, o := range l.releases {
				if i != j {
					without.givenBack = min(without.givenBack, o.Call)
				}
			}
			if r.Outcome == Refused && without.heldThrough(r) {
				complaints = append(complaints, fmt.Sprintf("held, and lost:\n  %v\n  %v", l.grant, r))
			}
		}
		for _, o := range ops {
			if o.Kind == Look && o.Key == l.grant.Key && o.Outcome == Done && o.Seen == "" && l.heldThrough(o) {
				complaints = append(complaints, fmt.Sprintf("held, and not seen:\n  %v\n  %v", l.grant, o))
			}
		}
	}
	return complaints
}

// Leftover is a lock's key that a backend holds.
type Leftover struct {
	Backend int
	Key     string
	Token   string
}

// Orphans finds leftovers, seen at the time given, that nothing accounts for: a lock
// is somewhere because it was granted, or may have been, was not given back, and its
// time is not over. Grace is how much longer than that a backend keeps a key; with
// forgiving, what was given back or refused may stay for its ttl, too, counted from
// since: where those who would have removed it were killed.
func Orphans(ops []Op, left []Leftover, at, grace time.Duration, forgiving bool, since time.Duration) (complaints []string) {
	byToken := map[string]*life{}
	for _, l := range lives(ops) {
		byToken[l.grant.Token] = l
	}
	for _, o := range left {
		l := byToken[o.Token]
		if l == nil {
			complaints = append(complaints, fmt.Sprintf("backend %d holds %s = %s, which nobody asked for", o.Backend, o.Key, o.Token))
			continue
		}
		end := l.longest()
		for _, r := range l.releases {
			if r.Outcome == Done || r.Outcome == Refused {
				end = 0
			}
		}
		if forgiving {
			end = max(end, since+l.grant.TTL)
		}
		if at > end+grace {
			complaints = append(complaints, fmt.Sprintf("at %.3f ms backend %d still holds %s of\n  %v", millis(at), o.Backend, o.Key, l.grant))
		}
	}
	return complaints
}
