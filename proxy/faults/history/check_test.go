package history_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"redlockproxy/proxy/faults/history"
)

const ms = time.Millisecond

// op is an operation on the lock L or the counter f, in milliseconds.
func op(kind history.Kind, token string, call, end int, outcome history.Outcome) history.Op {
	return history.Op{
		Kind: kind, Key: "L", Token: token, TTL: 100 * ms,
		Call: time.Duration(call) * ms, Return: time.Duration(end) * ms, Outcome: outcome,
	}
}

func number(kind history.Kind, n int64, call, end int) history.Op {
	o := op(kind, "", call, end, history.Done)
	o.Key, o.Number = "f", n
	if kind == history.Fenced {
		o.Key, o.Counter, o.Token = "L", "f", "fenced"
	}
	return o
}

func look(seen string, call, end int) history.Op {
	o := op(history.Look, "", call, end, history.Done)
	o.Seen = seen
	return o
}

func shorter(o history.Op, ttl time.Duration) history.Op {
	o.TTL = ttl
	return o
}

var granted = op(history.Acquire, "a", 0, 10, history.Done) // holds until 100

func TestCheckersCatchWhatIsPlanted(t *testing.T) {
	for name, tt := range map[string]struct {
		check func([]history.Op) []string
		ops   []history.Op
		says  string
	}{
		"a second grant before the ttl is over": {history.Exclusion, []history.Op{
			granted, op(history.Acquire, "b", 20, 99, history.Done),
		}, "two holders"},
		"a second grant before an extension is over": {history.Exclusion, []history.Op{
			granted, op(history.Extend, "a", 50, 60, history.Done), op(history.Acquire, "b", 101, 120, history.Done),
		}, "two holders"},
		"an extension that came too late": {history.Exclusion, []history.Op{
			granted, op(history.Acquire, "b", 101, 110, history.Done), op(history.Extend, "a", 120, 130, history.Done),
		}, "two holders"},
		"a short second grant inside the first": {history.Exclusion, []history.Op{
			granted, shorter(op(history.Acquire, "b", 20, 30, history.Done), 20*ms), op(history.Acquire, "c", 110, 120, history.Done),
		}, "two holders"},
		"a grant with a number while another holds": {history.Exclusion, []history.Op{
			granted, number(history.Fenced, 1, 20, 30),
		}, "two holders"},
		"a number twice at the same time": {history.Numbers, []history.Op{
			number(history.Increment, 5, 0, 10), number(history.Increment, 5, 5, 15),
		}, "twice"},
		"a number that falls": {history.Numbers, []history.Op{
			number(history.Increment, 5, 0, 10), number(history.Increment, 4, 11, 20),
		}, "not above"},
		"a fencing number that falls": {history.Numbers, []history.Op{
			number(history.Increment, 5, 0, 10), number(history.Fenced, 4, 11, 20),
		}, "not above"},
		"a reading below a number": {history.Numbers, []history.Op{
			number(history.Increment, 5, 0, 10), number(history.Read, 4, 11, 20),
		}, "not above"},
		"a number that repeats a reading": {history.Numbers, []history.Op{
			number(history.Read, 5, 0, 10), number(history.Increment, 5, 11, 20),
		}, "not above"},
		"two releases of one grant": {history.Releases, []history.Op{
			granted, op(history.Release, "a", 20, 30, history.Done), op(history.Release, "a", 40, 50, history.Done),
		}, "given back twice"},
		"a release of what was refused": {history.Releases, []history.Op{
			op(history.Acquire, "a", 0, 10, history.Refused), op(history.Release, "a", 40, 50, history.Done),
		}, "never granted"},
		"an extension of what was given back": {history.Releases, []history.Op{
			granted, op(history.Release, "a", 20, 30, history.Done), op(history.Extend, "a", 40, 50, history.Done),
		}, "extended after"},
		"a token seen after its release": {history.Looks, []history.Op{
			granted, op(history.Release, "a", 20, 30, history.Done), look("a", 40, 50),
		}, "after it was given back"},
		"another token seen": {history.Looks, []history.Op{granted, look("b", 40, 50)}, "another seen"},
		"a release that finds nothing": {history.Lost, []history.Op{
			granted, op(history.Release, "a", 40, 50, history.Refused),
		}, "held, and lost"},
		"an extension that finds nothing": {history.Lost, []history.Op{
			granted, op(history.Extend, "a", 40, 50, history.Refused),
		}, "held, and lost"},
		"a look that finds nothing": {history.Lost, []history.Op{granted, look("", 40, 50)}, "not seen"},
	} {
		t.Run(name, func(t *testing.T) {
			complaints := tt.check(tt.ops)
			if len(complaints) != 1 || !strings.Contains(complaints[0], tt.says) {
				t.Errorf("complaints %q, wanted one that says %q", complaints, tt.says)
			}
		})
	}
}

