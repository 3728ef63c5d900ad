package faults

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// Backends is the size of the group in every history.
const Backends = 5

// workTime is how long the clients of a history work while things go wrong. A dozen
// locks come and go in it, and as many faults.
const workTime = 1300 * time.Millisecond

// Memory says what the backends of a history may forget.
type Memory int

// The kinds of histories.
const (
	// Kept: each backend remembers what it acknowledged, and no clock is set forward.
	Kept Memory = iota
	// Lost: some backends forget, all or a part, or drop locks early for their clocks,
	// but never all five.
	Lost
)

// Plan is what a seed says of one history.
type Plan struct {
	Seed    uint64
	Memory  Memory
	Clocks  bool          // some are set, or run wrong
	Proxies int           // 1 to 3
	Clients int           // 3 to 8
	TTL     time.Duration // of every lock
	Faults  []Fault       // by their beginning
}

// seen is by how much a clock is wrong, at least, before a lock ends too early by it:
// every proxy notices that in time, also by an answer that it had to wait for. By how
// much less a lock may suffer is a known limit.
const seen = 200 * time.Millisecond

// longTTL is the ttl in histories whose locks stay until they are given back: there a
// key that was left behind shows.
const longTTL = 30 * time.Second

// NewPlan draws the history of a seed.
func NewPlan(seed uint64, memory Memory) Plan {
	r := rand.New(rand.NewPCG(seed, uint64(memory)))
	p := Plan{Seed: seed, Memory: memory, Proxies: 1 + r.IntN(3), Clients: 3 + r.IntN(6)}
	p.Clocks = r.IntN(3) == 0
	p.TTL = time.Duration(150+r.IntN(450)) * time.Millisecond
	if p.hurried() {
		p.TTL = max(p.TTL, 2*seen)
	}
	if r.IntN(3) == 0 {
		p.TTL = longTTL
	}
	p.drawFaults(r)
	slices.SortStableFunc(p.Faults, func(a, b Fault) int { return cmp.Compare(a.Begin, b.Begin) })
	return p
}

// drawFaults gives each backend, each link and each proxy faults of its own, one after
// the other, so that no two faults of one thing overlap.
func (p *Plan) drawFaults(r *rand.Rand) {
	restless := 1 + r.IntN(4) // how much goes wrong
	calm := 2400 * time.Millisecond / time.Duration(restless)
	suspects := p.suspects(r)
	for b := range Backends {
		kinds := []Kind{Freeze}
		if suspects[b] {
			kinds = p.suspectKinds()
		}
		switch {
		case r.IntN(3) == 0: // within what is allowed for
			p.Faults = append(p.Faults, Fault{Kind: Rate, Backend: b, Proxy: none, Amount: 0.991 + 0.018*r.Float64(), End: workTime})
		case suspects[b] && p.hurried():
			p.Faults = append(p.Faults, Fault{Kind: Rate, Backend: b, Proxy: none, Amount: 2, End: workTime})
		}
		p.line(r, calm, kinds, Fault{Backend: b, Proxy: none})
	}
	for x := range p.Proxies {
		for b := range Backends {
			p.line(r, 3*calm, linkFaults, Fault{Backend: b, Proxy: x})
		}
		kinds := proxyFaults
		if p.hurried() {
			kinds = []Kind{FreezeProxy} // a new one has no earlier look at the clocks
		}
		p.line(r, 2*calm, kinds, Fault{Backend: none, Proxy: x})
	}
}

// suspects chooses the backends whose memory can be doubted, after a restart to begin
// with. Two of five can get it back from the others. More have to wait until the
// longest lock is over, which must not be long then. It is never all: a group without
// any memory can't be told from a new one.
func (p *Plan) suspects(r *rand.Rand) (chosen [Backends]bool) {
	n := []int{1, 2, 2, 2, 3, 4}[r.IntN(6)]
	if p.TTL == longTTL {
		n = min(n, 2)
	}
	for _, b := range r.Perm(Backends)[:n] {
		chosen[b] = true
	}
	return chosen
}

func (p *Plan) suspectKinds() []Kind {
	kinds, step := []Kind{Kill, Kill, Freeze}, Back
	if p.Memory == Lost {
		kinds, step = []Kind{Wipe, Wipe, Tear, Flush, Kill, Freeze}, Forward
	}
	if p.Clocks {
		kinds = append(kinds, step, step)
	}
	return kinds
}

// hurried tells whether there are clocks that end locks too early.
func (p Plan) hurried() bool { return p.Clocks && p.Memory == Lost }

// line adds faults like the one given, of kinds drawn by chance, with about the given
// time between them. A clock is set once at most.
func (p *Plan) line(r *rand.Rand, calm time.Duration, kinds []Kind, like Fault) {
	span := func(most time.Duration) time.Duration { return time.Duration(1 + r.Int64N(int64(most))) }
	for at := span(calm); at < workTime; at += span(calm) {
		f := like
		f.Kind = kinds[r.IntN(len(kinds))]
		f.Begin = at
		f.End = min(at+20*time.Millisecond+span(400*time.Millisecond), workTime)
		f.Amount = r.Float64()
		at = f.End
		p.Faults = append(p.Faults, f)
		if f.Kind == Back || f.Kind == Forward {
			kinds = slices.DeleteFunc(slices.Clone(kinds), func(k Kind) bool { return k == f.Kind })
		}
	}
}

// Refills tells whether a backend is refilled, for whatever reason.
func (p Plan) Refills() bool { return p.has(Kill, Wipe, Tear, Flush, Forward, Back) || p.hurried() }

// Grace is how much longer than its ttl a lock may stay: for drift, a look at five
// backends, and clocks that are set back.
func (p Plan) Grace() time.Duration {
	grace := p.TTL/50 + 100*time.Millisecond
	for _, f := range p.Faults {
		if f.Kind == Back {
			grace += f.Step(p)
		}
	}
	return grace
}

// has tells whether the plan has a fault of one of the kinds.
func (p Plan) has(kinds ...Kind) bool {
	return slices.ContainsFunc(p.Faults, func(f Fault) bool { return slices.Contains(kinds, f.Kind) })
}

func (p Plan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d, memory lost %t: %d proxies, %d clients, ttl %s, wrong clocks %t\n", p.Seed, p.Memory == Lost, p.Proxies, p.Clients, p.TTL, p.Clocks)
	for _, f := range p.Faults {
		fmt.Fprintln(&b, f)
	}
	return b.String()
}
