package quorum_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"redlockproxy/quorum"
	"redlockproxy/quorum/admission"
	"redlockproxy/quorum/quorumtest"
)

// Backends lose their memory, all of it or what came after the last dump, with or
// without the end of their process, and their clocks jump; at most a minority at a time.
//
// These histories are made for what a loss can cost. With the quiet period left out, one
// in some hundreds has two holders, and so with any of several values copied instead of
// a block put there.
func TestSimulationOfBackendsThatForget(t *testing.T) {
	simulate(t, 2, (*plan).forget)
}

// forget makes it a history of backends that forget, with several groups, and one key
// that is held for long, on a bare majority as often as can be; little else happens.
func (p *plan) forget() {
	p.forgets = true
	p.groups, p.clients, p.locks, p.restless = 2+p.groups%2, 3+p.clients%3, 1, 1
	p.backends = []int{3, 3, 5, 5, 7}[p.seed%5]
	p.span, p.think, p.near = time.Duration(350+150*(p.seed%3))*ms, 20*ms, 4
}

// briefVotes is how long votes are waited for where backends forget. It is several times
// what a refill takes, without the quiet period: only then can the period be missed.
const briefVotes = 120 * ms

func brief(c *quorum.Config) {
	c.VoteLimit, c.AnswerWithin, c.RetryDelay = briefVotes, briefVotes, briefVotes/8
}

// gated is linked with a gate before each link: backends must be admitted to vote.
func (h *history) gated(seed uint64, jitter time.Duration, delays []time.Duration, change ...func(*quorum.Config)) (*quorum.Group, []*quorumtest.Link) {
	links := make([]*quorumtest.Link, len(h.fakes))
	gates := make([]*quorumtest.Gate, len(h.fakes))
	backends := make([]quorum.Backend, len(h.fakes))
	for i, f := range h.fakes {
		links[i] = quorumtest.NewLink(f, delays[i], jitter, seed)
		aside := quorumtest.NewLink(f, delays[i], jitter, seed+1)
		h.links = append(h.links, links[i], aside)
		gates[i] = quorumtest.NewGate(f, links[i], aside, admissionConfig().Rule(i, len(h.fakes)))
		backends[i] = gates[i]
	}
	h.gates = append(h.gates, gates)
	return newGroup(h.t, seed, backends, append(change, brief)...), links
}

func admissionConfig() admission.Config {
	s := settings(0)
	brief(&s)
	return admission.Config{
		Group: "sim", Quiet: s.AnswerWithin, Long: quorum.StoredTTL(s.MaxTTL, true), Auto: true, Steady: 50 * ms,
	}
}

// admit runs a keeper for each group, and waits until the group is founded. It returns
// what ends them.
func (h *history) admit(t *testing.T) (end func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var keepers sync.WaitGroup
	for g, gates := range h.gates {
		members := make([]admission.Member, len(gates))
		for i, gate := range gates {
			members[i] = gate
		}
		cfg := admissionConfig()
		created := h.began
		cfg.Report = func(e admission.Event) {
			h.mu.Lock()
			defer h.mu.Unlock()
			at := time.Since(created) // the clients begin later
			h.said = append(h.said, event{client: -1, op: fmt.Sprintf("group %d says of %d: %s", g, e.Backend, e.Text), call: at, end: at})
		}
		keepers.Go(func() { admission.NewKeeper(members, cfg).Run(ctx) })
	}
	for wait := 0; h.votes() < len(h.gates)*len(h.fakes); wait++ {
		if time.Sleep(10 * ms); wait > 500 {
			t.Errorf("history %d: the group is not founded", h.seed)
			break
		}
	}
	return func() {
		cancel()
		keepers.Wait()
		for _, gates := range h.gates {
			for _, g := range gates {
				g.Close()
			}
		}
	}
}

// votes counts the gates of all groups that let votes through.
func (h *history) votes() (n int) {
	for _, gates := range h.gates {
		for _, g := range gates {
			if g.Look().Votes() {
				n++
			}
		}
	}
	return n
}

// awaitVotes waits until all vote again; false if that would take too long, as after
// jumps of a majority's clocks.
func (h *history) awaitVotes() bool {
	for range 300 {
		if h.votes() == len(h.gates)*len(h.fakes) {
			return true
		}
		time.Sleep(10 * ms)
	}
	return false
}

// marker is the text of a backend's marker.
func (h *history) marker(i int) string {
	held, _ := h.fakes[i].Peek(admission.MarkerKey)
	return string(held.Stored)
}

// whole tells whether a backend has a right marker, and has deserved it.
func (h *history) whole(i int) bool {
	text := h.marker(i)
	_, standing := admissionConfig().Rule(i, len(h.fakes)).Judge(text, h.fakes[i].RunID())
	return standing == admission.Admitted && h.doubt[i] != text
}

// forget does something to a backend that takes its memory, unless too few others would
// know then what was granted.
func (h *history) forget(i int, do func()) {
	if !h.forgets {
		do()
		return
	}
	whole := 0
	for j := range h.fakes {
		if j != i && h.whole(j) {
			whole++
		}
	}
	if whole >= len(h.fakes)-h.Q()+1 || !h.whole(i) {
		h.forgot[i] = true
		do()
	}
}

// planLosses draws when backends forget, and when single ways are slow: what a group
// holds on a bare majority is what a loss can cost.
func (h *history) planLosses(r *rand.Rand, links [][]*quorumtest.Link) {
	span := func(most int) time.Duration { return time.Duration(1+r.IntN(most*1000)) * time.Microsecond }
	h.doubt, h.forgot = map[int]string{}, map[int]bool{}
	for g := range links {
		for at := span(300); at < h.span; at += span(300) {
			for i := range links[g] {
				if r.IntN(3) == 0 {
					continue
				}
				late := span(int(briefVotes / ms))
				h.faults = append(h.faults, fault{at, fmt.Sprint("hold ", g, " to ", i), func() { links[g][i].Hold(late) }})
			}
		}
	}
	for i, f := range h.fakes {
		add := func(at time.Duration, what string, do func()) {
			h.faults = append(h.faults, fault{at, fmt.Sprint(what, " ", i), func() { h.forget(i, do) }})
		}
		for at := span(400); at < h.span; at += 80*ms + span(400) {
			switch r.IntN(6) {
			case 0, 1:
				add(at, "crash without a dump", func() { f.Restart(); f.Wipe() })
			case 2:
				add(at, "flush", f.Wipe)
			case 3, 4:
				h.faults = append(h.faults, fault{max(0, at-span(150)), "dump", f.Save})
				add(at, "crash with a dump", func() { f.Restart(); f.Restore() })
			case 5:
				// Short locks may suffer by smaller jumps, which an answer can be late by.
				step := time.Duration(150+r.IntN(1000)) * ms
				if r.IntN(4) == 0 {
					step = -step
				}
				add(at, fmt.Sprint("clock by ", step), func() { h.doubt[i] = h.marker(i); f.StepClock(step) })
			}
		}
	}
	slices.SortStableFunc(h.faults, func(a, b fault) int { return int(a.at - b.at) })
}
