package engine

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"redlockproxy/quorum"
	"redlockproxy/resp"
)

const ms = time.Millisecond

// holding is a string that has ttl left.
func holding(value string, ttl time.Duration) quorum.Holding {
	return quorum.Holding{Kind: quorum.String, Stored: quorum.Stored(value), TTL: ttl}
}

var (
	absent  = quorum.Holding{}
	aList   = quorum.Holding{Kind: quorum.Other, Type: "list", TTL: quorum.NoTTL}
	lasting = holding("v", quorum.NoTTL)
)

// view is what a majority holds under k, k0, k1 and so on.
func view(held ...quorum.Holding) *quorum.View {
	keys := []quorum.Key{"k"}
	for i := range held[1:] {
		keys = append(keys, quorum.Key(fmt.Sprint("k", i)))
	}
	return quorum.Known(keys, held)
}

// apply carries out a command on a view.
func apply(t *testing.T, v *quorum.View, args ...string) resp.Reply {
	t.Helper()
	request, err := resp.Parse(args)
	if err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	reply, err := Engine{MaxTTL: time.Hour}.Apply(v, request)
	if err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	return reply
}

func want(t *testing.T, got, wanted resp.Reply, args ...any) {
	t.Helper()
	if fmt.Sprintf("%#v", got) != fmt.Sprintf("%#v", wanted) {
		t.Errorf("%v: %#v, wanted %#v", args, got, wanted)
	}
}

func TestConditionsOfExpire(t *testing.T) {
	for _, c := range []struct {
		held      quorum.Holding
		condition string
		seconds   string
		done      int
		left      time.Duration // -2: removed or absent
	}{
		{absent, "", "10", 0, -2}, {absent, "NX", "10", 0, -2}, {absent, "XX", "-1", 0, -2},
		{lasting, "", "10", 1, 10 * time.Second}, {holding("v", 20*time.Second), "", "10", 1, 10 * time.Second},
		{lasting, "NX", "10", 1, 10 * time.Second}, {holding("v", 20*time.Second), "NX", "10", 0, 20 * time.Second},
		{lasting, "XX", "10", 0, quorum.NoTTL}, {holding("v", 20*time.Second), "XX", "10", 1, 10 * time.Second},
		{lasting, "GT", "10", 0, quorum.NoTTL}, {holding("v", 20*time.Second), "GT", "10", 0, 20 * time.Second},
		{holding("v", 20*time.Second), "GT", "20", 0, 20 * time.Second}, {holding("v", 20*time.Second), "GT", "30", 1, 30 * time.Second},
		{lasting, "LT", "10", 1, 10 * time.Second}, {holding("v", 20*time.Second), "LT", "10", 1, 10 * time.Second},
		{holding("v", 20*time.Second), "LT", "20", 0, 20 * time.Second}, {holding("v", 20*time.Second), "LT", "30", 0, 20 * time.Second},
		{lasting, "XX LT", "10", 0, quorum.NoTTL}, {holding("v", 20*time.Second), "XX LT", "10", 1, 10 * time.Second},
		{lasting, "XX GT", "10", 0, quorum.NoTTL}, {holding("v", 20*time.Second), "XX GT", "30", 1, 30 * time.Second},
		{lasting, "", "0", 1, -2}, {lasting, "", "-1", 1, -2}, {lasting, "XX", "-1", 0, quorum.NoTTL}, {lasting, "LT", "-1", 1, -2},
		{holding("v", 20*time.Second), "GT", "-1", 0, 20 * time.Second}, {holding("v", 20*time.Second), "LT", "-1", 1, -2}, {lasting, "NX", "0", 1, -2},
		{aList, "", "10", 1, 10 * time.Second},
	} {
		v := view(c.held)
		args := append([]string{"EXPIRE", "k", c.seconds}, strings.Fields(c.condition)...)
		want(t, apply(t, v, args...), resp.Int(c.done), args, c.held)
		left, there, err := v.TTL("k")
		if !there {
			left = -2
		}
		if err != nil || left != c.left {
			t.Errorf("%v on %v: %s left (%v), wanted %s", args, c.held, left, err, c.left)
		}
	}
}

