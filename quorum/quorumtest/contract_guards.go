package quorumtest

import (
	"fmt"
	"testing"
	"time"

	"redlockproxy/quorum"
)

// guardRow is a condition on a key in some state, and whether it holds.
type guardRow struct {
	there string // what the key holds; absent and list have meanings of their own
	kind  quorum.GuardKind
	text  string
	holds bool
}

// States of a key that are no string.
const (
	absent = "(absent)"
	list   = "(list)"
)

// The states of existence, time and type.
var stateRows = []guardRow{
	{absent, quorum.Absent, "", true},
	{"v", quorum.Absent, "", false},
	{"", quorum.Absent, "", false},
	{list, quorum.Absent, "", false},

	{absent, quorum.Present, "", false},
	{"v", quorum.Present, "", true},
	{"", quorum.Present, "", true},
	{list, quorum.Present, "", true},

	{absent, quorum.Volatile, "", false},
	{absent, quorum.Lasting, "", false},
	{"v", quorum.Volatile, "", true}, // strings are planted with a time to live
	{"v", quorum.Lasting, "", false},
	{list, quorum.Volatile, "", false},
	{list, quorum.Lasting, "", true},

	{absent, quorum.TypeIs, "string", false},
	{absent, quorum.TypeIs, "none", false},
	{absent, quorum.TypeIs, "", false},
	{"v", quorum.TypeIs, "string", true},
	{"v", quorum.TypeIs, "list", false},
	{list, quorum.TypeIs, "list", true},
	{list, quorum.TypeIs, "string", false},
}

// Comparisons with a client value and with a stored one.
var valueRows = []guardRow{
	{absent, quorum.ValueIs, "", false},
	{absent, quorum.ValueIs, "v", false},
	{list, quorum.ValueIs, "", false},
	{list, quorum.ValueIs, "v", false},
	{"v", quorum.ValueIs, "v", true},
	{"v", quorum.ValueIs, "V", false},
	{"v", quorum.ValueIs, "", false},
	{"v", quorum.ValueIs, "v" + tagA, false},
	{"", quorum.ValueIs, "", true},
	{binary, quorum.ValueIs, binary, true},
	{binary, quorum.ValueIs, binary[:1], false},
	{"v" + tagA, quorum.ValueIs, "v", true},
	{"v" + tagB, quorum.ValueIs, "v", true},
	{"v" + tagA, quorum.ValueIs, "v" + tagA, false},
	{"v" + tagA, quorum.ValueIs, "w", false},
	{binary + tagB, quorum.ValueIs, binary, true},
	{tagA, quorum.ValueIs, "", true},
	{tagA, quorum.ValueIs, tagA, false},
	{"v" + tagA + tagB, quorum.ValueIs, "v" + tagA, true}, // the client's value looked like a tagged one
	{"v" + tagA + tagB, quorum.ValueIs, "v", false},

	// Not quite a tag: one character too few, in front, behind, or wrong.
	{"v~rl:AAAAAAAAAAAAAAA", quorum.ValueIs, "v~rl:AAAAAAAAAAAAAAA", true},
	{"v~rl:AAAAAAAAAAAAAAA", quorum.ValueIs, "v", false},
	{"~rl:AAAAAAAAAAAAAAA", quorum.ValueIs, "~rl:AAAAAAAAAAAAAAA", true},
	{"v~rl:AAAAAAAAAAAAAAAAA", quorum.ValueIs, "v~rl:AAAAAAAAAAAAAAAAA", true},
	{"v" + tagA + "\n", quorum.ValueIs, "v" + tagA + "\n", true},
	{"v~RL:AAAAAAAAAAAAAAAA", quorum.ValueIs, "v~RL:AAAAAAAAAAAAAAAA", true},
	{"v~rl:AAAAAAAAAAAAAAA+", quorum.ValueIs, "v~rl:AAAAAAAAAAAAAAA+", true},
	{"v~rl:AAAAAAAAAAAAAAA\n", quorum.ValueIs, "v~rl:AAAAAAAAAAAAAAA\n", true},
	{"v~rl:AAAAAAAAAAAAAAA\x00", quorum.ValueIs, "v~rl:AAAAAAAAAAAAAAA\x00", true},
	{"v~rl:AAAAAAAA.AAAAAAA", quorum.ValueIs, "v~rl:AAAAAAAA.AAAAAAA", true},
	{"v~rl:AAAAAAAAAAAAAA\xc3\xa9", quorum.ValueIs, "v~rl:AAAAAAAAAAAAAA\xc3\xa9", true},
	{"v~rl:AAAAAAAAAAAAAA\xc3\xa9", quorum.ValueIs, "v", false},

	{absent, quorum.StoredIs, "", false},
	{list, quorum.StoredIs, "", false},
	{"", quorum.StoredIs, "", true},
	{"v", quorum.StoredIs, "v", true},
	{"v", quorum.StoredIs, "v" + tagA, false},
	{"v" + tagA, quorum.StoredIs, "v" + tagA, true},
	{"v" + tagA, quorum.StoredIs, "v" + tagB, false},
	{"v" + tagA, quorum.StoredIs, "v", false},
	{binary + tagA, quorum.StoredIs, binary + tagA, true},
}

