package admission

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"redlockproxy/quorum"
)

func lock(value string, ttl time.Duration) quorum.Held {
	return quorum.Held{Kind: quorum.String, Stored: quorum.Stored(value), TTL: ttl}
}

const (
	sec  = time.Second
	mine = "a~rl:AAAAAAAAAAAAAAAA"
	his  = "b~rl:BBBBBBBBBBBBBBBB"
	none = ""
)

func held(values ...string) []quorum.Held {
	all := make([]quorum.Held, len(values))
	for i, v := range values {
		switch v {
		case none:
		case "list":
			all[i] = quorum.Held{Kind: quorum.Other, Type: "list"}
		case "block":
			all[i] = lock(string(newBlock()), sec)
		default:
			all[i] = lock(v, sec)
		}
	}
	return all
}

func TestRuleOfTheRefill(t *testing.T) {
	for _, c := range []struct {
		what   string
		reads  []quorum.Held // of a group of five
		action action
		stored quorum.Stored
	}{
		{"nobody has anything", held(none, none, none, none), leave, ""},
		{"one of four cannot have been granted", held(mine, none, none, none), leave, ""},
		{"two of four may have been", held(mine, mine, none, none), put, mine},
		{"all of four", held(mine, mine, mine, mine), put, mine},
		{"one of three may have been", held(mine, none, none), put, mine},
		{"two of three that hold different things", held(mine, his, none), block, ""},
		{"two pairs", held(mine, mine, his, his), block, ""},
		{"a pair and a single one", held(mine, mine, his, none), put, mine},
		{"a block may stand for the single one", held(mine, "block", none, none), put, mine},
		{"a block may stand for either", held(mine, his, "block", none), block, ""},
		{"two blocks", held("block", "block", none, none), block, ""},
		{"one block of four", held("block", none, none, none), leave, ""},
		{"one block of three", held("block", none, none), block, ""},
		{"another type", held("list", "list", "list", "list"), leave, ""},
		{"foreign tokens", held("token", "token", none, none), put, "token"},
	} {
		v := judge(c.reads, 5)
		if v.action != c.action || v.stored != c.stored {
			t.Errorf("%s: action %d with %q, want %d with %q", c.what, v.action, v.stored, c.action, c.stored)
		}
	}
	lasting := func(numbers ...string) []quorum.Held {
		all := held(numbers...)
		for i := range all {
			if all[i].Kind != quorum.Nothing {
				all[i].TTL = quorum.NoTTL
			}
		}
		return all
	}
	for _, c := range []struct {
		what   string
		reads  []quorum.Held
		number quorum.Stored
	}{
		{"the highest of a counter", lasting("7", "9", "8", "7"), "9"},
		{"beyond what a float can tell apart", lasting("9007199254740992", "9007199254740993", "1"), "9007199254740993"},
		{"a counter that somebody had SET", lasting("5~rl:AAAAAAAAAAAAAAAA", "6", none, none), "6"},
		{"one that expires: the highest that may have been given", held("9", "8", "8", "7"), "8"},
	} {
		if v := judge(c.reads, 5); v.action != raise || v.stored != c.number {
			t.Errorf("%s: action %d with %q, want the number %s", c.what, v.action, v.stored, c.number)
		}
	}
	if v := judge(held("123", none, none, none), 5); v.action != leave {
		t.Errorf("another tool's token that is a number was spread: %d", v.action)
	}
	if v := judge([]quorum.Held{lock(mine, sec), lock(mine, 3*sec), lock(mine, 2*sec), {}}, 5); v.ttl != 3*sec {
		t.Errorf("%v left, want the longest", v.ttl)
	}
}

// A4, against a naive statement of it: whatever the lost vote and the backends that were
// not read held, a value that could have had a majority with them is on the learner
// afterwards, or nobody's is.
func TestWhatMayHaveBeenGrantedIsHeldOrBlocked(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	choices := []string{none, none, mine, mine, his, "c~rl:CCCCCCCCCCCCCCCC", "block"}
	for range 100_000 {
		n := []int{3, 5, 7}[r.IntN(3)]
		q := quorum.Majority(n)
		read := n - q + 1 + r.IntN(q-1)
		values := make([]string, read)
		for i := range values {
			values[i] = choices[r.IntN(len(choices))]
		}
		reads := held(values...)
		now := sight{held: held(choices[r.IntN(len(choices))])[0], noted: r.IntN(2) == 0}
		for _, h := range reads {
			now.elsewhere = now.elsewhere || h.Kind == quorum.String && h.Stored == now.held.Stored
		}
		after := now.held
		if change, ok := judge(reads, n).change("k", now); ok {
			switch w := change.Writes[0]; w.Kind {
			case quorum.Put:
				after = lock(string(w.Stored), w.TTL)
			case quorum.Delete:
				after = quorum.Held{}
			}
		}
		for _, v := range []quorum.Stored{mine, his, "c~rl:CCCCCCCCCCCCCCCC"} {
			have, blocks := 0, 0
			for _, h := range reads {
				if h.Stored == v {
					have++
				}
				if h.Stored.IsBlock() {
					blocks++
				}
			}
			// With the lost vote and all that were not read, and as if every block were it.
			possible := have > 0 && 1+have+blocks+(n-1-read) >= q
			if possible && after.Stored != v && !after.Stored.IsBlock() {
				t.Fatalf("seed %d: n=%d, read %q, learner %q (noted %v): it holds %q, and %q may have been granted",
					seed, n, values, now.held.Stored, now.noted, after.Stored, v)
			}
		}
	}
}

