package quorum_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"redlockproxy/quorum"
	"redlockproxy/quorum/quorumtest"
)

// What the simulated clients share: two locks and a counter.
var simLocks = []quorum.Key{"L1", "L2"}

const simCounter = quorum.Key("f")

// plan is what a seed says of one history.
type plan struct {
	seed     uint64
	span     time.Duration // how long the clients work, in virtual time
	backends int
	groups   int
	clients  int
	longTTLs bool // locks last until they are released, so that leftovers show
	restless int  // 1 to 4: how often something fails
	drift    bool
	removals bool          // plain deletions, which take locks from their owners
	forgets  bool          // backends lose their memory, and must be admitted to vote
	locks    int           // how many keys are locked
	think    time.Duration // the longest pause of a client
	near     time.Duration // messages take this part of the usual time: the rest of the time is for what may go wrong
}

func planFor(seed uint64) plan {
	r := rand.New(rand.NewPCG(seed, 0))
	return plan{
		seed:     seed,
		span:     1500 * ms,
		locks:    len(simLocks),
		think:    25 * ms,
		near:     1,
		backends: []int{5, 5, 5, 3, 7}[r.IntN(5)],
		groups:   1 + r.IntN(3),
		clients:  4 + r.IntN(5),
		longTTLs: r.IntN(3) == 0,
		restless: 1 + r.IntN(4),
		drift:    r.IntN(2) == 0,
		removals: r.IntN(4) == 0,
	}
}

// event is one operation as its client saw it; times are since the beginning.
type event struct {
	client    int
	op        string // acquire, release, extend, increment, read, remove; of client -1: a fault
	key       quorum.Key
	value     string
	shared    bool // other clients write the same value
	ttl       time.Duration
	call, end time.Duration
	err       error
	reply     int64 // 1 and 0, or a number
}

func (e event) String() string {
	if e.client < 0 {
		return fmt.Sprintf("%11v             %s", e.call, e.op)
	}
	reply := fmt.Sprint(e.reply)
	if e.err != nil {
		reply = e.err.Error()
	}
	return fmt.Sprintf("%11v %11v client %d %s %s %q %v: %s", e.call, e.end, e.client, e.op, e.key, e.value, e.ttl, reply)
}

// history is one run: groups with ways of their own over the same fakes, clients, and
// what went wrong with the backends.
type history struct {
	plan
	*rig
	began  time.Time
	groups []*quorum.Group
	gates  [][]*quorumtest.Gate // by group, where backends are to be admitted
	doubt  map[int]string       // backends whose clocks jumped, and their markers then
	forgot map[int]bool         // backends that lost their memory, or were doubted

	mu     sync.Mutex
	events []event
	said   []event // by keepers; times are since the making
	faults []fault
}

// runHistory plays the history of a seed and gives back what there is to complain of.
func runHistory(t *testing.T, p plan) (events []event, complaints []string) {
	synctest.Test(t, func(t *testing.T) {
		made := time.Now()
		h := &history{plan: p, rig: newRig(t, p.backends), began: made}
		defer h.Close()
		h.build()
		if h.forgets {
			defer h.admit(t)()
		}
		h.began = time.Now()
		var clients, faults sync.WaitGroup
		faults.Go(h.fail)
		all := make([]*client, p.clients)
		for i := range all {
			all[i] = newClient(h, i)
			clients.Go(all[i].work)
		}
		clients.Wait()
		faults.Wait()
		for _, l := range h.links {
			l.Hold(0)
		}
		h.heal()
		if !h.forgets || h.awaitVotes() {
			calm := time.Second
			if h.forgets { // where keepers ask all the time, which costs some
				calm = 2 * briefVotes
			}
			time.Sleep(calm)
			for _, c := range all {
				c.finish()
			}
			time.Sleep(calm)
			synctest.Wait()
			complaints = h.leftovers()
		}
		events = h.events
		h.mu.Lock()
		for _, e := range h.said {
			e.call -= h.began.Sub(made)
			e.end = e.call
			events = append(events, e)
		}
		h.mu.Unlock()
		complaints = append(complaints, checkAll(h.events)...)
	})
	slices.SortFunc(events, func(a, b event) int {
		if order := cmp.Or(cmp.Compare(a.call, b.call), cmp.Compare(a.client, b.client)); order != 0 {
			return order
		}
		return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b))
	})
	return events, complaints
}

