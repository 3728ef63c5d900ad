package look_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"redlockproxy/proxy/look"
	"redlockproxy/proxy/redistest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const tag1, tag2 = "~rl:AAAAAAAAAAAAAAAA", "~rl:BBBBBBBBBBBBBBBB"

func at(g redistest.Group, votes func(int) bool) *look.Looker {
	cfg := look.Config{Limit: 5 * time.Second, Votes: votes}
	for i, s := range g {
		cfg.Backends = append(cfg.Backends, look.Backend{Name: fmt.Sprint("b", i), Options: redis.Options{Network: "unix", Addr: s.Socket()}})
	}
	return look.New(cfg)
}

// put stores a value on some backends, by their numbers.
func put(g redistest.Group, key, value, millis string, on ...int) {
	for _, i := range on {
		if millis == "" {
			g[i].MustDo("SET", key, value)
		} else {
			g[i].MustDo("SET", key, value, "PX", millis)
		}
	}
}

func TestKeyIsShownAsTheGroupWouldAnswerIt(t *testing.T) {
	g := redistest.StartGroup(t, 5)
	put(g, "held", "S3cret"+tag1, "60600", 0, 1, 2)
	put(g, "held", "S3cret"+tag1, "30300", 3)
	put(g, "lasting", "S3cret", "", 0, 1, 2, 3, 4)
	put(g, "leftover", "S3cret"+tag1, "60000", 4)
	put(g, "split", "S3cret"+tag1, "60000", 0, 1)
	put(g, "split", "S3cret"+tag2, "60000", 2, 3)
	put(g, "mixed", "S3cret"+tag1, "60000", 0, 1, 2)
	put(g, "mixed", "other"+tag2, "60000", 4)
	put(g, "counter", "7", "", 0, 1, 2)
	put(g, "counter", "8", "", 3)
	for i := range g {
		g[i].MustDo("RPUSH", "list", "x")
	}
	l := at(g, nil)
	for name, c := range map[string]struct {
		answer      look.Answer
		holders     int
		least, most int64 // validity
	}{
		"held":     {look.Taken, 4, 55_000, 60_000},
		"lasting":  {look.Taken, 5, -1, -1},
		"leftover": {look.Leftover, 1, 0, 0},
		"split":    {look.Leftover, 4, 0, 0},
		"mixed":    {look.Taken, 3, 50_000, 60_000},
		"absent":   {look.Free, 0, 0, 0},
		"list":     {look.Taken, 5, -1, -1},
	} {
		k := l.Key(t.Context(), name)
		if k.Answer != c.answer || k.Holders != c.holders || k.Validity < c.least || k.Validity > c.most || len(k.Held) != 5 {
			t.Errorf("%s: %+v", name, k)
		}
		if text, err := json.Marshal(k); err != nil || strings.Contains(string(text), "S3cret") || strings.Contains(string(text), "AAAAAAAA") {
			t.Errorf("%s: %s, %v", name, text, err)
		}
	}
	k := l.Key(t.Context(), "mixed")
	if a, b := k.Held[0], k.Held[4]; !a.Agreed || b.Agreed || a.Token == b.Token || a.Token != k.Token || k.Held[1].Token != a.Token {
		t.Errorf("%+v", k)
	}
	k = l.Key(t.Context(), "split")
	if a, b := k.Held[0], k.Held[2]; a.Token != b.Token || a.Stored == b.Stored || a.Agreed {
		t.Errorf("two attempts with one token: %+v", k)
	}
	if k := l.Key(t.Context(), "counter"); k.Answer != look.Taken {
		t.Errorf("a counter that differs: %+v", k)
	}
	if other := at(g, nil).Key(t.Context(), "held").Token; other == l.Key(t.Context(), "held").Token {
		t.Error("the hash of a token is the same everywhere, so it can be looked up in a table")
	}
}

func TestMissingBackendsMakeAKeyUndecidedOnlyWhereTheyCouldDecide(t *testing.T) {
	g := redistest.StartGroup(t, 5)
	put(g, "held", "t"+tag1, "60000", 0, 1, 2, 3, 4)
	put(g, "one", "t"+tag1, "60000", 0)
	g[3].Kill()
	g[4].Kill()
	l := at(g, nil)
	for name, wanted := range map[string]look.Answer{"held": look.Taken, "one": look.Undecided, "absent": look.Free} {
		if k := l.Key(t.Context(), name); k.Answer != wanted || k.Held[4].Error == "" || k.Held[4].Kind != look.Unknown {
			t.Errorf("%s: %+v", name, k)
		}
	}
	// A backend without a vote is seen, and does not count.
	learning := at(g, func(i int) bool { return i != 2 })
	if k := learning.Key(t.Context(), "held"); k.Answer != look.Undecided || k.Held[2].Kind != look.String {
		t.Errorf("%+v", k)
	}
}

