package faults_test

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"redlockproxy/proxy/faults"
	"redlockproxy/proxy/redistest"
)

// bareMajority gives a lock to a client that only the first three backends know of.
func (g *group) bareMajority(t *testing.T, key string) {
	t.Helper()
	for b := 3; b < 5; b++ {
		g.relays[b].Refuse()
	}
	awaitVoters(t, g.proxy, 3)
	g.want(t, ok, "SET", key, "a", "NX", "PX", "30000")
	for b := 3; b < 5; b++ {
		if g.backends[b].Get(key) != "" {
			t.Fatal("the lock is on more backends than three")
		}
	}
}

// TestBackendThatForgotGivesNoLockAway lets one of the three backends that know of a
// lock lose its memory, and has others ask for it at once, as often as they can.
func TestBackendThatForgotGivesNoLockAway(t *testing.T) {
	for name, forget := range map[string]func(t *testing.T, g *group, s *redistest.Server){
		"restarted empty":            func(_ *testing.T, _ *group, s *redistest.Server) { s.Restart() },
		"restarted with a torn file": func(_ *testing.T, _ *group, s *redistest.Server) { s.RestartTorn(60) },
		"FLUSHALL":                   func(_ *testing.T, _ *group, s *redistest.Server) { s.MustDo("FLUSHALL") },
		"clock forward": func(t *testing.T, g *group, s *redistest.Server) {
			if err := s.Clock().Step(time.Hour); err != nil {
				t.Fatal(err)
			}
			// Until the proxy has looked at the clock again, and has made sure that it
			// was not its own that jumped, the backend still votes.
			redistest.Eventually(t, 5*time.Second, "the jump is seen", func() bool { return strings.Contains(g.proxy.Output(), "no vote until it has been right") })
		},
		"failed over to a replica that missed it": func(t *testing.T, g *group, s *redistest.Server) {
			g.relays[2].Retarget(promoted(t, s, "lock").Addr())
			s.Kill()
		},
		"evicted": func(t *testing.T, g *group, s *redistest.Server) {
			evict(t, s, "lock")
			// The same holds until the proxy has asked again what the backend is.
			redistest.Eventually(t, 10*time.Second, "it is seen", func() bool { return strings.Contains(g.proxy.Output(), "it has evicted keys") })
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGroup(t, settings(t, "[server]\nanswer_within = \"1s\"\n[lane]\nvote = \"450ms\"\n")...)
			g.bareMajority(t, "lock")
			forget(t, g, g.backends[2])
			for b := 3; b < 5; b++ {
				g.relays[b].Pass()
			}
			fresh := redistest.StartRelease(t, g.addrs, g.args...) // remembers nothing of before
			end := time.Now().Add(2 * time.Second)
			for time.Now().Before(end) {
				for _, p := range []*redistest.Proxy{g.proxy, fresh} {
					if reply, err := p.Do("SET", "lock", "b", "NX", "PX", "30000"); err != nil || reply == ok {
						t.Fatalf("the rival: %v, %v", reply, err)
					}
				}
			}
			awaitVoters(t, g.proxy, 5)
			awaitVoters(t, fresh, 5)
			g.want(t, int64(1), "EVAL", releaseScript, "1", "lock", "a")
			g.want(t, ok, "SET", "lock", "b", "NX", "PX", "30000")
		})
	}
}

// TestClockThatJumpedHasNoVoteFromTheFirstPipelineOn asks at once: the very pipeline that
// carries the rival's attempt shows the jump.
func TestClockThatJumpedHasNoVoteFromTheFirstPipelineOn(t *testing.T) {
	g := newGroup(t, settings(t, "[server]\nanswer_within = \"1s\"\n[lane]\nvote = \"450ms\"\n")...)
	g.bareMajority(t, "lock")
	for b := 3; b < 5; b++ {
		g.relays[b].Pass()
	}
	awaitVoters(t, g.proxy, 5)
	if err := g.backends[2].Clock().Step(time.Hour); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(2 * time.Second); time.Now().Before(end); {
		if reply, err := g.proxy.Do("SET", "lock", "b", "NX", "PX", "30000"); err != nil || reply == ok {
			t.Fatalf("the rival: %v, %v", reply, err)
		}
	}
	jumped := func(line map[string]any) bool {
		message, _ := line["message"].(string)
		return line["backend"] == g.addrs[2] && strings.Contains(message, "no vote until it has been right")
	}
	redistest.Eventually(t, 5*time.Second, "the log says whose clock it was", func() bool { return slices.ContainsFunc(g.proxy.Logs(), jumped) })
	// The last attempt may not be undone yet.
	redistest.Eventually(t, 5*time.Second, "nothing of the rival is left", func() bool { return !strings.HasPrefix(g.backends[2].Get("lock"), "b") })
}

