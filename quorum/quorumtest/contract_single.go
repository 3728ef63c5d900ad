package quorumtest

import (
	"fmt"
	"math"
	"testing"
	"time"

	"redlockproxy/quorum"
)

var acquireCases = []Case{
	{"AcquireStoresWhereNothingIs", func(t *testing.T, s Subject) {
		for i, ttl := range []time.Duration{long, days, 0} {
			c := trial{t, s, fmt.Sprintf("ttl %v", ttl)}
			key := fmt.Sprint("k", i)
			c.granted(quorum.Acquire{Key: quorum.Key(key), Stored: "v" + tagA, TTL: ttl})
			c.has(key, "v"+tagA, ttl)
		}
	}},
	{"AcquireIsRefusedByAnyString", func(t *testing.T, s Subject) {
		for i, there := range []string{"v" + tagA, "v" + tagB, "other", "", binary} {
			c := trial{t, s, fmt.Sprintf("%q there", there)}
			key := fmt.Sprint("k", i)
			s.Plant(key, there, long)
			c.refused(quorum.Acquire{Key: quorum.Key(key), Stored: "v" + tagA, TTL: days}, str(quorum.Stored(there)))
			c.has(key, there, long)
		}
	}},
	{"AcquireIsRefusedByAnotherType", func(t *testing.T, s Subject) {
		c := trial{t, s, "list"}
		s.PlantList("k")
		c.refused(quorum.Acquire{Key: "k", Stored: "v" + tagA, TTL: long}, other)
		c.refused(quorum.Acquire{Key: "k", Stored: "v" + tagA}, other)
		c.lives("k", 0)
	}},
	{"AcquireEndsAfterItsTTL", func(t *testing.T, s Subject) {
		c := trial{t, s, "brief"}
		op := quorum.Acquire{Key: "k", Stored: "v" + tagA, TTL: brief}
		c.granted(op)
		if left := s.PTTL("k"); left > brief {
			t.Errorf("%v left of %v", left, brief)
		}
		s.Sleep(2 * brief)
		c.gone("k")
		c.granted(op)
	}},
	{"AcquireTakesAnyBytes", func(t *testing.T, s Subject) {
		c := trial{t, s, "binary"}
		c.granted(quorum.Acquire{Key: binary, Stored: binary + tagA, TTL: long})
		c.has(binary, binary+tagA, long)
		c.granted(quorum.Acquire{Key: "empty", Stored: "", TTL: long})
		c.has("empty", "", long)
	}},
}

var readCases = []Case{
	{"ReadFollowsTheOrderOfItsKeys", func(t *testing.T, s Subject) {
		s.Plant("a", "1", 0)
		s.Plant("b", "v"+tagA, long)
		s.Plant("c", "", long)
		s.Plant(binary, binary, 0)
		s.PlantList("l")
		for _, full := range []bool{false, true} {
			c := trial{t, s, fmt.Sprintf("full %v", full)}
			keys := []quorum.Key{"l", "b", "none", "a", "b", binary, "c"}
			c.held(c.granted(quorum.Read{Keys: keys, Full: full}),
				other, str("v"+tagA), nothing, str("1"), str("v"+tagA), str(binary), str(""))
		}
	}},
	{"FullReadKnowsTimesAndTypes", func(t *testing.T, s Subject) {
		s.Plant("a", "1", 0)
		s.Plant("b", "v", long)
		s.Plant("d", "v", days)
		s.PlantList("l")
		keys := []quorum.Key{"a", "b", "d", "l", "none"}
		wantTTL := []time.Duration{quorum.NoTTL, long, days, quorum.NoTTL}
		wantType := []string{"", "", "", "list", ""}
		if s.Raw != nil {
			s.Raw("HSET", "h", "f", "v")
			s.Raw("PEXPIRE", "h", fmt.Sprint(long.Milliseconds()))
			keys, wantTTL, wantType = append(keys[:4], "h"), append(wantTTL, long), append(wantType[:4], "hash")
		}
		c := trial{t, s, "full"}
		answer := c.granted(quorum.Read{Keys: keys, Full: true})
		for i, want := range wantTTL {
			if h := answer.Held[i]; !alike(h.TTL, want) || h.Kind == quorum.Other && h.Type != wantType[i] {
				t.Errorf("%s: %v left, type %q; want %v, %q", keys[i], h.TTL, h.Type, want, wantType[i])
			}
		}
	}},
	{"ReadTakesManyKeys", func(t *testing.T, s Subject) {
		for _, full := range []bool{false, true} {
			c := trial{t, s, fmt.Sprintf("full %v", full)}
			var keys []quorum.Key
			var want []quorum.Held
			for i := range 100 {
				key := fmt.Sprint("k", i)
				s.Plant(key, key, 0)
				keys, want = append(keys, quorum.Key(key)), append(want, str(quorum.Stored(key)))
			}
			c.held(c.granted(quorum.Read{Keys: keys, Full: full}), want...)
		}
	}},
	{"ExpiredKeysAreAbsent", func(t *testing.T, s Subject) {
		c := trial{t, s, "expired"}
		for _, key := range []string{"r", "a", "i", "g", "p", "e", "l"} {
			s.Plant(key, "9", brief)
		}
		s.Sleep(2 * brief)
		c.held(c.granted(quorum.Read{Keys: []quorum.Key{"r"}, Full: true}), nothing)
		c.held(c.granted(quorum.Read{Keys: []quorum.Key{"r"}}), nothing)
		c.granted(quorum.Acquire{Key: "a", Stored: "v" + tagA, TTL: long})
		if n := c.granted(quorum.Increment{Key: "i", By: 1}).Number; n != 1 {
			t.Errorf("an expired counter went on to %d", n)
		}
		c.has("i", "1", 0)
		c.held(c.granted(quorum.Commit{
			Guards: []quorum.Guard{{Kind: quorum.Absent, Key: "g"}, {Kind: quorum.Lower, Key: "l", Text: "3"}},
			Writes: []quorum.Write{
				{Kind: quorum.Raise, Key: "p", Stored: "5"},
				{Kind: quorum.Expire, Key: "e", TTL: long},
			},
		}), nothing, nothing)
		c.has("p", "5", 0)
		c.gone("e")
		c.refused(quorum.Commit{Guards: []quorum.Guard{{Kind: quorum.Present, Key: "g"}}}, nothing)
	}},
}