func TestAbsoluteExpireInThePastRemoves(t *testing.T) {
	for _, args := range [][]string{
		{"EXPIREAT", "k", "1"}, {"PEXPIREAT", "k", "1000"}, {"PEXPIREAT", "k", "-9223372036854775808"}, {"EXPIREAT", "k", "0"},
	} {
		v := view(lasting)
		want(t, apply(t, v, args...), resp.Int(1), args)
		want(t, apply(t, v, "EXISTS", "k"), resp.Int(0), args)
	}
	v := view(lasting)
	want(t, apply(t, v, "SET", "k", "w", "PXAT", "1000"), resp.OK)
	want(t, apply(t, v, "GET", "k"), resp.Null{})
}

func TestTimesToLiveAreBoundedAndDoNotOverflow(t *testing.T) {
	for _, c := range []struct {
		x    resp.Expiry
		ttl  time.Duration
		ok   bool
		near time.Duration
	}{
		{resp.Expiry{}, 0, false, 0},
		{resp.Expiry{Kind: resp.ExpireIn, Millis: 5}, 5 * ms, true, 0},
		{resp.Expiry{Kind: resp.ExpireIn, Millis: -5}, -5 * ms, true, 0},
		{resp.Expiry{Kind: resp.ExpireIn, Millis: resp.MaxMillis}, math.MaxInt64 / ms * ms, true, 0},
		{resp.Expiry{Kind: resp.ExpireIn, Millis: -resp.MaxMillis}, -math.MaxInt64 / ms * ms, true, 0},
		{resp.Expiry{Kind: resp.ExpireAt, Millis: resp.MaxMillis}, math.MaxInt64 / ms * ms, true, 0},
		{resp.Expiry{Kind: resp.ExpireAt, Millis: -resp.MaxMillis}, -math.MaxInt64 / ms * ms, true, 0},
		{resp.Expiry{Kind: resp.ExpireAt, Millis: time.Now().UnixMilli() + 60_000}, time.Minute, true, 10 * time.Second},
	} {
		ttl, ok := TTL(c.x)
		if ok != c.ok || ttl < c.ttl-c.near || ttl > c.ttl+c.near {
			t.Errorf("%+v: %s, %t", c.x, ttl, ok)
		}
	}
	tooLong := resp.TTLTooLong(time.Hour)
	for _, args := range [][]string{
		{"SET", "k", "v", "PX", "3600001"}, {"SET", "k", "v", "EX", "3601", "NX"}, {"PSETEX", "k", "3600001", "v"}, {"PEXPIRE", "k", "3600001"},
		{"EXPIRE", "k", "4611686018427387", "GT"}, {"SET", "k", "v", "PXAT", "4611686018427387904"}, {"PEXPIREAT", "k", "4611686018427387904"},
	} {
		v := view(lasting)
		want(t, apply(t, v, args...), tooLong, args)
		want(t, apply(t, v, "PTTL", "k"), resp.Int(-1), args)
	}
	want(t, apply(t, view(lasting), "SET", "k", "v", "PX", "3600000"), resp.OK)
}

func TestPartsOfValues(t *testing.T) {
	for _, c := range []struct{ value, from, to, wanted string }{
		{"hello", "0", "-1", "hello"}, {"hello", "0", "0", "h"}, {"hello", "1", "3", "ell"}, {"hello", "-3", "-2", "ll"}, {"hello", "3", "1", ""},
		{"hello", "-1", "-3", ""}, {"hello", "5", "9", ""}, {"hello", "4", "9", "o"}, {"hello", "-100", "1", "he"}, {"hello", "-100", "-99", "h"},
		{"hello", "-100", "-100", "h"}, {"hello", "0", "-100", "h"}, {"hello", "1", "-100", ""}, {"", "0", "-1", ""}, {"", "0", "0", ""}, {"", "-1", "-1", ""},
		{"hello", "-9223372036854775808", "9223372036854775807", "hello"}, {"hello", "9223372036854775807", "-9223372036854775808", ""},
		{"hello", "-9223372036854775808", "-9223372036854775808", "h"}, {"\x00\xff", "1", "1", "\xff"},
	} {
		want(t, apply(t, view(holding(c.value, quorum.NoTTL)), "GETRANGE", "k", c.from, c.to), resp.Bulk(c.wanted), c)
	}
	want(t, apply(t, view(absent), "GETRANGE", "k", "0", "-1"), resp.Bulk(""))
	want(t, apply(t, view(aList), "SUBSTR", "k", "0", "-1"), resp.ErrWrongType)
}

