package history

import (
	"math"
	"slices"
	"time"
)

// life is what became of one attempt to get a lock.
type life struct {
	grant     Op   // the Acquire or Fenced
	extends   []Op // of its token, by their calls
	releases  []Op
	givenBack time.Duration // the first call that may have ended it; the end of time if none
}

const never = time.Duration(math.MaxInt64)

// lives gathers the operations of each token, in the order of the attempts.
func lives(ops []Op) []*life {
	byToken := map[string]*life{}
	var all []*life
	for _, o := range ops {
		if o.Kind == Acquire || o.Kind == Fenced {
			l := &life{grant: o, givenBack: never}
			byToken[o.Token] = l
			all = append(all, l)
		}
	}
	for _, o := range ops {
		l := byToken[o.Token]
		switch {
		case l == nil:
		case o.Kind == Extend:
			l.extends = append(l.extends, o)
		case o.Kind == Release:
			l.releases = append(l.releases, o)
			l.givenBack = min(l.givenBack, o.Call)
		}
	}
	return all
}

// window is a time in which a client surely held a lock.
type window struct{ from, to time.Duration }

// windows are the times in which the lock was surely its client's: from a grant's or
// an extension's reply, until its ttl is over, counted from the call, or until the
// client may have given it back. An extension that may have shortened the time ends
// those before it.
func (l *life) windows() []window {
	if l.grant.Outcome != Done {
		return nil
	}
	all := []window{l.window(l.grant)}
	for _, e := range l.extends {
		if e.Outcome == Done {
			all = append(all, l.window(e))
		}
	}
	return slices.DeleteFunc(all, func(w window) bool { return w.from >= w.to })
}

func (l *life) window(o Op) window {
	w := window{o.Return, min(o.Call+o.TTL, l.givenBack)}
	for _, e := range l.extends {
		if e.Call >= o.Call && e.Outcome != Refused {
			w.to = min(w.to, e.Call+e.TTL)
		}
	}
	return w
}

// longest is the end of the last time that the lock may be somewhere for a reason, as
// far as the client knows: an attempt whose outcome it doesn't know counts.
func (l *life) longest() time.Duration {
	end := time.Duration(0)
	for _, o := range append([]Op{l.grant}, l.extends...) {
		if o.Outcome == Done || o.Outcome == Unknown {
			end = max(end, o.Return+o.TTL)
		}
	}
	return end
}
