package lane

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"redlockproxy/proxy/redistest"
	"redlockproxy/quorum"
)

// sendTogether puts operations into the queue in one step, so that they are one batch.
func sendTogether(l *Lane, ops ...quorum.Op) []votes {
	all := make([]votes, len(ops))
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, op := range ops {
		all[i] = make(votes, 1)
		l.queue = append(l.queue, item{call: &quorum.Call{Op: op, Deadline: time.Now().Add(time.Minute), Round: all[i]}})
	}
	l.signal()
	return all
}

func owners(guard quorum.GuardKind, key, text string, write quorum.WriteKind, ttl time.Duration) quorum.Commit {
	return quorum.Commit{
		Guards: []quorum.Guard{{Kind: guard, Key: quorum.Key(key), Text: text}},
		Writes: []quorum.Write{{Kind: write, Key: quorum.Key(key), TTL: ttl}},
	}
}

func releaseOp(key, value string) quorum.Commit {
	return owners(quorum.ValueIs, key, value, quorum.Delete, 0)
}

const tag = "~rl:0123456789abcdef"

func TestReleasesOfABatchAreOneCallAndAnsweredEachForItself(t *testing.T) {
	server := redistest.Start(t)
	l := open(t, tcp(server.Addr()))
	server.MustDo("SET", "mine", "me"+tag)
	server.MustDo("SET", "longer", "me"+tag)
	server.MustDo("SET", "stored", "me"+tag)
	server.MustDo("SET", "theirs", "them"+tag)
	server.MustDo("RPUSH", "list", "x")
	server.MustDo("SET", "twice", "me")
	all := sendTogether(l,
		releaseOp("mine", "me"),
		releaseOp("theirs", "me"),
		acquireOp("new", "n"),
		releaseOp("list", "me"),
		owners(quorum.ValueIs, "longer", "me", quorum.Expire, time.Hour),
		releaseOp("absent", "me"),
		owners(quorum.StoredIs, "stored", "me"+tag, quorum.Delete, 0),
		owners(quorum.StoredIs, "theirs", "them", quorum.Delete, 0),
		releaseOp("twice", "me"),
		releaseOp("twice", "me"),
	)
	text := func(s string) quorum.Held { return quorum.Held{Kind: quorum.String, Stored: quorum.Stored(s)} }
	for i, want := range []struct {
		vote quorum.Vote
		held []quorum.Held
	}{
		{quorum.Granted, []quorum.Held{text("me" + tag)}},
		{quorum.Refused, []quorum.Held{text("them" + tag)}},
		{quorum.Granted, nil},
		{quorum.Refused, []quorum.Held{{Kind: quorum.Other, Type: "list"}}},
		{quorum.Granted, []quorum.Held{text("me" + tag)}},
		{quorum.Refused, []quorum.Held{{}}},
		{quorum.Granted, []quorum.Held{text("me" + tag)}},
		{quorum.Refused, []quorum.Held{text("them" + tag)}},
		{quorum.Granted, []quorum.Held{text("me")}},
		{quorum.Refused, []quorum.Held{{}}},
	} {
		if a := answer(t, all[i]); a.Vote != want.vote || !slices.Equal(a.Held, want.held) {
			t.Errorf("answer %d: vote %d with %v (%v), wanted %d with %v", i, a.Vote, a.Held, a.Err, want.vote, want.held)
		}
	}
	keys := slices.Sorted(slices.Values(server.Keys()))
	if want := []string{"list", "longer", "new", "theirs"}; !slices.Equal(keys, want) {
		t.Errorf("left are %q, not %q", keys, want)
	}
	if ms, _ := server.MustDo("PTTL", "longer").(int64); ms < 3_500_000 {
		t.Errorf("the extended key has %d ms", ms)
	}
	if n := calls(server); n != 1 {
		t.Errorf("%d calls of scripts", n)
	}
}

// calls is how often a backend was asked to run a script.
func calls(server *redistest.Server) int {
	stats, _ := server.MustDo("INFO", "commandstats").(string)
	n := 0
	for line := range strings.Lines(stats) {
		name, rest, _ := strings.Cut(line, ":calls=")
		if count, _, _ := strings.Cut(rest, ","); strings.HasPrefix(name, "cmdstat_eval") {
			m, _ := strconv.Atoi(count)
			n += m
		}
	}
	return n
}