func TestNothingIsSaidOfWhatACorrectServerMayDo(t *testing.T) {
	for name, ops := range map[string][]history.Op{
		"a grant after the ttl":     {granted, op(history.Acquire, "b", 20, 101, history.Done)},
		"a grant after the release": {granted, op(history.Release, "a", 20, 40, history.Done), op(history.Acquire, "b", 21, 30, history.Done)},
		"a grant after a release of unknown outcome": {
			granted, op(history.Release, "a", 20, 40, history.Unknown), op(history.Acquire, "b", 21, 30, history.Done),
		},
		"a grant that came too late for its client": {
			op(history.Acquire, "a", 0, 120, history.Done), op(history.Acquire, "b", 110, 115, history.Done),
		},
		"a grant after an extension to a shorter time": {
			granted, shorter(op(history.Extend, "a", 20, 25, history.Unknown), 10*ms), op(history.Acquire, "b", 28, 31, history.Done),
		},
		"attempts that failed": {granted, op(history.Acquire, "b", 20, 30, history.Failed), op(history.Acquire, "c", 20, 30, history.Refused)},
		"numbers that overlap in time": {
			number(history.Increment, 6, 0, 10), number(history.Increment, 5, 5, 15), number(history.Read, 6, 16, 20),
		},
		"numbers with gaps":          {number(history.Increment, 6, 0, 10), number(history.Increment, 9, 11, 15)},
		"a refused release too late": {granted, op(history.Release, "a", 90, 110, history.Refused)},
		"a second release that finds nothing": {
			granted, op(history.Release, "a", 20, 30, history.Unknown), op(history.Release, "a", 40, 50, history.Refused),
		},
		"a look during the release": {granted, op(history.Release, "a", 20, 30, history.Done), look("", 25, 28), look("a", 29, 40)},
	} {
		t.Run(name, func(t *testing.T) {
			if complaints := append(history.Check(ops), history.Lost(ops)...); len(complaints) > 0 {
				t.Errorf("complaints %q", complaints)
			}
		})
	}
}

func TestOrphansAreKeysThatNothingAccountsFor(t *testing.T) {
	released := op(history.Release, "a", 20, 30, history.Done)
	for name, tt := range map[string]struct {
		ops       []history.Op
		forgiving bool
		token     string
		at        time.Duration
		orphan    bool
	}{
		"held":                             {[]history.Op{granted}, false, "a", 90 * ms, false},
		"within the grace":                 {[]history.Op{granted}, false, "a", 115 * ms, false},
		"past its time":                    {[]history.Op{granted}, false, "a", 121 * ms, true},
		"released":                         {[]history.Op{granted, released}, false, "a", 90 * ms, true},
		"extended":                         {[]history.Op{granted, op(history.Extend, "a", 90, 95, history.Done)}, false, "a", 190 * ms, false},
		"refused":                          {[]history.Op{op(history.Acquire, "a", 0, 10, history.Refused)}, false, "a", 50 * ms, true},
		"failed":                           {[]history.Op{op(history.Acquire, "a", 0, 10, history.Failed)}, false, "a", 50 * ms, true},
		"unknown":                          {[]history.Op{op(history.Acquire, "a", 0, 10, history.Unknown)}, false, "a", 110 * ms, false},
		"refused, its proxy killed":        {[]history.Op{op(history.Acquire, "a", 0, 10, history.Refused)}, true, "a", 290 * ms, false},
		"refused, its proxy killed, later": {[]history.Op{op(history.Acquire, "a", 0, 10, history.Refused)}, true, "a", 320 * ms, true},
		"never asked for":                  {[]history.Op{granted}, true, "x", 5 * ms, true},
	} {
		t.Run(name, func(t *testing.T) {
			left := []history.Leftover{{Backend: 1, Key: "L", Token: tt.token}}
			complaints := history.Orphans(tt.ops, left, tt.at, 10*ms, tt.forgiving, 200*ms)
			if (len(complaints) > 0) != tt.orphan {
				t.Errorf("complaints %q", complaints)
			}
		})
	}
}

func TestRecorderKeepsWhatManyClientsAddByTheirCalls(t *testing.T) {
	r := history.NewRecorder()
	var clients sync.WaitGroup
	for c := range 8 {
		clients.Go(func() {
			for range 100 {
				call := r.Now()
				r.Add(history.Op{Client: c, Call: call, Return: r.Now()})
			}
		})
	}
	clients.Wait()
	ops := r.Ops()
	if len(ops) != 800 {
		t.Errorf("%d operations", len(ops))
	}
	for i, o := range ops {
		if o.Return < o.Call || i > 0 && o.Call < ops[i-1].Call {
			t.Fatalf("not in order: %v", o)
		}
	}
	if lines := strings.Count(history.Trace(ops), "\n"); lines != 800 {
		t.Errorf("%d lines of trace", lines)
	}
}
