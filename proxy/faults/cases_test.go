package faults_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"redlockproxy/proxy/faults"
	"redlockproxy/proxy/redistest"
)

// want checks the reply to a command.
func (g *group) want(t *testing.T, wanted any, args ...string) {
	t.Helper()
	if reply, err := g.proxy.Do(args...); err != nil || reply != wanted {
		t.Errorf("%v: %#v, %v; wanted %#v", args, reply, err, wanted)
	}
}

// wantError checks that a command is refused with an error that begins with a word.
func (g *group) wantError(t *testing.T, word string, args ...string) {
	t.Helper()
	reply, err := g.proxy.Do(args...)
	if e, isError := reply.(redistest.Error); err != nil || !isError || e.Code() != word {
		t.Errorf("%v: %#v, %v; wanted an error %s", args, reply, err, word)
	}
}

// TestProxyStoppedBetweenVotesAndReplyGrantsNothing stops the proxy when the backends
// have the lock and it has not heard of it, until the lock is over.
func TestProxyStoppedBetweenVotesAndReplyGrantsNothing(t *testing.T) {
	g := newGroup(t, redistest.Patient(t)...)              // the votes themselves are not too late
	other := redistest.StartRelease(t, g.backends.Addrs()) // without the relays
	awaitVoters(t, other, 5)
	for _, r := range g.relays {
		r.Hold(redistest.Replies)
	}
	c := g.proxy.Client()
	if err := c.Send("SET", "lock", "a", "NX", "PX", "600"); err != nil {
		t.Fatal(err)
	}
	redistest.Eventually(t, time.Second, "all backends have it", func() bool { return g.backends.Holding("lock") == 5 })
	g.proxy.Pause()
	for _, r := range g.relays {
		r.Pass()
	}
	redistest.Eventually(t, 3*time.Second, "somebody else gets the lock", func() bool {
		reply, err := other.Do("SET", "lock", "b", "NX", "PX", "30000")
		return err == nil && reply == ok
	})
	g.proxy.Resume()
	reply, err := c.Receive()
	if e, isError := reply.(redistest.Error); err != nil || reply != nil && (!isError || e.Code() != "UNAVAILABLE") {
		t.Errorf("the late reply: %v, %v", reply, err)
	}
	// Where the first lock had a moment to live yet, the second was refused: a majority is
	// all that is promised.
	redistest.Settles(t, 200*time.Millisecond, 2*time.Second, "the second lock stays", func() bool {
		held, err := other.Do("GET", "lock")
		return err == nil && held == "b" && g.backends.Holding("lock") >= 3
	})
}

// TestSilentLinkIsGivenUpAndServesAgainSoonAfter lets two links go silent without an
// end, as when a machine vanishes.
func TestSilentLinkIsGivenUpAndServesAgainSoonAfter(t *testing.T) {
	g := newGroup(t, settings(t, "[lane]\nstall = \"500ms\"\n")...)
	for b := range 2 {
		g.relays[b].BlackHole()
	}
	before := [2]int{g.relays[0].Accepted(), g.relays[1].Accepted()}
	l := &load{addr: g.proxy.Addr(), name: "silent"}
	stop := l.start(2)
	defer stop()
	redistest.Eventually(t, 5*time.Second, "the silent links are given up", func() bool {
		return g.relays[0].Accepted() > before[0] && g.relays[1].Accepted() > before[1]
	})
	for b := range 2 {
		g.relays[b].Pass()
	}
	healed := time.Now()
	awaitVoters(t, g.proxy, 5)
	if took := time.Since(healed); took > time.Second {
		t.Errorf("all vote again %s after the links", took)
	}
	stop()
	if 100*len(l.failed) > l.ops {
		t.Errorf("%d of %d operations failed meanwhile: %q", len(l.failed), l.ops, l.failed[:min(len(l.failed), 5)])
	}
}