func TestOneCallOfAScriptTakesABoundedNumberOfKeys(t *testing.T) {
	server := redistest.Start(t)
	l := open(t, tcp(server.Addr()))
	var ops []quorum.Op
	for i := range 2*maxTogether + 1 {
		key := fmt.Sprint("k", i)
		server.MustDo("SET", key, key)
		ops = append(ops, releaseOp(key, key))
	}
	for _, v := range sendTogether(l, ops...) {
		wantVote(t, answer(t, v), quorum.Granted)
	}
	if n := calls(server); n != 3 {
		t.Errorf("%d calls", n)
	}
}

func TestReleasesThatWentTogetherSurviveALostScript(t *testing.T) {
	server := redistest.Start(t)
	l := open(t, tcp(server.Addr()))
	server.MustDo("SET", "a", "me")
	server.MustDo("SET", "b", "them")
	server.MustDo("SCRIPT", "FLUSH")
	all := sendTogether(l, releaseOp("a", "me"), releaseOp("b", "me"), acquireOp("c", "x"))
	for i, want := range []quorum.Vote{quorum.Granted, quorum.Refused, quorum.Granted} {
		wantVote(t, answer(t, all[i]), want)
	}
}

// The proxy's user may be allowed some keys only; what one client may not do must not
// cost others their release.
func TestAForbiddenKeyHarmsNoOtherRelease(t *testing.T) {
	server := redistest.Start(t)
	server.MustDo("ACL", "SETUSER", "proxy", "on", ">secret", "+@all", "~lock:*")
	cfg := tcp(server.Addr())
	cfg.Options.Username, cfg.Options.Password = "proxy", "secret"
	l := open(t, cfg)
	server.MustDo("SET", "lock:a", "me")
	server.MustDo("SET", "other", "me")
	all := sendTogether(l, releaseOp("lock:a", "me"), releaseOp("other", "me"), releaseOp("lock:b", "me"))
	for i, want := range []quorum.Vote{quorum.Granted, quorum.Failed, quorum.Refused} {
		wantVote(t, answer(t, all[i]), want)
	}
	if server.Get("lock:a") != "" || server.Get("other") != "me" {
		t.Errorf("lock:a holds %q, other %q", server.Get("lock:a"), server.Get("other"))
	}
}

// seed is another one each time; set SEED to repeat a run.
func seed(t *testing.T) uint64 {
	t.Helper()
	n := rand.Uint64()
	if s := os.Getenv("SEED"); s != "" {
		var err error
		if n, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("SEED=%d", n)
	return n
}

// randomOp is an operation on one or two of a few keys.
func randomOp(r *rand.Rand) quorum.Op {
	k := func() quorum.Key { return quorum.Key(fmt.Sprint("k", r.IntN(6))) }
	a, b := k(), k()
	switch r.IntN(7) {
	case 0:
		return quorum.Acquire{Key: a, Stored: "x"}
	case 1:
		return quorum.Read{Keys: []quorum.Key{a, b}}
	case 2:
		return quorum.Increment{Key: a, By: 1}
	case 3:
		return quorum.Commit{Guards: []quorum.Guard{{Kind: quorum.Absent, Key: a}}, Writes: []quorum.Write{{Kind: quorum.Put, Key: b}}}
	}
	return releaseOp(string(a), "x")
}

// keysOf are the keys of an operation, each once.
func keysOf(op quorum.Op) (keys []quorum.Key) {
	eachKey(op, func(k quorum.Key) {
		if !slices.Contains(keys, k) {
			keys = append(keys, k)
		}
	})
	return keys
}

func TestEachKeysOrderIsTheQueues(t *testing.T) {
	r := rand.New(rand.NewPCG(seed(t), 1))
	s := session{dialect: dialect{setNXGet: true}}
	together := 0
	for range 500 {
		s.items = s.items[:0]
		for range 1 + r.IntN(200) {
			s.items = append(s.items, item{call: &quorum.Call{Op: randomOp(r)}})
		}
		commands := s.compose()
		together += len(s.items) - len(commands)
		last := map[quorum.Key]place{} // of the item before, of the same key
		used := map[place]bool{}
		for i, p := range s.places {
			if used[p] || p.command >= len(commands) {
				t.Fatalf("item %d has place %v of %d commands", i, p, len(commands))
			}
			used[p] = true
			for _, k := range keysOf(s.ops[i]) {
				before, known := last[k]
				if known && (p.command < before.command || p.command == before.command && p.part < before.part) {
					t.Fatalf("item %d of key %s is at %v, the one before it at %v", i, k, p, before)
				}
				last[k] = p
				if words := commands[p.command]; !slices.Contains(words, any(string(k))) {
					t.Fatalf("item %d is not in its command %v", i, words)
				}
			}
		}
	}
	if together == 0 {
		t.Error("nothing was put together")
	}
}
