package faults

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"redlockproxy/proxy/faults/history"
	"redlockproxy/proxy/redistest"
)

// Story is what came of a plan.
type Story struct {
	Plan       Plan
	Ops        []history.Op
	Complaints []string // everything that must not be; none if all is well
}

// story is a history while it is played.
type story struct {
	*world
	record *history.Recorder

	mu         sync.Mutex
	complaints []string
}

func (s *story) complain(texts ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.complaints = append(s.complaints, texts...)
}

// Play plays a history, which takes some seconds, and judges it. What it can't start or
// bring back ends the test.
func Play(tb testing.TB, plan Plan) Story {
	tb.Helper()
	s := &story{world: newWorld(tb, plan), record: history.NewRecorder()}
	clients := s.newClients()
	each := func(do func(*client)) {
		var all sync.WaitGroup
		for _, c := range clients {
			all.Go(func() { do(c) })
		}
		all.Wait()
	}
	working := make(chan struct{})
	go func() {
		defer close(working)
		each(func(c *client) { c.work(workTime) })
	}()
	// However this ends, no client must outlive it.
	defer func() { <-working }()
	s.fail()
	<-working
	s.awaitVoters()
	healed := s.record.Now()
	each((*client).finish)
	s.settle(healed)
	s.wantNoLeak()
	ops := s.record.Ops()
	s.complain(history.Check(ops)...)
	if plan.Memory == Kept {
		s.complain(history.Lost(ops)...)
	}
	return Story{plan, ops, s.complaints}
}

func (s *story) newClients() []*client {
	clients := make([]*client, s.plan.Clients)
	for i := range clients {
		clients[i] = &client{
			story: s, number: i, via: i,
			rand: rand.New(rand.NewPCG(s.plan.Seed, 100+uint64(i))),
		}
	}
	return clients
}

// fail lets the faults begin and end, each at its time. All of them are over then.
func (s *story) fail() {
	s.tb.Helper()
	var events []event
	for _, f := range s.plan.Faults {
		events = append(events, event{f.Begin, s.begin, f}, event{f.End, s.end, f})
	}
	slices.SortStableFunc(events, func(a, b event) int { return cmp.Compare(a.at, b.at) })
	for _, e := range events {
		time.Sleep(e.at - s.record.Now())
		e.do(e.who)
	}
}

// orphanTime is how long what nobody accounts for may take to go, on a machine that is
// busy with other histories. Without an undo, an orphan of longTTL stays for longer, also
// where the clients have worked and all has healed in as much time as they may take.
const orphanTime = longTTL - workTime - healTime - time.Second

// leakSeeds is of how many histories one waits until its proxies have settled. That takes
// three times as long as the history itself: see settleTime.
const leakSeeds = 5

// settle waits until nothing is left on the backends that can't be accounted for, and
// complains of what stays.
func (s *story) settle(healed time.Duration) {
	s.tb.Helper()
	// What a killed proxy owed to backends stays for its ttl.
	forgiving := s.plan.has(KillProxy) || s.plan.Memory == Lost
	grace := s.plan.Grace()
	within := orphanTime
	if s.plan.TTL != longTTL {
		within += s.plan.TTL + grace
	}
	var orphans []string
	for end := s.record.Now() + within; ; time.Sleep(20 * time.Millisecond) {
		now := s.record.Now()
		orphans = history.Orphans(s.record.Ops(), s.leftovers(), now, grace, forgiving, healed)
		if len(orphans) == 0 || now > end {
			break
		}
	}
	s.complain(orphans...)
}

// wantNoLeak complains if one of the proxies has more files or goroutines than a fresh one.
func (s *story) wantNoLeak() {
	s.tb.Helper()
	if s.plan.Seed%leakSeeds != 0 {
		return
	}
	fresh := s.newProxy(s.proxies[0])
	redistest.Eventually(s.tb, healTime, "a fresh proxy counts on all backends", func() bool { return fresh.Voters() == Backends })
	var used []*redistest.Proxy
	for _, n := range s.proxies {
		used = append(used, n.process())
	}
	_, _, complaints := Leaks(s.tb, fresh, used...)
	s.complain(complaints...)
}

// Report is the whole story, for whoever has to find out what went wrong.
func (s Story) Report() string {
	return fmt.Sprintf("%d complaints:\n%s\nschedule: %s\ntrace:\n%s", len(s.Complaints), lines(s.Complaints), s.Plan, history.Trace(s.Ops))
}

func lines(texts []string) (all string) {
	for _, t := range texts {
		all += t + "\n"
	}
	return all
}