func TestFullBackendsRefuseNewLocksAndStillGiveUpOldOnes(t *testing.T) {
	g := newGroup(t, redistest.Patient(t)...)
	full := func(from, to int) {
		for _, s := range g.backends[from:to] {
			s.MustDo("CONFIG", "SET", "maxmemory-policy", "noeviction")
			s.MustDo("CONFIG", "SET", "maxmemory", "1mb")
		}
	}
	g.want(t, ok, "SET", "old", "a", "NX", "PX", "60000")
	g.want(t, ok, "SET", "older", "a", "NX", "PX", "60000")
	full(0, 2)
	g.want(t, ok, "SET", "lock", "a", "NX", "PX", "60000")
	g.want(t, int64(1), "EVAL", extendScript, "1", "lock", "a", "60000")
	g.want(t, ok, "EVAL", setAgainScript, "1", "lock", "a", "60000")
	g.want(t, int64(1), "INCR", "fence")
	g.want(t, int64(1), "EVAL", releaseScript, "1", "lock", "a")
	g.want(t, int64(1), "EVAL", releaseScript, "1", "older", "a")
	full(2, 3)
	g.wantError(t, "UNAVAILABLE", "SET", "new", "a", "NX", "PX", "60000")
	g.wantError(t, "UNAVAILABLE", "INCR", "fence")
	g.want(t, int64(1), "EVAL", extendScript, "1", "old", "a", "60000")
	g.want(t, ok, "EVAL", setAgainScript, "1", "old", "a", "60000")
	g.want(t, int64(1), "EVAL", releaseScript, "1", "old", "a")
	redistest.Settles(t, 100*time.Millisecond, 2*time.Second, "no lock is left", func() bool {
		return g.backends.Holding("old")+g.backends.Holding("older")+g.backends.Holding("lock")+g.backends.Holding("new") == 0
	})
}

// TestBackendsThatBecomeReplicasHaveNoVote turns primaries into replicas of a server
// that is none of the group, which empties them.
func TestBackendsThatBecomeReplicasHaveNoVote(t *testing.T) {
	g := newGroup(t, settings(t, "[group]\nmax_ttl = \"1s\"\n[server]\nanswer_within = \"1s\"\n[lane]\nvote = \"450ms\"\n")...)
	host, port, _ := strings.Cut(redistest.Start(t).Addr(), ":")
	turn := func(backends redistest.Group, to ...string) {
		for _, s := range backends {
			s.MustDo(append([]string{"REPLICAOF"}, to...)...)
		}
	}
	turn(g.backends[:2], host, port)
	g.want(t, ok, "SET", "first", "a", "NX", "PX", "1000")
	awaitVoters(t, g.proxy, 3)
	g.want(t, ok, "SET", "second", "a", "NX", "PX", "1000")
	g.want(t, int64(1), "INCR", "fence")
	redistest.Eventually(t, 5*time.Second, "the log says why", func() bool { return strings.Contains(g.proxy.Output(), "it is a replica") })
	turn(g.backends[2:3], host, port)
	g.wantError(t, "UNAVAILABLE", "SET", "third", "a", "NX", "PX", "1000")
	turn(g.backends[:3], "NO", "ONE")
	redistest.Eventually(t, 10*time.Second, "a lock when they are primaries again", func() bool {
		reply, err := g.proxy.Do("SET", "fourth", "a", "NX", "PX", "1000")
		return err == nil && reply == ok
	})
}

// TestBackendThatFailedBackFromItsReplicaGivesNoLockAway makes a backend a replica of its
// own replica, which missed a lock, and a primary again: it is the process that it was,
// and its marker is there.
func TestBackendThatFailedBackFromItsReplicaGivesNoLockAway(t *testing.T) {
	g := newGroup(t, settings(t, "[server]\nanswer_within = \"1s\"\n[lane]\nvote = \"450ms\"\n")...)
	third := g.backends[2]
	marker := third.Get("~redlock-proxy:marker")
	third.MustDo("CONFIG", "SET", "repl-diskless-sync-delay", "0")
	replica := promoted(t, third, "~redlock-proxy:marker")
	replica.MustDo("SET", "~redlock-proxy:marker", marker) // it missed nothing but the lock
	replica.MustDo("CONFIG", "SET", "repl-diskless-sync-delay", "0")
	g.bareMajority(t, "lock")
	host, port, _ := strings.Cut(replica.Addr(), ":")
	third.MustDo("REPLICAOF", host, port)
	redistest.Eventually(t, 20*time.Second, "it has its replica's memory", func() bool { return third.Get("lock") == "" })
	for b := 3; b < 5; b++ {
		g.relays[b].Pass()
	}
	redistest.Eventually(t, 10*time.Second, "the log says that it is a replica, and the others vote", func() bool {
		return strings.Contains(g.proxy.Output(), "it is a replica") && g.proxy.Voters() == 4
	})
	third.MustDo("REPLICAOF", "NO", "ONE")
	if third.Get("~redlock-proxy:marker") != marker {
		t.Fatal("its marker is another")
	}
	for end := time.Now().Add(2 * time.Second); time.Now().Before(end); {
		if reply, err := g.proxy.Do("SET", "lock", "b", "NX", "PX", "30000"); err != nil || reply == ok {
			t.Fatalf("the rival: %v, %v", reply, err)
		}
	}
	awaitVoters(t, g.proxy, 5)
	if !strings.Contains(g.proxy.Output(), "it was a replica, and may hold what another server held") {
		t.Error("the log does not say why")
	}
	g.want(t, int64(1), "EVAL", releaseScript, "1", "lock", "a")
	g.want(t, ok, "SET", "lock", "b", "NX", "PX", "30000")
}

