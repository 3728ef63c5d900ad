package quorumtest

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"redlockproxy/quorum"
)

// gather collects the answers of many calls.
type gather struct {
	mu      sync.Mutex
	wanted  int
	enough  chan struct{} // closed when wanted answers are there
	order   []int         // of the calls, as they were answered
	answers []quorum.Answer
}

func newGather(calls int) *gather {
	return &gather{wanted: calls, enough: make(chan struct{}), answers: make([]quorum.Answer, calls)}
}

// ticket is the round of one of the calls.
type ticket struct {
	g    *gather
	call int
}

// Vote implements quorum.Voter.
func (k ticket) Vote(_ int, answer quorum.Answer) {
	k.g.mu.Lock()
	defer k.g.mu.Unlock()
	k.g.order = append(k.g.order, k.call)
	k.g.answers[k.call] = answer
	if len(k.g.order) == k.g.wanted {
		close(k.g.enough)
	}
}

// send sends the call of a number.
func (g *gather) send(b quorum.Backend, call int, op quorum.Op) {
	b.Send(&quorum.Call{Op: op, Deadline: time.Now().Add(patience), Round: ticket{g, call}})
}

// wait waits for all answers, and a little for one too many. It returns the
// calls in the order in which they were answered.
func (g *gather) wait(t *testing.T, s Subject) []int {
	t.Helper()
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	select {
	case <-g.enough:
	case <-timeout.C:
		g.mu.Lock()
		defer g.mu.Unlock()
		t.Fatalf("%d of %d calls answered within %v", len(g.order), g.wanted, patience)
	}
	Do(t, s.Backend, quorum.Read{Keys: []quorum.Key{"end"}})
	g.mu.Lock()
	defer g.mu.Unlock()
	calls := slices.Clone(g.order)
	slices.Sort(calls)
	for i, call := range calls {
		if i != call {
			t.Fatalf("%d answers to %d calls: one call has none, or two", len(calls), g.wanted)
		}
	}
	return g.order
}

// debtOf is the debt of a value under k that lasts as long as the tests.
func debtOf(stored quorum.Stored) quorum.Debt {
	return quorum.Debt{Key: "k", Stored: stored, Until: time.Now().Add(long)}
}

