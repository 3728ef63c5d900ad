package quorumtest

import (
	"fmt"
	"testing"
	"time"

	"redlockproxy/quorum"
)

// writeRow is a write to a key in some state, and what the key is afterwards.
type writeRow struct {
	there    string // as in guardRow
	thereTTL time.Duration
	kind     quorum.WriteKind
	stored   quorum.Stored
	ttl      time.Duration
	after    string // absent or list, or the string
	afterTTL time.Duration
}

const short = 30 * time.Second // not to be mistaken for long

// Writes of values.
var putRows = []writeRow{
	{absent, 0, quorum.Put, "v" + tagA, long, "v" + tagA, long},
	{absent, 0, quorum.Put, "v" + tagA, 0, "v" + tagA, 0},
	{absent, 0, quorum.Put, "", days, "", days},
	{absent, 0, quorum.Put, binary, 0, binary, 0},
	{"old", 0, quorum.Put, "v", long, "v", long},
	{"old", long, quorum.Put, "v", short, "v", short},
	{"old", short, quorum.Put, "v", long, "v", long},
	{"old", long, quorum.Put, "v", 0, "v", 0},
	{list, 0, quorum.Put, "v", long, "v", long},
	{list, 0, quorum.Put, "v", 0, "v", 0},

	{absent, 0, quorum.Refresh, "v" + tagA, long, "v" + tagA, long},
	{absent, 0, quorum.Refresh, "v" + tagA, 0, "v" + tagA, 0},
	{"v", 0, quorum.Refresh, "v" + tagA, long, "v", long},
	{"v" + tagB, short, quorum.Refresh, "v" + tagA, long, "v" + tagB, long},
	{"v" + tagB, long, quorum.Refresh, "v" + tagA, short, "v" + tagB, short},
	{"v" + tagB, long, quorum.Refresh, "v" + tagA, 0, "v" + tagB, 0},
	{"v" + tagB, long, quorum.Refresh, "v", days, "v" + tagB, days},
	{"w" + tagB, long, quorum.Refresh, "v" + tagA, short, "v" + tagA, short},
	{"w" + tagB, long, quorum.Refresh, "v" + tagA, 0, "v" + tagA, 0},
	{"v" + tagB + tagA, long, quorum.Refresh, "v" + tagA, short, "v" + tagA, short},
	{"", long, quorum.Refresh, tagA, short, "", short},
	{binary + tagB, long, quorum.Refresh, binary + tagA, short, binary + tagB, short},
	{list, 0, quorum.Refresh, "v", long, "v", long},

	{absent, 0, quorum.Raise, "5", 0, "5", 0},
	{"4", 0, quorum.Raise, "5", 0, "5", 0},
	{"4", long, quorum.Raise, "5", 0, "5", long},
	{"4" + tagA, long, quorum.Raise, "5", 0, "5", long},
	{twoTo53, long, quorum.Raise, twoTo53Up, 0, twoTo53Up, long},
	{belowMaxInt, 0, quorum.Raise, maxInt, 0, maxInt, 0},
	{minInt, 0, quorum.Raise, "-9223372036854775807", 0, "-9223372036854775807", 0},
}

// Removals and writes of times.
var timeRows = []writeRow{
	{absent, 0, quorum.Delete, "", 0, absent, 0},
	{"v" + tagA, 0, quorum.Delete, "", 0, absent, 0},
	{"v", long, quorum.Delete, "", 0, absent, 0},
	{list, 0, quorum.Delete, "", 0, absent, 0},

	{absent, 0, quorum.Expire, "", long, absent, 0},
	{absent, 0, quorum.Expire, "", 0, absent, 0},
	{"v" + tagA, 0, quorum.Expire, "", long, "v" + tagA, long},
	{"v", long, quorum.Expire, "", short, "v", short},
	{"v", short, quorum.Expire, "", days, "v", days},
	{"v", long, quorum.Expire, "", 0, absent, 0},
	{"v", 0, quorum.Expire, "", -time.Millisecond, absent, 0},
	{list, 0, quorum.Expire, "", long, list, long},
	{list, 0, quorum.Expire, "", 0, absent, 0},

	{absent, 0, quorum.Persist, "", 0, absent, 0},
	{"v" + tagA, long, quorum.Persist, "", 0, "v" + tagA, 0},
	{"v", 0, quorum.Persist, "", 0, "v", 0},
	{list, 0, quorum.Persist, "", 0, list, 0},
}