func TestSearchFindsLocksByAPartOfTheirName(t *testing.T) {
	g := redistest.StartGroup(t, 5)
	put(g, "order:1", "t"+tag1, "60000", 2, 3, 4)
	put(g, "order:2", "t"+tag1, "60000", 4)
	put(g, "strange*[x]?\\", "t"+tag1, "60000", 0, 1, 2)
	put(g, "other", "t"+tag1, "60000", 0, 1, 2)
	l := at(g, nil)
	for part, wanted := range map[string]string{
		"order": "order:1 order:2", "order:2": "order:2", "er": "order:1 other order:2", "*": "strange*[x]?\\", "[x]?\\": "strange*[x]?\\",
		"": "order:1 other strange*[x]?\\ order:2", "none": "", "ORDER": "",
	} {
		found, err := l.Locks(t.Context(), part)
		var names []string
		for _, k := range found.Keys {
			names = append(names, k.Name)
		}
		if got := strings.Join(names, " "); err != nil || got != wanted || found.More {
			t.Errorf("%q: %q, %v, more %t; wanted %q", part, got, err, found.More, wanted)
		}
	}
	g[0].Kill()
	g[1].Kill()
	if found, err := l.Locks(t.Context(), "order:1"); err != nil || len(found.Keys) != 1 || found.Keys[0].Answer != look.Taken {
		t.Errorf("with three backends: %+v, %v", found, err)
	}
	g[2].Kill()
	if _, err := l.Locks(t.Context(), "order:1"); err == nil || !strings.Contains(err.Error(), "2 of 5 backends can be searched") {
		t.Errorf("with two backends: %v", err)
	}
}

func TestSearchLooksAtALimitedNumberOfKeys(t *testing.T) {
	g := redistest.StartGroup(t, 1)
	var script strings.Builder
	script.WriteString("for i = 1, 30000 do redis.call('SET', 'k' .. i, 'v') end")
	g[0].MustDo("EVAL", script.String(), "0")
	l := at(g, nil)
	found, err := l.Locks(t.Context(), "k")
	if err != nil || len(found.Keys) != 200 || !found.More {
		t.Errorf("%d keys, more %t, %v", len(found.Keys), found.More, err)
	}
	before := g[0].Info("cmdstat_scan")
	if _, err := l.Locks(t.Context(), "no such part"); err != nil {
		t.Error(err)
	}
	calls := func(stat string) (n int) {
		_, _ = fmt.Sscanf(stat, "calls=%d,", &n)
		return n
	}
	if n := calls(g[0].Info("cmdstat_scan")) - calls(before); n > 20 {
		t.Errorf("%d calls of SCAN for one search", n)
	}
}

func TestWholeNameIsFoundAmongAnyNumberOfKeys(t *testing.T) {
	g := redistest.StartGroup(t, 1)
	g[0].MustDo("EVAL", "for i = 1, 50000 do redis.call('SET', 'k' .. i, 'v') end", "0")
	l := at(g, nil)
	for _, name := range []string{"k1", "k777", "k12345", "k33333", "k49999", "k50000"} {
		found, err := l.Locks(t.Context(), name)
		if err != nil || !slices.ContainsFunc(found.Keys, func(k look.Key) bool { return k.Name == name }) || !found.More {
			t.Errorf("%s: %d keys, more %t, %v", name, len(found.Keys), found.More, err)
		}
	}
	if found, err := l.Locks(t.Context(), "k50001"); err != nil || len(found.Keys) != 0 {
		t.Errorf("one that is not there: %+v, %v", found.Keys, err)
	}
}

// A search costs the backends and the proxy little, whatever the values are; they are
// compared as if they had come.
func TestLongValuesStayWhereTheyAre(t *testing.T) {
	g := redistest.StartGroup(t, 3)
	long := strings.Repeat("S3cret ", 70_000)
	put(g, "held", long+tag1, "60000", 0, 1, 2)
	put(g, "two-tags", long+tag1, "60000", 0)
	put(g, "two-tags", long+tag2, "60000", 1)
	put(g, "two-values", long+"a", "60000", 0)
	put(g, "two-values", "b"+long, "60000", 1)
	l := at(g, nil)
	before := sent(t, g[0])
	found, err := l.Locks(t.Context(), "")
	if err != nil || len(found.Keys) != 3 {
		t.Fatalf("%+v, %v", found, err)
	}
	if n := sent(t, g[0]) - before; n > 50_000 {
		t.Errorf("a backend has sent %d bytes for one search", n)
	}
	for _, k := range found.Keys {
		if k.Name == "held" && (k.Answer != look.Taken || k.Holders != 3) || k.Name != "held" && k.Answer == look.Taken {
			t.Errorf("%+v", k)
		}
		a, b := k.Held[0], k.Held[1]
		if same := k.Name != "two-values"; (a.Token == b.Token) != same {
			t.Errorf("%s: tokens %s and %s", k.Name, a.Token, b.Token)
		}
		if same := k.Name == "held"; (a.Stored == b.Stored) != same {
			t.Errorf("%s: attempts %s and %s", k.Name, a.Stored, b.Stored)
		}
	}
}

// sent is how many bytes a server has sent to its clients.
func sent(t *testing.T, s *redistest.Server) int64 {
	t.Helper()
	n, err := strconv.ParseInt(s.Info("total_net_output_bytes"), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