// maxInt and its neighbours, and the first integers that a double cannot hold.
const (
	maxInt      = "9223372036854775807"
	belowMaxInt = "9223372036854775806"
	beyondInt   = "9223372036854775808"
	minInt      = "-9223372036854775808"
	twoTo53     = "9007199254740992"
	twoTo53Up   = "9007199254740993"
)

var incrementCases = []Case{
	{"IncrementCountsExactly", func(t *testing.T, s Subject) {
		for i, row := range []struct {
			there string // "" for nothing
			by    int64
			want  string
		}{
			{"", 1, "1"},
			{"", 7, "7"},
			{"", math.MaxInt64, maxInt},
			{"0", 1, "1"},
			{"41", 1, "42"},
			{"-1", 1, "0"},
			{"-5", 3, "-2"},
			{"9", 91, "100"},
			{twoTo53, 1, twoTo53Up},
			{twoTo53Up, 1, "9007199254740994"},
			{belowMaxInt, 1, maxInt},
			{minInt, math.MaxInt64, "-1"},
		} {
			c := trial{t, s, fmt.Sprintf("%q + %d", row.there, row.by)}
			key := fmt.Sprint("n", i)
			ttl := time.Duration(0)
			if row.there != "" {
				ttl = long
				s.Plant(key, row.there, ttl)
			}
			answer := c.granted(quorum.Increment{Key: quorum.Key(key), By: row.by})
			if got := fmt.Sprint(answer.Number); got != row.want {
				t.Errorf("%s = %s, want %s", c.what, got, row.want)
			}
			c.has(key, row.want, ttl)
		}
	}},
	{"IncrementKeepsLivingForEver", func(t *testing.T, s Subject) {
		c := trial{t, s, "no ttl"}
		s.Plant("n", "1", 0)
		c.granted(quorum.Increment{Key: "n", By: 1})
		c.has("n", "2", 0)
	}},
	{"IncrementIsRefusedByWhatIsNoPlainInteger", func(t *testing.T, s Subject) {
		values := []string{"", "x", "1x", "1.0", "1e3", "0x10", "-", " 1", "1 ", "1\n", "5" + tagA, tagA, beyondInt, binary}
		if !s.LooseNumbers {
			values = append(values, "007", "+5", "-0")
		}
		for i, there := range values {
			c := trial{t, s, fmt.Sprintf("%q there", there)}
			key := fmt.Sprint("n", i)
			s.Plant(key, there, long)
			answer := c.refused(quorum.Increment{Key: quorum.Key(key), By: 1}, str(quorum.Stored(there)))
			if answer.Overflow {
				t.Errorf("%s: called an overflow", c.what)
			}
			c.has(key, there, long)
		}
		c := trial{t, s, "list there"}
		s.PlantList("l")
		if c.refused(quorum.Increment{Key: "l", By: 1}, other).Overflow {
			t.Errorf("%s: called an overflow", c.what)
		}
		c.lives("l", 0)
	}},
	{"IncrementDoesNotOverflow", func(t *testing.T, s Subject) {
		for i, row := range []struct {
			there string
			by    int64
		}{{maxInt, 1}, {belowMaxInt, 2}, {"1", math.MaxInt64}, {maxInt, math.MaxInt64}} {
			c := trial{t, s, fmt.Sprintf("%s + %d", row.there, row.by)}
			key := fmt.Sprint("n", i)
			s.Plant(key, row.there, long)
			answer := c.refused(quorum.Increment{Key: quorum.Key(key), By: row.by}, str(quorum.Stored(row.there)))
			if !answer.Overflow {
				t.Errorf("%s: not called an overflow", c.what)
			}
			c.has(key, row.there, long)
		}
	}},
}