// Comparisons of numbers, which must be exact where doubles are not.
var lowerRows = []guardRow{
	{absent, quorum.Lower, "1", true},
	{absent, quorum.Lower, "-7", true},
	{list, quorum.Lower, maxInt, false},
	{"4", quorum.Lower, "5", true},
	{"5", quorum.Lower, "5", false},
	{"6", quorum.Lower, "5", false},
	{"0", quorum.Lower, "1", true},
	{"0", quorum.Lower, "0", false},
	{"9", quorum.Lower, "10", true}, // not as text
	{"10", quorum.Lower, "9", false},
	{"4" + tagA, quorum.Lower, "5", true},
	{"5" + tagA, quorum.Lower, "5", false},
	{"99" + tagB, quorum.Lower, "100", true},

	{"-1", quorum.Lower, "0", true},
	{"-1", quorum.Lower, "1", true},
	{"0", quorum.Lower, "-1", false},
	{"1", quorum.Lower, "-1", false},
	{"-5", quorum.Lower, "-4", true},
	{"-5", quorum.Lower, "-5", false},
	{"-5", quorum.Lower, "-6", false},
	{"-10", quorum.Lower, "-9", true},
	{"-9", quorum.Lower, "-10", false},
	{"-5" + tagA, quorum.Lower, "-4", true},

	{twoTo53, quorum.Lower, twoTo53Up, true},
	{twoTo53Up, quorum.Lower, twoTo53Up, false},
	{twoTo53Up, quorum.Lower, twoTo53, false},
	{"-" + twoTo53Up, quorum.Lower, "-" + twoTo53, true},
	{"-" + twoTo53, quorum.Lower, "-" + twoTo53Up, false},
	{belowMaxInt, quorum.Lower, maxInt, true},
	{belowMaxInt + tagA, quorum.Lower, maxInt, true},
	{maxInt, quorum.Lower, maxInt, false},
	{maxInt, quorum.Lower, belowMaxInt, false},
	{"999999999999999999", quorum.Lower, maxInt, true},
	{minInt, quorum.Lower, maxInt, true},
	{minInt, quorum.Lower, "-9223372036854775807", true},
	{"-9223372036854775807", quorum.Lower, minInt, false},
	{beyondInt, quorum.Lower, maxInt, false},

	{"", quorum.Lower, "5", false}, // what is no integer is not lower
	{tagA, quorum.Lower, "5", false},
	{"x", quorum.Lower, "5", false},
	{"1x", quorum.Lower, "5", false},
	{"1.0", quorum.Lower, "5", false},
	{"1e0", quorum.Lower, "5", false},
	{"0x1", quorum.Lower, "5", false},
	{"+1", quorum.Lower, "5", false},
	{"01", quorum.Lower, "5", false},
	{"-", quorum.Lower, "5", false},
	{"-0", quorum.Lower, "5", false},
	{" 1", quorum.Lower, "5", false},
	{"1 ", quorum.Lower, "5", false},
	{"1\n", quorum.Lower, "5", false},
	{"nan", quorum.Lower, "5", false},
	{"-inf", quorum.Lower, "5", false},
	{binary, quorum.Lower, "5", false},
}

