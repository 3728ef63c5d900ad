package model

import (
	"fmt"
	"strings"
)

// Step is what leads from one state to another: a text for people, in which %a and %b
// stand for the numbers.
type Step struct {
	Text string
	A, B int8
}

func (s Step) String() string {
	return strings.NewReplacer("%a", fmt.Sprint(s.A), "%b", fmt.Sprint(s.B)).Replace(s.Text)
}

// World is a state and all that may happen in it. S must hold everything that the
// future depends on, by value.
type World[S comparable] struct {
	// Steps calls to with every state that can be next. A world must be finite: each
	// sequence of steps ends.
	Steps func(s S, to func(Step, S))

	// Wrong says what must not be in a state; "" if all is well.
	Wrong func(S) string
}

// Found is what a search has come to.
type Found struct {
	States int    // how many were visited
	Wrong  string // what Wrong said; "" if nothing was found
	Trace  []Step // a shortest way to it
}

// Story is the trace for people, a step in each line.
func (f Found) Story() string {
	var b strings.Builder
	for i, step := range f.Trace {
		fmt.Fprintf(&b, "%3d. %v\n", i+1, step)
	}
	return b.String()
}

// origin is how a state was reached first.
type origin struct {
	from int32
	step Step
}

// Search visits every state that can be reached from the starts, the nearest first, and
// stops at the first that is wrong. It is an error of the world to have more than most
// states, each of which takes its size and some forty bytes.
func Search[S comparable](w World[S], most int, starts ...S) (Found, error) {
	seen := make(map[S]struct{})
	var origins []origin
	var layer, next []S
	add := func(s S, o origin) {
		if _, known := seen[s]; !known {
			seen[s] = struct{}{}
			origins = append(origins, o)
			next = append(next, s)
		}
	}
	for _, s := range starts {
		add(s, origin{from: -1})
	}
	for first := int32(0); len(next) > 0; {
		layer, next = next, layer[:0]
		for i, s := range layer {
			at := first + int32(i)
			if wrong := w.Wrong(s); wrong != "" {
				return Found{States: len(seen), Wrong: wrong, Trace: trace(origins, at)}, nil
			}
			w.Steps(s, func(step Step, s S) { add(s, origin{at, step}) })
			if len(seen) > most {
				return Found{States: len(seen)}, fmt.Errorf("more than %d states", most)
			}
		}
		first += int32(len(layer))
	}
	return Found{States: len(seen)}, nil
}

// trace is the way to the state with that number.
func trace(origins []origin, at int32) []Step {
	var back []Step
	for ; origins[at].from >= 0; at = origins[at].from {
		back = append(back, origins[at].step)
	}
	for i, j := 0, len(back)-1; i < j; i, j = i+1, j-1 {
		back[i], back[j] = back[j], back[i]
	}
	return back
}