func TestChangesOfALearner(t *testing.T) {
	old := func(v string, ttl time.Duration) sight { return sight{held: lock(v, ttl), noted: true} }
	for _, c := range []struct {
		what    string
		verdict verdict
		now     sight
		want    string // what is written, "" for nothing
	}{
		{"absent", verdict{put, mine, sec}, sight{}, "put " + mine + " 1s"},
		{"for ever", verdict{put, mine, quorum.NoTTL}, sight{}, "put " + mine + " 0s"},
		{"there already", verdict{put, mine, sec}, sight{held: lock(mine, 2*sec)}, ""},
		{"there, and ends sooner", verdict{put, mine, 2 * sec}, sight{held: lock(mine, sec)}, "put " + mine + " 2s"},
		{"there from before a clock was set back", verdict{put, mine, sec}, old(mine, time.Hour), "put " + mine + " 1s"},
		{"something newer", verdict{put, mine, 2 * sec}, sight{held: lock(his, sec)}, "put block 2s"},
		{"something newer that lasts longer", verdict{put, mine, sec}, sight{held: lock(his, 2*sec)}, "put block 2s"},
		{"a leftover", verdict{put, mine, sec}, old(his, 2*sec), "put " + mine + " 1s"},
		{"a leftover of nobody's", verdict{}, old(his, sec), "delete"},
		{"what others have too is no leftover", verdict{}, sight{held: lock(his, sec), noted: true, elsewhere: true}, ""},
		{"something newer, nobody's elsewhere", verdict{}, sight{held: lock(his, sec)}, ""},
		{"a block over nothing", verdict{block, "", sec}, sight{}, "put block 1s"},
		{"a block over something newer", verdict{block, "", sec}, sight{held: lock(his, 2*sec)}, "put block 2s"},
		{"another type", verdict{put, mine, sec}, sight{held: held("list")[0]}, ""},
		{"a number", verdict{raise, "7", quorum.NoTTL}, sight{}, "put 7 0s"},
		{"a lower number", verdict{raise, "7", quorum.NoTTL}, sight{held: lock("5", quorum.NoTTL)}, "raise 7"},
		{"a higher number", verdict{raise, "7", quorum.NoTTL}, sight{held: lock("8", quorum.NoTTL)}, ""},
		{"a tagged number", verdict{raise, "7", quorum.NoTTL}, sight{held: lock("5~rl:AAAAAAAAAAAAAAAA", quorum.NoTTL)}, "raise 7"},
		{"no number as Redis counts", verdict{raise, "7", quorum.NoTTL}, sight{held: lock("005", quorum.NoTTL)}, ""},
		{"no number with a plus", verdict{raise, "7", quorum.NoTTL}, sight{held: lock("+5", quorum.NoTTL)}, ""},
		{"a leftover that is none", verdict{raise, "7", quorum.NoTTL}, old("005", quorum.NoTTL), "put 7 0s"},
	} {
		got := ""
		if change, ok := c.verdict.change("k", c.now); ok {
			w := change.Writes[0]
			text := string(w.Stored)
			if w.Stored.IsBlock() {
				text = "block"
			}
			switch w.Kind {
			case quorum.Put:
				got = fmt.Sprintf("put %s %v", text, w.TTL)
			case quorum.Raise:
				got = "raise " + text
			case quorum.Delete:
				got = "delete"
			}
			if len(change.Guards) != 1 {
				t.Errorf("%s: guards %v", c.what, change.Guards)
			}
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
}

func TestMarkersAreReadAsTheyWereWritten(t *testing.T) {
	rule := Rule{Identity: Identity{"g", 5, 3}, Quiet: 200 * time.Millisecond}
	m := Marker{Identity: rule.Identity, Role: Voter, RunID: "r1", Token: newToken(), Quiet: rule.Quiet}
	if got, ok := Parse(m.String()); !ok || got != m {
		t.Fatalf("%q was read as %+v", m, got)
	}
	with := func(change func(*Marker)) string {
		c := m
		change(&c)
		return c.String()
	}
	for _, c := range []struct {
		text string
		want Standing
	}{
		{m.String(), Admitted},
		{"", Unmarked},
		{with(func(m *Marker) { m.RunID = "r2" }), Unmarked},
		{with(func(m *Marker) { m.Role = Learner }), Learning},
		{with(func(m *Marker) { m.Role = Founder }), Founding},
		{with(func(m *Marker) { m.Quiet /= 2 }), Brief},
		{with(func(m *Marker) { m.Quiet *= 2 }), Admitted},
		{with(func(m *Marker) { m.Group = "h" }), Foreign},
		{with(func(m *Marker) { m.Place = 2 }), Foreign},
		{with(func(m *Marker) { m.N = 3 }), Foreign},
		{with(func(m *Marker) { m.Role = "king" }), Foreign},
		{m.String() + " ", Foreign},
		{"hello", Foreign},
	} {
		if _, got := rule.Judge(c.text, "r1"); got != c.want {
			t.Errorf("%q is %v, want %v", c.text, got, c.want)
		}
	}
}

// A time that is no whole number of milliseconds is kept as the next longer one.
func TestMarkerAllowsForTheTimeThatItWasWrittenFor(t *testing.T) {
	rule := Rule{Identity: Identity{"g", 5, 3}, Quiet: 200*time.Millisecond + 500*time.Microsecond}
	m := Marker{Identity: rule.Identity, Role: Voter, RunID: "r1", Token: newToken(), Quiet: rule.Quiet}
	if read, standing := rule.Judge(m.String(), "r1"); standing != Admitted || read.Quiet != 201*time.Millisecond {
		t.Errorf("%v with %v", standing, read.Quiet)
	}
}

func TestClocksThatJumpOrRunWrongAreFound(t *testing.T) {
	base := time.Unix(1_700_000_000, 0)
	for _, c := range []struct {
		what  string
		shows func(ours time.Duration) time.Duration
		after time.Duration // until it is found; 0 for never
	}{
		{"right", func(d time.Duration) time.Duration { return d }, 0},
		{"a little fast", func(d time.Duration) time.Duration { return d + d/200 }, 0},
		{"a little slow", func(d time.Duration) time.Duration { return d - d/200 }, 0},
		{"slewed", func(d time.Duration) time.Duration { return d + min(d/200, 50*time.Millisecond) }, 0},
		{"set by a little now and then", func(d time.Duration) time.Duration { return d + d/time.Minute*40*time.Millisecond }, 0},
		{"set by a little again and again", func(d time.Duration) time.Duration { return d + d.Truncate(sec)/60 }, 10 * sec},
		{"10 % fast", func(d time.Duration) time.Duration { return d + d/10 }, 700 * time.Millisecond},
		{"10 % slow", func(d time.Duration) time.Duration { return d - d/10 }, 700 * time.Millisecond},
		{"2 % fast", func(d time.Duration) time.Duration { return d + d/50 }, 6 * sec},
		{"1.2 % slow", func(d time.Duration) time.Duration { return d - d*12/1000 }, 30 * sec},
		{"stopped", func(time.Duration) time.Duration { return 0 }, sec},
		{"set forward", func(d time.Duration) time.Duration { return d + d/time.Minute*500*time.Millisecond }, time.Minute},
		{"set back", func(d time.Duration) time.Duration { return d - d/time.Minute*500*time.Millisecond }, time.Minute},
	} {
		var clock Clock
		found := time.Duration(0)
		for ours := time.Duration(0); ours < 10*time.Minute && found == 0; ours += 100 * time.Millisecond {
			if !clock.Add(base.Add(c.shows(ours)), ours-time.Millisecond, ours+time.Millisecond) {
				found = ours
			}
		}
		if (found == 0) != (c.after == 0) || found > c.after {
			t.Errorf("%s: found after %v, want %v", c.what, found, c.after)
		}
	}
}

// A first answer that took long leaves much open, but not for long: the next one tells.
func TestClockIsWatchedFromTheBestAnswerOn(t *testing.T) {
	base := time.Unix(1_700_000_000, 0)
	var clock Clock
	clock.Add(base, 0, sec)
	clock.Add(base.Add(sec), sec, sec+time.Millisecond)
	if clock.Add(base.Add(2*sec-80*time.Millisecond), 2*sec, 2*sec+time.Millisecond) {
		t.Error("a jump back by 80 ms was not found")
	}
}

// Answers may come in another order than they were given: pipelines go side by side.
func TestAnswersOutOfOrderAreNoJumps(t *testing.T) {
	base := time.Unix(1_700_000_000, 0)
	var clock Clock
	for _, from := range []time.Duration{0, 10 * sec, 5 * sec, 20 * sec, 15 * sec} {
		if !clock.Add(base.Add(from+from/100), from, from+time.Millisecond) {
			t.Errorf("a jump after %v", from)
		}
	}
}

// A question that took long leaves open when it was answered.
func TestSlowAnswersAreNoJumps(t *testing.T) {
	base := time.Unix(1_700_000_000, 0)
	for _, answered := range []time.Duration{0, 2 * sec, 4 * sec} {
		var clock Clock
		clock.Add(base, 0, time.Millisecond)
		if !clock.Add(base.Add(sec+answered), sec, 5*sec) {
			t.Errorf("an answer after %v of 4 s was taken for a jump", answered)
		}
	}
}