func TestRoundingOfTimesToLive(t *testing.T) {
	for left, seconds := range map[time.Duration]int{
		0: 0, 499 * ms: 0, 500 * ms: 1, 999 * ms: 1, 1499 * ms: 1, 1500 * ms: 2, time.Hour: 3600, quorum.NoTTL: -1,
	} {
		want(t, apply(t, view(holding("v", left)), "TTL", "k"), resp.Int(seconds), left)
		if left != quorum.NoTTL {
			want(t, apply(t, view(holding("v", left)), "PTTL", "k"), resp.Int(left.Milliseconds()), left)
		}
	}
	for _, name := range []string{"TTL", "PTTL", "EXPIRETIME", "PEXPIRETIME"} {
		want(t, apply(t, view(absent), name, "k"), resp.Int(-2), name)
		want(t, apply(t, view(lasting), name, "k"), resp.Int(-1), name)
	}
}

// What is left is known to the millisecond before or behind, and the time that was set
// in whole seconds must come out again.
func TestAbsoluteExpiryIsRoundedToTheSecond(t *testing.T) {
	at := time.Now().Add(time.Minute).Truncate(time.Second)
	for _, off := range []time.Duration{-300 * ms, -1 * ms, 0, 1 * ms, 300 * ms} {
		left := time.Until(at) + off
		want(t, apply(t, view(holding("v", left)), "EXPIRETIME", "k"), resp.Int(at.Unix()), off)
	}
}

func TestSetAnswersWhatWasAskedFor(t *testing.T) {
	for _, c := range []struct {
		held    quorum.Holding
		command []string
		reply   resp.Reply
		after   string // "" if the key is absent
	}{
		{absent, []string{"SET", "k", "w", "NX"}, resp.OK, "w"}, {lasting, []string{"SET", "k", "w", "NX"}, resp.Null{}, "v"},
		{absent, []string{"SET", "k", "w", "XX"}, resp.Null{}, ""}, {lasting, []string{"SET", "k", "w", "XX"}, resp.OK, "w"},
		{absent, []string{"SET", "k", "w", "NX", "GET"}, resp.Null{}, "w"}, {lasting, []string{"SET", "k", "w", "NX", "GET"}, resp.Bulk("v"), "v"},
		{absent, []string{"SET", "k", "w", "XX", "GET"}, resp.Null{}, ""}, {lasting, []string{"SET", "k", "w", "GET"}, resp.Bulk("v"), "w"},
		{lasting, []string{"SET", "k", "w", "IFEQ", "v"}, resp.OK, "w"}, {lasting, []string{"SET", "k", "w", "IFEQ", "x"}, resp.Null{}, "v"},
		{absent, []string{"SET", "k", "w", "IFEQ", ""}, resp.Null{}, ""}, {absent, []string{"SET", "k", "w", "IFNE", "v"}, resp.OK, "w"},
		{lasting, []string{"SET", "k", "w", "IFNE", "v"}, resp.Null{}, "v"}, {lasting, []string{"SET", "k", "w", "IFNE", "x", "GET"}, resp.Bulk("v"), "w"},
		{absent, []string{"SETNX", "k", "w"}, resp.Int(1), "w"}, {lasting, []string{"SETNX", "k", "w"}, resp.Int(0), "v"},
		{lasting, []string{"DELEX", "k"}, resp.Int(1), ""}, {absent, []string{"DELEX", "k"}, resp.Int(0), ""},
		{lasting, []string{"DELEX", "k", "IFEQ", "v"}, resp.Int(1), ""}, {lasting, []string{"DELEX", "k", "IFEQ", "x"}, resp.Int(0), "v"},
		{lasting, []string{"DELEX", "k", "IFNE", "v"}, resp.Int(0), "v"}, {lasting, []string{"DELEX", "k", "IFNE", "x"}, resp.Int(1), ""},
		{absent, []string{"DELEX", "k", "IFNE", "x"}, resp.Int(0), ""}, {lasting, []string{"DELIFEQ", "k", "v"}, resp.Int(1), ""},
		{lasting, []string{"GETDEL", "k"}, resp.Bulk("v"), ""}, {absent, []string{"GETDEL", "k"}, resp.Null{}, ""},
		{absent, []string{"PERSIST", "k"}, resp.Int(0), ""}, {lasting, []string{"PERSIST", "k"}, resp.Int(0), "v"}, {holding("v", time.Minute), []string{"PERSIST", "k"}, resp.Int(1), "v"},
		{lasting, []string{"DEL", "k", "k"}, resp.Int(1), ""}, {lasting, []string{"INCR", "k"}, resp.ErrNotInteger, "v"},
		{holding("9223372036854775807", quorum.NoTTL), []string{"INCR", "k"}, resp.ErrOverflow, "9223372036854775807"},
		{holding("41", time.Minute), []string{"INCR", "k"}, resp.Int(42), "42"}, {absent, []string{"INCRBY", "k", "9223372036854775807"}, resp.Int(math.MaxInt64), "9223372036854775807"},
	} {
		v := view(c.held)
		want(t, apply(t, v, c.command...), c.reply, c.command, c.held)
		wanted := resp.Reply(resp.Bulk(c.after))
		if c.after == "" {
			wanted = resp.Null{}
		}
		want(t, apply(t, v, "GET", "k"), wanted, "after", c.command, c.held)
	}
}