// build makes the groups and their faults out of the seed.
func (h *history) build() {
	r := rand.New(rand.NewPCG(h.seed, 1))
	for i, f := range h.fakes {
		f.TakeTurns(i)
		f.SetDelay(time.Duration(r.IntN(2000))*time.Microsecond/h.near, time.Duration(r.IntN(2000))*time.Microsecond/h.near)
		f.SetJitter(time.Duration(r.IntN(3000)) * time.Microsecond / h.near)
		if h.drift { // within 1 %, the first as fast and the second as slow as can be
			f.SetClockRate([]float64{1.01, 0.99, 0.99 + r.Float64()/50}[min(i, 2)])
		}
	}
	var links [][]*quorumtest.Link
	for i := range h.plan.groups {
		delays := make([]time.Duration, h.backends)
		for b := range delays {
			delays[b] = time.Duration(r.IntN(4000)) * time.Microsecond / h.near
		}
		// No jitter: its chance is not the seed's. Different delays do instead.
		retry := time.Duration(20000+r.IntN(30000)) * time.Microsecond
		change := func(cfg *quorum.Config) { cfg.RetryDelay, cfg.RetryJitter = retry, 0 }
		link := h.linked
		if h.forgets {
			link = h.gated
		}
		g, ways := link(h.seed<<8+uint64(i), 2*ms/h.near, delays, change)
		h.groups = append(h.groups, g)
		links = append(links, ways)
	}
	for i, l := range h.links {
		l.TakeTurns(len(h.fakes) + i)
	}
	h.planFaults(r, links)
	if h.forgets {
		h.planLosses(rand.New(rand.NewPCG(h.seed, 2)), links)
	}
}

// leftovers are lock values that are still somewhere although every lock was released
// and every attempt that was not won should have been undone. Only to a backend that
// forgot may a refill bring back what was released at the same time.
func (h *history) leftovers() (complaints []string) {
	for i, f := range h.fakes {
		for _, key := range simLocks {
			if held, ok := f.Peek(key); ok && h.longTTLs && !h.forgot[i] {
				complaints = append(complaints, fmt.Sprintf("backend %d still holds %s = %q", i, key, held.Stored))
			}
		}
		if f.Debts() != 0 {
			complaints = append(complaints, fmt.Sprintf("backend %d is still owed %d removals", i, f.Debts()))
		}
	}
	return complaints
}

// fault is something that goes wrong, or right again, at a time.
type fault struct {
	at   time.Duration
	what string
	do   func()
}

// planFaults draws all faults beforehand: their times depend on nothing but the seed.
func (h *history) planFaults(r *rand.Rand, links [][]*quorumtest.Link) {
	add := func(at time.Duration, what string, do func()) {
		h.faults = append(h.faults, fault{at, what, do})
	}
	modes := []quorumtest.Mode{
		quorumtest.Frozen, quorumtest.Stalled, quorumtest.Down, quorumtest.Silent,
		quorumtest.Mute, quorumtest.LostReply, quorumtest.Broken,
	}
	span := func(most int) time.Duration { return time.Duration(1+r.IntN(most*1000)) * time.Microsecond }
	calm := 3000 / (h.restless * h.restless)
	longest := 300 // of a mode or a delay, in milliseconds
	if h.forgets {
		longest = int(briefVotes / ms)
	}
	for i, f := range h.fakes {
		for at := span(calm); at < h.span; at += span(calm) {
			mode := modes[r.IntN(len(modes))]
			switch r.IntN(6) {
			case 0:
				add(at, fmt.Sprint("restart ", i), func() { h.forget(i, f.Restart) })
			case 1:
				add(at, fmt.Sprint("next lost ", i), func() { f.Next(quorumtest.LostReply, 2) })
			default:
				add(at, fmt.Sprint("mode ", mode, " of ", i), func() { f.SetMode(mode) })
				at += span(longest)
				add(at, fmt.Sprint("release ", i), f.Release)
			}
		}
		for g := range links {
			for at := span(2 * calm); at < h.span; at += span(2 * calm) {
				late := span(longest)
				add(at, fmt.Sprint("hold ", g, " to ", i), func() { links[g][i].Hold(late) })
			}
		}
	}
	slices.SortStableFunc(h.faults, func(a, b fault) int { return int(a.at - b.at) })
}

// fail lets the faults happen.
func (h *history) fail() {
	for _, f := range h.faults {
		time.Sleep(time.Until(quorumtest.Turn(quorumtest.Players-1, h.began.Add(f.at))))
		h.note(event{client: -1, op: f.what, call: f.at, end: f.at})
		f.do()
	}
}

// note writes an operation down.
func (h *history) note(e event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events = append(h.events, e)
}

// trace is the story of a history, for people.
func trace(p plan, events []event) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%+v\n", p)
	for _, e := range events {
		fmt.Fprintln(&b, e)
	}
	return b.String()
}
