package quorumtest

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"redlockproxy/quorum"
)

// walk goes through all keys of a subject and counts how often each comes.
func (c trial) walk(op quorum.Walk) map[quorum.Key]int {
	c.Helper()
	found := make(map[quorum.Key]int)
	for range 1000 {
		answer := c.granted(op)
		for _, k := range answer.Keys {
			found[k]++
		}
		if op.Cursor = answer.Next; op.Cursor == 0 {
			return found
		}
	}
	c.Fatalf("%s: a walk without an end", c.what)
	return nil
}

var walkCases = []Case{
	{"WalkNamesEveryKey", func(t *testing.T, s Subject) {
		c := trial{t, s, "walk"}
		if found := c.walk(quorum.Walk{Count: 10}); len(found) != 0 {
			t.Errorf("of nothing: %v", found)
		}
		planted := map[quorum.Key]int{binary: 1, "": 1, "list": 1}
		s.Plant(binary, "v", long)
		s.Plant("", "", 0)
		s.PlantList("list")
		for i := range 100 {
			key := fmt.Sprint("k", i)
			s.Plant(key, "v", long)
			planted[quorum.Key(key)] = 1
		}
		for _, count := range []int{1, 10, 1000} {
			found := c.walk(quorum.Walk{Count: count})
			for k := range found {
				found[k] = 1
			}
			if !maps.Equal(found, planted) {
				t.Errorf("by %d: %d keys, want %d", count, len(found), len(planted))
			}
		}
		if answer := c.granted(quorum.Walk{}); answer.Number != int64(len(planted)) {
			t.Errorf("%d keys are counted, want %d", answer.Number, len(planted))
		}
	}},
	{"BriefReadTellsValuesApart", func(t *testing.T, s Subject) {
		c := trial{t, s, "brief read"}
		huge := strings.Repeat("x", 100_000)
		s.Plant("a", huge, 0)
		s.Plant("b", huge, 0)
		s.Plant("c", huge+"y", 0)
		s.Plant("n", "-9223372036854775808"+tagA, long)
		s.PlantList("list")
		answer := c.granted(quorum.Read{Keys: []quorum.Key{"a", "b", "c", "n", "list", "none"}, Full: true, Brief: true})
		h := answer.Held
		if len(h) != 6 || h[0] != h[1] || h[0].Stored == h[2].Stored || h[3].Stored != "-9223372036854775808"+tagA ||
			h[4].Type != "list" || h[5].Kind != quorum.Nothing {
			t.Errorf("%.200v", fmt.Sprint(h))
		}
	}},
}