func TestWritesInsideATransactionAreSeenByWhatFollows(t *testing.T) {
	v := view(holding("v", 50*time.Second), absent)
	for _, c := range []struct {
		wanted resp.Reply
		args   []string
	}{
		{resp.OK, []string{"SET", "k", "w", "KEEPTTL"}}, {resp.Int(50_000), []string{"PTTL", "k"}}, {resp.Int(1), []string{"PERSIST", "k"}}, {resp.Int(-1), []string{"TTL", "k"}},
		{resp.Int(1), []string{"EXPIRE", "k", "7"}}, {resp.Int(0), []string{"EXPIRE", "k", "5", "GT"}}, {resp.Int(7), []string{"TTL", "k"}},
		{resp.Int(1), []string{"INCR", "k0"}}, {resp.Int(6), []string{"INCRBY", "k0", "5"}}, {resp.Array{resp.Bulk("w"), resp.Bulk("6")}, []string{"MGET", "k", "k0"}},
		{resp.Int(0), []string{"MSETNX", "k0", "x", "k", "y"}}, {resp.Int(2), []string{"DEL", "k", "k0"}}, {resp.Int(1), []string{"MSETNX", "k0", "x", "k", "y"}},
		{resp.Int(2), []string{"EXISTS", "k", "k0"}}, {resp.Int(-1), []string{"TTL", "k"}}, {resp.Bulk("y"), []string{"GETDEL", "k"}}, {resp.Status("none"), []string{"TYPE", "k"}},
	} {
		want(t, apply(t, v, c.args...), c.wanted, c.args)
	}
}

func TestOtherTypesAreWrongWhereAStringIsNeeded(t *testing.T) {
	for command, wanted := range map[string]resp.Reply{
		"GET k": resp.ErrWrongType, "STRLEN k": resp.ErrWrongType, "INCR k": resp.ErrWrongType, "GETDEL k": resp.ErrWrongType,
		"MGET k": resp.Array{resp.Null{}}, "TYPE k": resp.Status("list"), "EXISTS k": resp.Int(1), "TTL k": resp.Int(-1), "PERSIST k": resp.Int(0),
	} {
		want(t, apply(t, view(aList), strings.Fields(command)...), wanted, command)
	}
	want(t, apply(t, view(aList), "SET", "k", "v", "GET"), resp.ErrWrongType)
	want(t, apply(t, view(aList), "SET", "k", "v", "NX"), resp.Null{})
	v := view(aList)
	want(t, apply(t, v, "SET", "k", "v"), resp.OK)
	want(t, apply(t, v, "GET", "k"), resp.Bulk("v"))
	v = view(aList)
	want(t, apply(t, v, "DEL", "k"), resp.Int(1))
}

func TestCommandsOnSeveralKeysAskForAllOfThemAtOnce(t *testing.T) {
	for _, args := range [][]string{{"MGET", "a", "b"}, {"EXISTS", "a", "b"}, {"DEL", "a", "b"}, {"MSETNX", "a", "1", "b", "2"}} {
		request, err := resp.Parse(args)
		if err != nil {
			t.Fatal(err)
		}
		v := quorum.Known(nil, nil)
		if _, err := (Engine{MaxTTL: time.Hour}).Apply(v, request); err != quorum.ErrUnread || !v.Unread() {
			t.Errorf("%q: %v", args, err)
		}
	}
}