// promoted is a replica of a server that has become a primary, and has all but one key.
func promoted(t *testing.T, primary *redistest.Server, missed string) *redistest.Server {
	t.Helper()
	replica := redistest.Start(t)
	host, port, _ := strings.Cut(primary.Addr(), ":")
	replica.MustDo("REPLICAOF", host, port)
	redistest.Eventually(t, 10*time.Second, "the replica is there", func() bool { return replica.Get(missed) != "" })
	replica.MustDo("REPLICAOF", "NO", "ONE")
	replica.MustDo("DEL", missed)
	return replica
}

// evict has a server drop a key for want of memory, and gives it enough again. What has
// no ttl stays, as the marker.
func evict(t *testing.T, s *redistest.Server, key string) {
	t.Helper()
	s.MustDo("CONFIG", "SET", "maxmemory-policy", "volatile-ttl")
	s.MustDo("CONFIG", "SET", "maxmemory", "1")
	redistest.Eventually(t, 5*time.Second, "the key is evicted", func() bool {
		_, _ = s.Do("SET", "some", "x", "PX", "1000")
		return s.Get(key) == ""
	})
	s.MustDo("CONFIG", "SET", "maxmemory", "0")
	s.MustDo("CONFIG", "SET", "maxmemory-policy", "noeviction")
}

// TestNumbersRiseThroughBackendsThatForgot takes numbers while backends miss some, and
// come back with old ones or with none.
func TestNumbersRiseThroughBackendsThatForgot(t *testing.T) {
	// Three at once that were restarted can't be refilled by the others, and wait out
	// the longest lock.
	g := newGroup(t, settings(t, "[group]\nmax_ttl = \"1s\"\n")...)
	last := int64(0)
	take := func() bool {
		t.Helper()
		reply, err := g.proxy.Do("INCR", "fence")
		n, isNumber := reply.(int64)
		if err != nil || !isNumber {
			return false // an error is always allowed
		}
		if n <= last {
			t.Fatalf("%d after %d", n, last)
		}
		last = n
		return true
	}
	next := func() {
		t.Helper()
		redistest.Eventually(t, 10*time.Second, "a number", take)
	}
	for range 100 {
		next()
	}
	g.backends[3].Kill()
	g.backends[4].Kill()
	next()
	g.backends[3].RestartWithData()
	g.backends[4].RestartWithData()
	awaitVoters(t, g.proxy, 5)
	g.backends[0].Kill()
	g.backends[1].Kill()
	next()
	g.backends[0].RestartWithData()
	g.backends[1].RestartWithData()
	g.backends[2].Restart()
	awaitVoters(t, g.proxy, 5)
	g.backends[0].Kill()
	g.backends[1].Kill()
	next()
	// Now one that has forgotten is asked at once: the two that are left are behind, and
	// with its vote they would hand out the last number once more.
	g.backends[0].RestartWithData()
	g.backends[1].RestartWithData()
	awaitVoters(t, g.proxy, 5)
	for _, b := range []int{3, 4} {
		g.relays[b].Refuse()
	}
	awaitVoters(t, g.proxy, 3)
	next()
	for _, b := range []int{3, 4} {
		g.relays[b].Pass()
	}
	awaitVoters(t, g.proxy, 5)
	g.backends[0].Kill()
	g.backends[1].Kill()
	awaitVoters(t, g.proxy, 3)
	learners := func() int { return strings.Count(g.proxy.Output(), "backend is connected, and has no vote") }
	before := learners()
	g.backends[2].Restart()
	redistest.Eventually(t, 5*time.Second, "it can be asked", func() bool { return learners() > before })
	if take() {
		t.Errorf("%d came of two that remember", last)
	}
	g.backends[0].RestartWithData()
	g.backends[1].RestartWithData()
	next()
	if last < 105 {
		t.Errorf("the last number is %d", last)
	}
}

