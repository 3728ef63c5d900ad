package histories

import (
	"slices"
	"testing"
	"time"

	"redlockproxy/proxy/faults/history"
)

const ms = time.Millisecond

// on is an operation with a lock of 100 ms, in milliseconds.
func on(kind history.Kind, token string, call, end int, outcome history.Outcome) history.Op {
	return history.Op{
		Kind: kind, Key: "L", Token: token, TTL: 100 * ms,
		Call: time.Duration(call) * ms, Return: time.Duration(end) * ms, Outcome: outcome,
	}
}

func seeing(token string, call, end int) history.Op {
	o := on(history.Look, "", call, end, history.Done)
	o.Seen = token
	return o
}

func numbered(kind history.Kind, n int64, call, end int) history.Op {
	o := on(kind, "", call, end, history.Done)
	o.Key, o.Number = "f", n
	return o
}

func TestNoOrderExplainsWhatMustNotBe(t *testing.T) {
	a := on(history.Acquire, "a", 0, 10, history.Done)
	for name, ops := range map[string][]history.Op{
		"two holders":                       {a, on(history.Acquire, "b", 20, 99, history.Done)},
		"two holders, one seen":             {a, on(history.Acquire, "b", 20, 99, history.Failed), seeing("b", 30, 40), seeing("a", 50, 60)},
		"released twice":                    {a, on(history.Release, "a", 20, 30, history.Done), on(history.Release, "a", 40, 50, history.Done)},
		"extended after the release":        {a, on(history.Release, "a", 20, 30, history.Done), on(history.Extend, "a", 40, 50, history.Done)},
		"seen after the release":            {a, on(history.Release, "a", 20, 30, history.Done), seeing("a", 40, 50)},
		"held and not seen":                 {a, seeing("", 40, 50)},
		"held and refused to its holder":    {a, on(history.Extend, "a", 40, 50, history.Refused)},
		"back after it was gone":            {a, seeing("", 101, 102), seeing("a", 103, 104)},
		"taken before an extension is over": {a, on(history.Extend, "a", 50, 60, history.Done), on(history.Acquire, "b", 110, 120, history.Done)},
		"a number twice":                    {numbered(history.Increment, 3, 0, 10), numbered(history.Increment, 3, 5, 15)},
		"numbers that fall":                 {numbered(history.Increment, 3, 0, 10), numbered(history.Increment, 2, 11, 15)},
		"a reading that falls":              {numbered(history.Read, 3, 0, 10), numbered(history.Read, 2, 11, 15)},
	} {
		t.Run(name, func(t *testing.T) {
			if v := linear(ops, memory{}); len(v.complaints) != 1 || v.checked != 1 {
				t.Errorf("%+v", v)
			}
		})
	}
}

func TestAnOrderIsFoundForWhatMayBe(t *testing.T) {
	a := on(history.Acquire, "a", 0, 10, history.Done)
	for name, ops := range map[string][]history.Op{
		"one after the other":           {a, on(history.Acquire, "b", 20, 101, history.Done), seeing("b", 110, 120)},
		"released and taken":            {a, on(history.Release, "a", 20, 40, history.Done), on(history.Acquire, "b", 21, 30, history.Done), seeing("a", 21, 22)},
		"a release that was not told":   {a, on(history.Release, "a", 20, 40, history.Unknown), on(history.Acquire, "b", 50, 60, history.Done)},
		"a grant that was not told":     {on(history.Acquire, "a", 0, 10, history.Failed), seeing("a", 20, 30), seeing("", 40, 50), on(history.Acquire, "b", 40, 60, history.Done)},
		"refused at the end of its ttl": {a, on(history.Release, "a", 90, 110, history.Refused)},
		"numbers with a gap":            {numbered(history.Increment, 3, 0, 10), numbered(history.Read, 4, 11, 15), numbered(history.Increment, 6, 5, 20)},
	} {
		t.Run(name, func(t *testing.T) {
			if v := linear(ops, memory{}); len(v.complaints) != 0 || v.checked != 1 {
				t.Errorf("%+v", v)
			}
		})
	}
}

// What may be where backends forget or are refilled, and nowhere else.
func TestRefillsAndLossesExplainMore(t *testing.T) {
	a, b := on(history.Acquire, "a", 0, 10, history.Done), on(history.Acquire, "b", 31, 35, history.Done)
	failed, released := on(history.Release, "a", 20, 30, history.Failed), on(history.Release, "b", 40, 45, history.Done)
	kept, refilled, lost := memory{}, memory{refilled: true}, memory{lost: true, refilled: true}
	for name, c := range map[string]struct {
		ops []history.Op
		may []memory
	}{
		"gone too early":                            {[]history.Op{a, seeing("", 40, 50)}, []memory{lost}},
		"back after a release that failed":          {[]history.Op{a, failed, b, released, on(history.Release, "a", 50, 60, history.Done)}, []memory{refilled, lost}},
		"seen back after a release that failed":     {[]history.Op{a, failed, b, released, seeing("a", 50, 60)}, []memory{refilled, lost}},
		"extended after a release that failed":      {[]history.Op{a, failed, b, released, on(history.Extend, "a", 50, 60, history.Done)}, []memory{refilled, lost}},
		"back while another holds it":               {[]history.Op{a, failed, b, seeing("a", 50, 60), seeing("b", 70, 80)}, nil},
		"extended while another holds it":           {[]history.Op{a, failed, b, on(history.Extend, "a", 50, 60, history.Done)}, nil},
		"back after its time":                       {[]history.Op{a, failed, b, released, seeing("a", 220, 230)}, nil},
		"back after a second release":               {[]history.Op{a, failed, b, released, on(history.Release, "a", 50, 55, history.Done), seeing("a", 60, 70)}, nil},
		"back after a release that was carried out": {[]history.Op{a, on(history.Release, "a", 20, 30, history.Done), seeing("a", 50, 60)}, nil},
	} {
		for _, m := range []memory{kept, refilled, lost} {
			v := linear(c.ops, m)
			if got, want := len(v.complaints) == 0, slices.Contains(c.may, m); got != want {
				t.Errorf("%s, %+v: an order was found: %t, want %t", name, m, got, want)
			}
		}
	}
}