var writeCases = []Case{
	{"WritesOfValues", func(t *testing.T, s Subject) { checkWrites(t, s, putRows) }},
	{"WritesOfTimesAndRemovals", func(t *testing.T, s Subject) { checkWrites(t, s, timeRows) }},
	{"BriefWritesEnd", func(t *testing.T, s Subject) {
		c := trial{t, s, "brief"}
		s.Plant("e", "v", 0)
		s.Plant("r", "v"+tagB, long)
		c.granted(quorum.Commit{Writes: []quorum.Write{
			{Kind: quorum.Put, Key: "p", Stored: "v", TTL: brief},
			{Kind: quorum.Expire, Key: "e", TTL: brief},
			{Kind: quorum.Refresh, Key: "r", Stored: "v" + tagA, TTL: brief},
		}})
		s.Sleep(2 * brief)
		for _, key := range []string{"p", "e", "r"} {
			c.gone(key)
		}
	}},
	{"KeptExpiryOfAnotherType", func(t *testing.T, s Subject) {
		c := trial{t, s, "list"}
		s.PlantList("l")
		c.held(c.granted(quorum.Commit{Writes: []quorum.Write{
			{Kind: quorum.Expire, Key: "l", TTL: long},
			{Kind: quorum.Raise, Key: "l", Stored: "5"},
		}}), other, other)
		c.has("l", "5", long)
	}},
	{"WritesOnOneKeyFollowEachOther", func(t *testing.T, s Subject) {
		c := trial{t, s, "one key"}
		s.Plant("k", "0"+tagA, short)
		c.held(c.granted(quorum.Commit{
			Guards: []quorum.Guard{
				{Kind: quorum.ValueIs, Key: "k", Text: "0"}, // before all writes, whatever they do
				{Kind: quorum.Absent, Key: "x"},
				{Kind: quorum.Volatile, Key: "k"},
			},
			Writes: []quorum.Write{
				{Kind: quorum.Raise, Key: "k", Stored: "1"},
				{Kind: quorum.Put, Key: "x", Stored: "x", TTL: long},
				{Kind: quorum.Raise, Key: "k", Stored: "2"},
				{Kind: quorum.Delete, Key: "k"},
				{Kind: quorum.Expire, Key: "k", TTL: short},
				{Kind: quorum.Put, Key: "k", Stored: "3" + tagB, TTL: short},
				{Kind: quorum.Refresh, Key: "k", Stored: "3" + tagA, TTL: long},
				{Kind: quorum.Delete, Key: "x"},
				{Kind: quorum.Expire, Key: "k", TTL: 0},
				{Kind: quorum.Raise, Key: "k", Stored: "4"},
				{Kind: quorum.Expire, Key: "k", TTL: long},
			},
		}), str("0"+tagA), nothing, str("1"), str("2"), nothing, nothing, str("3"+tagB), str("x"), str("3"+tagB), nothing, str("4"))
		c.has("k", "4", long)
		c.gone("x")
	}},
	{"CommitNeedsNoGuardsAndNoWrites", func(t *testing.T, s Subject) {
		c := trial{t, s, "half a commit"}
		c.held(c.granted(quorum.Commit{Guards: []quorum.Guard{{Kind: quorum.Absent, Key: "k"}}}))
		c.held(c.granted(quorum.Commit{Writes: []quorum.Write{{Kind: quorum.Delete, Key: "k"}}}), nothing)
	}},
	{"CommitTakesAnyBytes", func(t *testing.T, s Subject) {
		c := trial{t, s, "binary"}
		s.Plant(binary, binary+tagA, long)
		c.held(c.granted(quorum.Commit{
			Guards: []quorum.Guard{{Kind: quorum.StoredIs, Key: binary, Text: binary + tagA}},
			Writes: []quorum.Write{{Kind: quorum.Put, Key: binary, Stored: binary + tagB, TTL: long}},
		}), str(binary+tagA))
		c.has(binary, binary+tagB, long)
	}},
	{"RefusalWritesNothing", func(t *testing.T, s Subject) {
		c := trial{t, s, "refused"}
		for _, key := range []string{"p", "k", "r", "d", "e", "n"} {
			s.Plant(key, "1"+tagA, short)
		}
		answer := c.refused(quorum.Commit{
			Guards: []quorum.Guard{
				{Kind: quorum.ValueIs, Key: "p", Text: "1"},
				{Kind: quorum.Absent, Key: "new"},
				{Kind: quorum.Lower, Key: "n", Text: "1"},
				{Kind: quorum.Absent, Key: "p"},
			},
			Writes: []quorum.Write{
				{Kind: quorum.Put, Key: "p", Stored: "2", TTL: long},
				{Kind: quorum.Put, Key: "new", Stored: "2", TTL: long},
				{Kind: quorum.Raise, Key: "k", Stored: "2"},
				{Kind: quorum.Refresh, Key: "r", Stored: "1" + tagB, TTL: long},
				{Kind: quorum.Delete, Key: "d"},
				{Kind: quorum.Expire, Key: "e", TTL: long},
				{Kind: quorum.Raise, Key: "n", Stored: "2"},
				{Kind: quorum.Persist, Key: "p"},
			},
		}, str("1"+tagA))
		if answer.FailedGuard != 2 {
			t.Errorf("guard 2 is the first that fails, and the answer names %d", answer.FailedGuard)
		}
		for _, key := range []string{"p", "k", "r", "d", "e", "n"} {
			c.has(key, "1"+tagA, short)
		}
		c.gone("new")
	}},
}

// checkWrites checks each write alone.
func checkWrites(t *testing.T, s Subject, rows []writeRow) {
	for i, row := range rows {
		c := trial{t, s, fmt.Sprintf("write kind %d of %q, %v over %q, %v", row.kind, row.stored, row.ttl, row.there, row.thereTTL)}
		key := fmt.Sprint("k", i)
		want := nothing
		switch row.there {
		case absent:
		case list:
			s.PlantList(key)
			want = other
		default:
			s.Plant(key, row.there, row.thereTTL)
			want = str(quorum.Stored(row.there))
		}
		c.held(c.granted(quorum.Commit{Writes: []quorum.Write{
			{Kind: row.kind, Key: quorum.Key(key), Stored: row.stored, TTL: row.ttl},
		}}), want)
		switch row.after {
		case absent:
			c.gone(key)
		case list:
			c.lives(key, row.afterTTL)
			c.held(c.granted(quorum.Read{Keys: []quorum.Key{quorum.Key(key)}}), other)
		default:
			c.has(key, row.after, row.afterTTL)
		}
	}
}