// TestEmptyBackendVotesAgainSoonAndNotBeforeItHasEverything is about a group with ten
// thousand locks.
func TestEmptyBackendVotesAgainSoonAndNotBeforeItHasEverything(t *testing.T) {
	const locks = 10_000
	g := newGroup(t)
	const fill = `for i = 1, ARGV[1] do redis.call('SET', 'lock:' .. i, 'a', 'PX', 600000) end`
	for _, s := range g.backends {
		s.MustDo("EVAL", fill, "0", fmt.Sprint(locks))
	}
	g.backends[4].Kill()
	awaitVoters(t, g.proxy, 4)
	g.backends[4].Restart()
	start := time.Now()
	redistest.Eventually(t, 20*time.Second, "it votes again", func() bool {
		if g.proxy.Voters() < 5 {
			return false
		}
		if n := len(g.backends[4].Keys()); n < locks {
			t.Errorf("it votes with %d of %d locks", n, locks)
		}
		return true
	})
	took := time.Since(start)
	faults.Figure(t, "a backend that restarted empty in a group with %d locks voted again after %s", locks, took.Round(time.Millisecond))
	if took > 2*time.Second {
		t.Error("too late")
	}
}

// TestHolderKeepsItsLockThroughARollingRestart restarts one backend after the other,
// empty, while the holder extends.
func TestHolderKeepsItsLockThroughARollingRestart(t *testing.T) {
	g := newGroup(t, redistest.Patient(t)...)
	g.want(t, ok, "SET", "lock", "a", "NX", "PX", "4000")
	for b := range 4 {
		g.backends[b].Restart()
		redistest.Eventually(t, 20*time.Second, "it votes again", func() bool {
			g.want(t, int64(1), "EVAL", extendScript, "1", "lock", "a", "4000")
			g.want(t, nil, "SET", "lock", "b", "NX", "PX", "4000")
			return g.proxy.Voters() == 5 && g.backends.Holding("lock") == 5
		})
	}
	g.want(t, int64(1), "EVAL", releaseScript, "1", "lock", "a")
}

// wantRefusedStart checks that the binary does not start with a list of backends, and
// says why.
func wantRefusedStart(t *testing.T, why string, addrs []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, redistest.ReleaseBinary(t), "serve", "-listen", "127.0.0.1:0", "-admin", "", "-backends", strings.Join(addrs, ","))
	out, err := cmd.CombinedOutput()
	if err == nil || ctx.Err() != nil || !strings.Contains(string(out), why) {
		t.Errorf("%v, %v, and not a word of %q:\n%s", err, ctx.Err(), why, out)
	}
}

func TestOneServerUnderTwoNamesIsRefused(t *testing.T) {
	backends := redistest.StartGroup(t, 4)
	again := redistest.NewRelay(t, backends[0].Addr()) // the same server at another address
	wantRefusedStart(t, "it must not vote twice", append(backends.Addrs(), again.Addr()))
}

func TestBackendsThatCanNotHoldLocksAreRefused(t *testing.T) {
	backends := redistest.StartGroup(t, 4)
	host, port, _ := strings.Cut(backends[0].Addr(), ":")
	for why, args := range map[string][]string{
		"it is a replica":       {"--replicaof", host + " " + port},
		"it is in cluster mode": {"--cluster-enabled", "yes"},
		"it drops locks when":   {"--maxmemory", "50mb", "--maxmemory-policy", "allkeys-lru"},
	} {
		unfit := redistest.Start(t, redistest.Args(args...))
		wantRefusedStart(t, why, append(backends.Addrs(), unfit.Addr()))
	}
}

// An address that leads to another listed backend is no second vote of that one.
func TestAddressThatLeadsToAnotherBackendHasNoVote(t *testing.T) {
	g := newGroup(t, redistest.Patient(t)...)
	g.relays[4].Retarget(g.backends[0].Addr())
	awaitVoters(t, g.proxy, 4)
	redistest.Eventually(t, 10*time.Second, "it is said", func() bool { return strings.Contains(g.proxy.Output(), "it is the same server as") })
	g.backends[1].Kill()
	g.backends[2].Kill()
	awaitVoters(t, g.proxy, 2)
	g.wantError(t, "UNAVAILABLE", "SET", "lock", "a", "NX", "PX", "5000")
	left := redistest.Group{g.backends[0], g.backends[3], g.backends[4]}
	redistest.Eventually(t, 5*time.Second, "the lock is undone", func() bool { return left.Holding("lock") == 0 })
}

func TestOtherListsOfBackendsAreRefused(t *testing.T) {
	g := newGroup(t)
	g.want(t, ok, "SET", "lock", "a", "NX", "PX", "30000")
	wantRefusedStart(t, "two lists could decide against each other", []string{g.addrs[1], g.addrs[0], g.addrs[2], g.addrs[3], g.addrs[4]})
	wantRefusedStart(t, "two lists could decide against each other", g.addrs[:3])
	g.want(t, "a", "GET", "lock")
}