var guardCases = []Case{
	{"GuardsOnStates", func(t *testing.T, s Subject) { checkRows(t, s, stateRows) }},
	{"GuardsOnValues", func(t *testing.T, s Subject) { checkRows(t, s, valueRows) }},
	{"GuardsOnNumbers", func(t *testing.T, s Subject) { checkRows(t, s, lowerRows) }},
	{"GuardsOnStringsWithoutExpiry", func(t *testing.T, s Subject) {
		s.Plant("k", "v", 0)
		c := trial{t, s, "no ttl"}
		c.granted(quorum.Commit{Guards: []quorum.Guard{{Kind: quorum.Lasting, Key: "k"}}})
		c.refused(quorum.Commit{Guards: []quorum.Guard{{Kind: quorum.Volatile, Key: "k"}}}, str("v"))
	}},
	{"GuardsOnOtherTypes", func(t *testing.T, s Subject) {
		if s.Raw == nil {
			return // the server knows no more types than a list
		}
		s.Raw("HSET", "hash", "f", "v")
		s.Raw("SADD", "set", "v")
		s.Raw("ZADD", "zset", "1", "v")
		for _, name := range []string{"hash", "set", "zset"} {
			c := trial{t, s, name}
			key := quorum.Key(name)
			c.granted(quorum.Commit{Guards: []quorum.Guard{{Kind: quorum.TypeIs, Key: key, Text: name}}})
			c.refused(quorum.Commit{Guards: []quorum.Guard{{Kind: quorum.TypeIs, Key: key, Text: "list"}}}, other)
			c.refused(quorum.Commit{Guards: []quorum.Guard{{Kind: quorum.ValueIs, Key: key, Text: "v"}}}, other)
			c.refused(quorum.Acquire{Key: key, Stored: "v" + tagA}, other)
		}
	}},
	{"ValueGuardsRelease", func(t *testing.T, s Subject) { checkOwners(t, s, valueRows) }},
	{"FirstFailingGuardIsNamed", func(t *testing.T, s Subject) {
		s.Plant("a", "1", long)
		s.Plant("b", "2"+tagA, long)
		holds := quorum.Guard{Kind: quorum.ValueIs, Key: "a", Text: "1"}
		fails := quorum.Guard{Kind: quorum.ValueIs, Key: "b", Text: "1"}
		failsToo := quorum.Guard{Kind: quorum.Absent, Key: "a"}
		for at := range 4 {
			var guards []quorum.Guard
			for range at {
				guards = append(guards, holds)
			}
			c := trial{t, s, fmt.Sprintf("guard %d", at)}
			answer := c.refused(quorum.Commit{Guards: append(guards, fails, failsToo)}, str("2"+tagA))
			if answer.FailedGuard != at {
				t.Errorf("%s failed, and the answer names %d", c.what, answer.FailedGuard)
			}
		}
	}},
	{"ManyGuardsAndWrites", func(t *testing.T, s Subject) {
		var op quorum.Commit
		want := make([]quorum.Held, 50)
		for i := range want {
			key := fmt.Sprint("k", i)
			s.Plant(key, key+tagA, 0)
			want[i] = str(quorum.Stored(key + tagA))
			op.Guards = append(op.Guards, quorum.Guard{Kind: quorum.ValueIs, Key: quorum.Key(key), Text: key})
			op.Writes = append(op.Writes, quorum.Write{Kind: quorum.Put, Key: quorum.Key(key), Stored: "new", TTL: long})
		}
		c := trial{t, s, "50 of each"}
		c.held(c.granted(op), want...)
		for i := range want {
			c.has(fmt.Sprint("k", i), "new", long)
		}
		if answer := c.refused(op, str("new")); answer.FailedGuard != 0 {
			t.Errorf("guard 0 fails, and the answer names %d", answer.FailedGuard)
		}
	}},
}

// checkRows checks each guard alone, with a write to another key behind it.
func checkRows(t *testing.T, s Subject, rows []guardRow) {
	for i, row := range rows {
		c := trial{t, s, fmt.Sprintf("guard kind %d %q on %q", row.kind, row.text, row.there)}
		key, written := fmt.Sprint("k", i), fmt.Sprint("w", i)
		want, ttl := plantState(s, key, row.there)
		op := quorum.Commit{
			Guards: []quorum.Guard{{Kind: row.kind, Key: quorum.Key(key), Text: row.text}},
			Writes: []quorum.Write{{Kind: quorum.Put, Key: quorum.Key(written), Stored: "new", TTL: long}},
		}
		if row.holds {
			c.held(c.granted(op), nothing)
			c.has(written, "new", long)
		} else {
			if answer := c.refused(op, want); answer.FailedGuard != 0 {
				t.Errorf("%s: the answer names guard %d", c.what, answer.FailedGuard)
			}
			c.gone(written)
		}
		switch want.Kind { // a guard changes nothing
		case quorum.Nothing:
			c.gone(key)
		case quorum.String:
			c.has(key, row.there, ttl)
		default:
			c.lives(key, ttl)
		}
	}
}

// checkOwners checks guards whose only write is to the guarded key itself: a release
// and an extension, which a backend may do in a way of their own.
func checkOwners(t *testing.T, s Subject, rows []guardRow) {
	const extended = 2 * long
	for i, row := range rows {
		c := trial{t, s, fmt.Sprintf("owner by guard kind %d %q on %q", row.kind, row.text, row.there)}
		key := fmt.Sprint("k", i)
		want, ttl := plantState(s, key, row.there)
		for _, write := range []quorum.Write{
			{Kind: quorum.Expire, Key: quorum.Key(key), TTL: extended},
			{Kind: quorum.Delete, Key: quorum.Key(key)},
		} {
			op := quorum.Commit{
				Guards: []quorum.Guard{{Kind: row.kind, Key: quorum.Key(key), Text: row.text}},
				Writes: []quorum.Write{write},
			}
			switch {
			case !row.holds:
				c.refused(op, want)
				if want.Kind == quorum.String {
					c.has(key, row.there, ttl)
				}
			case write.Kind == quorum.Expire:
				c.held(c.granted(op), want)
				c.has(key, row.there, extended)
			default:
				c.held(c.granted(op), want)
				c.gone(key)
			}
		}
	}
}

// plantState brings a key into the state that a row names, and says what an
// answer would say of it, and the time to live.
func plantState(s Subject, key, there string) (quorum.Held, time.Duration) {
	switch there {
	case absent:
		return nothing, 0
	case list:
		s.PlantList(key)
		return other, 0
	}
	s.Plant(key, there, long)
	return str(quorum.Stored(there)), long
}