func TestClockThatWasSetBackBlocksNobody(t *testing.T) {
	backends := redistest.StartGroup(t, 5, redistest.OwnClock())
	g := &group{proxy: redistest.StartRelease(t, backends.Addrs(), redistest.Patient(t)...)}
	awaitVoters(t, g.proxy, 5)
	g.want(t, ok, "SET", "lock", "a", "NX", "PX", "300")
	for _, s := range backends[:2] {
		if err := s.Clock().Step(-time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	start := time.Now()
	redistest.Eventually(t, 3*time.Second, "the next lock", func() bool {
		reply, err := g.proxy.Do("SET", "lock", "b", "NX", "PX", "60000")
		return err == nil && reply == ok
	})
	if took := time.Since(start); took > time.Second {
		t.Errorf("the next lock after %s", took)
	}
	if left, err := g.proxy.Do("PTTL", "lock"); err != nil || left.(int64) > 60000 {
		t.Errorf("it lasts for %v ms, %v", left, err)
	}
	g.want(t, int64(1), "EVAL", releaseScript, "1", "lock", "b")
}

// TestAnyTTLIsKeptOrRefusedAtOnce asks for locks of a few milliseconds, and for ones
// that are longer than the group allows, while backends do not answer.
func TestAnyTTLIsKeptOrRefusedAtOnce(t *testing.T) {
	g := newGroup(t, settings(t, "[group]\nmax_ttl = \"60s\"\n")...)
	machine := redistest.WatchMachine(t)
	seen := g.backends[3].Monitor()
	g.backends[4].Pause()
	slow := time.Duration(0)
	var gone, refused []string
	for i, c := range []struct {
		ttl   int
		taken bool // by somebody else, on all but one of those that answer
	}{{1, false}, {5, false}, {20, false}, {50, false}, {50, true}, {100, false}, {100, true}, {60_000, false}, {60_001, false}, {36_000_000, false}} {
		for try := 0; ; try++ {
			key := fmt.Sprint("lock:", i, ":", try)
			for b := 0; b < 3 && c.taken; b++ {
				g.backends[b].MustDo("SET", key, "other", "PX", "1000")
			}
			start := time.Now()
			reply, err := g.proxy.Do("SET", key, "a", "NX", "PX", fmt.Sprint(c.ttl))
			took := time.Since(start)
			if err != nil {
				t.Fatal(err)
			}
			if c.ttl != 60_000 || reply != ok {
				gone = append(gone, key)
			}
			if c.ttl <= 100 && reply != ok {
				refused = append(refused, key)
			}
			wrong := wrongForTTL(c.ttl, c.taken, reply)
			if try < 7 && (wrong || took > slowestAnswer) && machine.StoodStill() {
				continue
			}
			if slow = max(slow, took); wrong {
				t.Errorf("ttl %d, taken %t: %v", c.ttl, c.taken, reply)
			}
			break
		}
	}
	if slow > slowestAnswer {
		t.Errorf("an answer took %s", slow)
	}
	faults.Figure(t, "locks of 1 ms to 10 h, one backend frozen: answered within %s", slow.Round(time.Millisecond))
	// Those that are refused do not wait for the end of their time.
	redistest.Eventually(t, 5*time.Second, "each copy of a refused lock is taken back", func() bool {
		return !slices.ContainsFunc(refused, func(key string) bool {
			return seen.Count("SET", key) > 0 && seen.Count("EVALSHA", key)+seen.Count("EVAL", key) == 0
		})
	})
	g.backends[4].Resume()
	redistest.Settles(t, 100*time.Millisecond, 5*time.Second, "the short ones and the refused are gone", func() bool {
		return !slices.ContainsFunc(gone, func(key string) bool { return g.backends.Holding(key) > 0 })
	})
}

// wrongForTTL tells whether a lock of that ttl, in milliseconds, can't have been answered
// so: one that is taken is refused, and the shortest may be over before the votes are in.
func wrongForTTL(ttl int, taken bool, reply any) bool {
	e, isError := reply.(redistest.Error)
	switch {
	case ttl > 60_000:
		return !strings.Contains(string(e), "a time to live above 60000 ms")
	case taken:
		return reply != nil
	case ttl == 60_000:
		return reply != ok
	}
	return reply != ok && reply != nil && (!isError || e.Code() != "UNAVAILABLE")
}