var orderCases = []Case{
	{"DebtRemovesExactlyWhatItNames", func(t *testing.T, s Subject) {
		for i, there := range []string{"v" + tagA, "v" + tagB, "v", "w" + tagA, "", tagA, "v" + tagA + tagA, binary} {
			key := fmt.Sprint("k", i)
			s.Plant(key, there, long)
			s.Backend.Owe(quorum.Debt{Key: quorum.Key(key), Stored: "v" + tagA, Until: time.Now().Add(long)})
			c := trial{t, s, fmt.Sprintf("%q there", there)}
			c.granted(quorum.Read{Keys: []quorum.Key{"end"}}) // the debt has been carried out by then
			if there == "v"+tagA {
				c.gone(key)
			} else {
				c.has(key, there, long)
			}
		}
		c := trial{t, s, "other debts"}
		s.PlantList("l")
		for _, key := range []quorum.Key{"l", "none"} {
			s.Backend.Owe(quorum.Debt{Key: key, Stored: "v" + tagA, Until: time.Now().Add(long)})
		}
		s.Plant(binary, binary+tagA, long)
		s.Backend.Owe(quorum.Debt{Key: binary, Stored: binary + tagA, Until: time.Now().Add(long)})
		c.granted(quorum.Read{Keys: []quorum.Key{"end"}})
		c.lives("l", 0)
		c.gone("none")
		c.gone(binary)
	}},
	{"DebtsKeepTheirPlaceBetweenCalls", func(t *testing.T, s Subject) {
		const rounds = 200
		g := newGather(2 * rounds)
		for i := range rounds {
			// Each acquire finds the key free only if the debt before it was carried
			// out, and the one after the wrong debt does not.
			stored := quorum.Stored(fmt.Sprint(i, tagA))
			g.send(s.Backend, 2*i, quorum.Acquire{Key: "k", Stored: stored, TTL: long})
			s.Backend.Owe(debtOf(stored[:len(stored)-1] + "B"))
			g.send(s.Backend, 2*i+1, quorum.Acquire{Key: "k", Stored: "late" + tagB, TTL: long})
			s.Backend.Owe(debtOf(stored))
		}
		g.wait(t, s)
		for i, answer := range g.answers {
			want := quorum.Granted
			if i%2 == 1 {
				want = quorum.Refused
			}
			if answer.Vote != want {
				t.Fatalf("acquire %d: vote %d, want %d; error %v", i, answer.Vote, want, answer.Err)
			}
		}
		trial{t, s, "after all debts"}.gone("k")
	}},
	{"BurstIsAnsweredInOrder", func(t *testing.T, s Subject) {
		const calls = 1000
		g := newGather(calls)
		for i := range calls {
			op := quorum.Op(quorum.Increment{Key: "n", By: 1})
			switch i % 4 { // all sorts keep the one order
			case 1:
				op = quorum.Read{Keys: []quorum.Key{"n"}, Full: i%8 == 1}
			case 2:
				op = quorum.Commit{
					Guards: []quorum.Guard{{Kind: quorum.Lower, Key: "n", Text: fmt.Sprint(i)}},
					Writes: []quorum.Write{{Kind: quorum.Raise, Key: "n", Stored: quorum.Stored(fmt.Sprint(i))}},
				}
			case 3:
				op = quorum.Acquire{Key: "n", Stored: "v" + tagA}
			}
			g.send(s.Backend, i, op)
		}
		if order := g.wait(t, s); !slices.IsSorted(order) {
			t.Errorf("answered in the order %v", order)
		}
		for i, answer := range g.answers {
			checkBurst(t, i, answer)
		}
	}},
	{"SendersTogetherGetEachNumberOnce", func(t *testing.T, s Subject) {
		const senders, each = 8, 100
		g := newGather(senders * each)
		var wg sync.WaitGroup
		for i := range senders {
			wg.Go(func() {
				for j := range each {
					g.send(s.Backend, i*each+j, quorum.Increment{Key: "n", By: 1})
				}
			})
		}
		wg.Wait()
		g.wait(t, s)
		numbers := make([]int64, 0, senders*each)
		for i, answer := range g.answers {
			if answer.Vote != quorum.Granted || i%each > 0 && answer.Number <= g.answers[i-1].Number {
				t.Fatalf("call %d of sender %d: vote %d, number %d, error %v", i%each, i/each, answer.Vote, answer.Number, answer.Err)
			}
			numbers = append(numbers, answer.Number)
		}
		slices.Sort(numbers)
		for i, n := range numbers {
			if n != int64(i+1) {
				t.Fatalf("%d was given in place of %d", n, i+1)
			}
		}
	}},
	{"PassedDeadlineIsNeverSent", func(t *testing.T, s Subject) {
		op := quorum.Acquire{Key: "k", Stored: "v" + tagA, TTL: long}
		answer := do(t, s.Backend, op, time.Now().Add(-time.Second))
		if answer.Vote != quorum.Failed || !answer.Unsent || answer.Err == nil {
			t.Errorf("vote %d, unsent %v, error %v; want a failed one, unsent, with an error", answer.Vote, answer.Unsent, answer.Err)
		}
		c := trial{t, s, "passed deadline"}
		c.held(c.granted(quorum.Read{Keys: []quorum.Key{"k"}}), nothing)
	}},
}

// checkBurst checks an answer of the burst: the counter stands at the highest
// call so far that changed it.
func checkBurst(t *testing.T, call int, answer quorum.Answer) {
	t.Helper()
	// Call 0 makes it 1. Then, from call 2 on: raised to 2, incremented to 3 by
	// call 4, raised to 6, incremented to 7 by call 8, and so on.
	turn := call - call%4
	counter := int64(turn - 1)
	if turn == 0 {
		counter = 1
	}
	vote, stored := quorum.Granted, quorum.Stored(fmt.Sprint(counter))
	switch call % 4 {
	case 0:
		if answer.Number != counter {
			t.Errorf("call %d: number %d, want %d", call, answer.Number, counter)
		}
		stored = ""
	case 3:
		vote, stored = quorum.Refused, quorum.Stored(fmt.Sprint(call-1))
	}
	if answer.Vote != vote || stored != "" && (len(answer.Held) != 1 || answer.Held[0].Stored != stored) {
		t.Errorf("call %d: vote %d, %+v, error %v; want vote %d, %q held", call, answer.Vote, answer.Held, answer.Err, vote, stored)
	}
}
