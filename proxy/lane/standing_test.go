package lane

import (
	"strings"
	"testing"
	"time"

	"redlockproxy/proxy/redistest"
	"redlockproxy/quorum"
	"redlockproxy/quorum/admission"
)

// testRule is that of a lane's only backend.
var testRule = admission.Rule{Identity: admission.Identity{Group: "g", N: 5, Place: 1}, Quiet: 200 * time.Millisecond}

// admit marks a server as a voter, as a keeper does that has refilled it.
func admit(server *redistest.Server, l *Lane, token string) {
	m := admission.Marker{Identity: testRule.Identity, Role: admission.Voter, RunID: l.Look().RunID, Token: token, Quiet: testRule.Quiet}
	server.MustDo("SET", string(admission.MarkerKey), m.String())
}

// admitted is a lane to a server that votes.
func admitted(t *testing.T, server *redistest.Server) *Lane {
	t.Helper()
	cfg := tcp(server.Addr())
	cfg.Admission = &testRule
	l := open(t, cfg)
	admit(server, l, "AAAAAAAAAAAAAAAA")
	eventually(t, "it votes", func() bool { return l.State() == Voter })
	return l
}

func TestLearnerGetsEveryWriteAndHasNoVote(t *testing.T) {
	server := redistest.Start(t)
	cfg := tcp(server.Addr())
	cfg.Admission = &testRule
	l := open(t, cfg)
	if l.State() != Learner {
		t.Fatalf("state %s", l.State())
	}
	for _, op := range []quorum.Op{
		acquireOp("lock", "x"), acquireOp("lock", "y"), quorum.Increment{Key: "n", By: 1}, quorum.Read{Keys: []quorum.Key{"lock"}},
		quorum.Commit{Writes: []quorum.Write{{Kind: quorum.Put, Key: "put", Stored: "x"}}},
	} {
		if a := ask(t, l, op); a.Vote != quorum.Failed || a.Unsent || !strings.Contains(a.Err.Error(), errLearner.Error()) {
			t.Errorf("%T: vote %d, unsent %t, %v", op, a.Vote, a.Unsent, a.Err)
		}
	}
	if lock, n, put := server.Get("lock"), server.Get("n"), server.Get("put"); lock != "x" || n != "1" || put != "x" {
		t.Errorf("it holds %q, %q and %q", lock, n, put)
	}
	l.Owe(debt("lock", "x"))
	eventually(t, "the debt is paid", func() bool { return server.Get("lock") == "" })

	admit(server, l, "AAAAAAAAAAAAAAAA")
	eventually(t, "it votes", func() bool { return l.State() == Voter })
	wantVote(t, ask(t, l, acquireOp("lock", "z")), quorum.Granted)
}

// Keys that were evicted take the vote with them, although the marker stays, and although
// the backend could not be used meanwhile.
func TestVoteIsLostWithKeysThatWereEvicted(t *testing.T) {
	server := redistest.Start(t)
	l := admitted(t, server)
	wantVote(t, ask(t, l, acquireOp("lock", "x")), quorum.Granted)
	server.MustDo("CONFIG", "SET", "maxmemory-policy", "volatile-ttl")
	server.MustDo("CONFIG", "SET", "maxmemory", "1")
	eventually(t, "it is unfit", func() bool { return l.State() == Unfit })
	eventually(t, "the lock is evicted", func() bool {
		_, _ = server.Do("SET", "some", "x", "PX", "1000")
		return server.Get("lock") == ""
	})
	server.MustDo("CONFIG", "SET", "maxmemory", "0")
	server.MustDo("CONFIG", "SET", "maxmemory-policy", "noeviction")
	eventually(t, "it is met again", func() bool { return l.State() == Learner || l.State() == Voter })
	if look := l.Look(); l.State() != Learner || !look.Dropped || look.Standing != admission.Admitted || look.Votes() {
		t.Errorf("%+v", look)
	}
	wantVote(t, ask(t, l, acquireOp("lock", "y")), quorum.Failed)
	l.Reset()
	eventually(t, "it votes again", func() bool { return l.State() == Voter })
}

// A backend may have got its marker back from its own replica, without what that missed:
// the marker says nothing any more, whether it was seen as a replica, or only that it goes
// on from another history.
func TestVoteIsLostByABackendThatWasAReplica(t *testing.T) {
	for name, follow := range map[string]func(*redistest.Server, *Lane){
		"seen": func(s *redistest.Server, l *Lane) {
			s.MustDo("REPLICAOF", "127.0.0.1", "1")
			eventually(t, "it is unfit", func() bool { return l.State() == Unfit })
			s.MustDo("REPLICAOF", "NO", "ONE")
		},
		"between two looks": func(s *redistest.Server, _ *Lane) {
			s.MustDo("REPLICAOF", "127.0.0.1", "1")
			s.MustDo("REPLICAOF", "NO", "ONE")
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := redistest.Start(t)
			l := admitted(t, server)
			wantVote(t, ask(t, l, acquireOp("a", "x")), quorum.Granted)
			follow(server, l)
			eventually(t, "it is a learner", func() bool { return l.State() == Learner })
			wantVote(t, ask(t, l, acquireOp("c", "x")), quorum.Failed)
			if look := l.Look(); !look.Followed || look.Standing != admission.Admitted || look.Votes() {
				t.Errorf("%+v", look)
			}
			l.Reset()
			eventually(t, "it votes again", func() bool { return l.State() == Voter })
			wantVote(t, ask(t, l, acquireOp("d", "x")), quorum.Granted)
		})
	}
}

// A backend that votes about locks alone does not say what a counter is at: its number may
// be an old one.
func TestVoterAboutLocksShowsNoNumbers(t *testing.T) {
	server := redistest.Start(t)
	l := admitted(t, server)
	server.MustDo("SET", "n", "7")
	server.MustDo("SET", "lock", "7~rl:AAAAAAAAAAAAAAAA")
	read := func(keys ...quorum.Key) quorum.Read { return quorum.Read{Keys: keys} }
	wantVote(t, ask(t, l, read("n")), quorum.Granted)
	m := l.Look().Marker
	m.Role, m.Token = admission.Locker, "BBBBBBBBBBBBBBBB"
	server.MustDo("SET", string(admission.MarkerKey), m.String())
	eventually(t, "it votes about locks", func() bool { return l.Look().Standing == admission.Locking })
	wantVote(t, ask(t, l, read("lock")), quorum.Granted)
	wantVote(t, ask(t, l, read("none")), quorum.Granted)
	wantVote(t, ask(t, l, read("n")), quorum.Failed)
	wantVote(t, ask(t, l, read("lock", "n")), quorum.Failed)
	wantVote(t, ask(t, l, quorum.Increment{Key: "n", By: 1}), quorum.Failed)
	wantVote(t, ask(t, l, acquireOp("other", "x")), quorum.Granted)
}

// A history is forgotten after an hour without replicas, or sooner if so configured: that
// it was a replica is remembered all the same, and that it is forgotten takes no vote.
func TestReplicaIsRememberedWithoutItsHistory(t *testing.T) {
	const id = "8371445ee47cce01a6ee0ee6cb2b9d2d3d0f4ea3"
	primary, replica := Greeting{RunID: "r", Role: "master"}, Greeting{RunID: "r", Role: "slave"}
	promoted := Greeting{RunID: "r", Role: "master", ReplID2: id}
	answer := func(st *standing) { st.follows() }
	greets := func(g Greeting) func(*standing) { return func(st *standing) { st.notes(g) } }
	for _, c := range []struct {
		what  string
		after []func(*standing)
		lost  bool
	}{
		{"a primary", []func(*standing){greets(primary), greets(primary)}, false},
		{"was seen as a replica", []func(*standing){greets(primary), greets(replica), greets(primary)}, true},
		{"was met as a replica", []func(*standing){greets(replica), greets(primary)}, true},
		{"answered as a replica", []func(*standing){greets(primary), answer, greets(primary)}, true},
		{"goes on from another history", []func(*standing){greets(primary), greets(promoted)}, true},
		{"goes on from the same history", []func(*standing){greets(promoted), greets(promoted)}, false},
		{"forgot its history", []func(*standing){greets(promoted), greets(primary)}, false},
		{"told nothing in between", []func(*standing){greets(primary), answer, greets(Greeting{}), greets(primary)}, true},
	} {
		var st standing
		text := admission.Marker{Identity: testRule.Identity, Role: admission.Voter, RunID: "r", Token: "AAAAAAAAAAAAAAAA", Quiet: testRule.Quiet}.String()
		for _, f := range c.after {
			f(&st)
		}
		if lost := st.meets(&testRule, Greeting{Marker: text}).token == ""; lost != c.lost {
			t.Errorf("one that %s: vote lost %v", c.what, lost)
		}
	}
}

// Whatever takes a backend's memory takes its vote, from the very batch in which it
// happened, and until it is admitted anew.
func TestVoteIsLostWithTheMemory(t *testing.T) {
	for name, forget := range map[string]func(*redistest.Server){
		"flush":   func(s *redistest.Server) { s.MustDo("FLUSHALL") },
		"swap":    func(s *redistest.Server) { s.MustDo("SWAPDB", "0", "1") },
		"restart": func(s *redistest.Server) { s.Restart() },
	} {
		t.Run(name, func(t *testing.T) {
			server := redistest.Start(t)
			l := admitted(t, server)
			wantVote(t, ask(t, l, acquireOp("a", "x")), quorum.Granted)
			forget(server)
			wantVote(t, ask(t, l, acquireOp("b", "x")), quorum.Failed)
			eventually(t, "it is a learner", func() bool { return l.State() == Learner })
			admit(server, l, "CCCCCCCCCCCCCCCC")
			eventually(t, "it votes again", func() bool { return l.State() == Voter })
		})
	}
}

// A backend that was admitted anew has forgotten something before. The batch itself
// writes the other marker: a probe between the two would make the new token the known one.
func TestVoteIsLostWithAnotherAdmission(t *testing.T) {
	l := admitted(t, redistest.Start(t))
	m := l.Look().Marker
	m.Token = "BBBBBBBBBBBBBBBB"
	put := quorum.Write{Kind: quorum.Put, Key: admission.MarkerKey, Stored: quorum.Stored(m.String())}
	wantVote(t, ask(t, l, quorum.Commit{Writes: []quorum.Write{put}}), quorum.Failed)
	eventually(t, "it votes again", func() bool { return l.State() == Voter && l.Look().Marker == m })
	wantVote(t, ask(t, l, acquireOp("a", "x")), quorum.Granted)
}

// A marker that stands before the votes says nothing of what is lost between them and
// it: it must be the last thing that a pipeline asks for.
func TestMarkerIsReadBehindTheVotes(t *testing.T) {
	server := redistest.Start(t)
	written := &text{}
	cfg := testConfig(recorded(server.Addr(), written))
	cfg.Admission = &testRule
	l := open(t, cfg)
	admit(server, l, "AAAAAAAAAAAAAAAA")
	eventually(t, "it votes", func() bool { return l.State() == Voter })
	server.Pause() // what is behind the first becomes one batch
	first := send(l, acquireOp("first", "x"))
	eventually(t, "the first is under way", func() bool { return l.busySince.Load() != 0 })
	second, third := send(l, acquireOp("second", "x")), send(l, acquireOp("third", "x"))
	before := len(written.String())
	server.Resume()
	for _, v := range []votes{first, second, third} {
		wantVote(t, answer(t, v), quorum.Granted)
	}
	// Up to and with the batch's last command.
	batch, _, _ := strings.Cut(written.String()[before:], "\r\nTIME\r\n")
	if strings.Index(batch, string(admission.MarkerKey)) < strings.Index(batch, "third") || !strings.Contains(batch, "third") {
		t.Errorf("the batch was %q", batch)
	}
}

// A backend of another group must not be used, and keeps its marker.
func TestBackendOfAnotherGroupIsUnfit(t *testing.T) {
	server := redistest.Start(t)
	other := admission.Marker{Identity: admission.Identity{Group: "g", N: 5, Place: 2}, Role: admission.Voter, RunID: "x", Token: "AAAAAAAAAAAAAAAA"}
	server.MustDo("SET", string(admission.MarkerKey), other.String())
	cfg, log := logged(tcp(server.Addr()))
	cfg.Admission = &testRule
	l := Open(cfg)
	t.Cleanup(l.Close)
	<-l.Tried()
	eventually(t, "it is unfit", func() bool { return l.State() == Unfit })
	wantUnsent(t, ask(t, l, acquireOp("k", "x")), errDown)
	if log.lines("it is marked as g 2/5, and this group has it as g 1/5") != 1 {
		t.Errorf("log:\n%s", log)
	}
	if text := server.Get(string(admission.MarkerKey)); text != other.String() {
		t.Errorf("its marker is now %q", text)
	}
}

// It is found out on an open connection, too, whether it voted before or not.
func TestBackendThatIsMarkedForAnotherGroupBecomesUnfit(t *testing.T) {
	for _, before := range []State{Learner, Voter} {
		t.Run(before.String(), func(t *testing.T) {
			server := redistest.Start(t)
			cfg := tcp(server.Addr())
			cfg.Admission = &testRule
			l := open(t, cfg)
			if before == Voter {
				admit(server, l, "AAAAAAAAAAAAAAAA")
			}
			eventually(t, "it is there", func() bool { return l.State() == before })
			other := admission.Marker{Identity: admission.Identity{Group: "g", N: 5, Place: 2}, Role: admission.Voter, RunID: "x", Token: "AAAAAAAAAAAAAAAA"}
			server.MustDo("SET", string(admission.MarkerKey), other.String())
			eventually(t, "it is unfit", func() bool { return l.State() == Unfit })
			wantUnsent(t, ask(t, l, acquireOp("k", "x")), errDown)
			if reason := l.Facts().Reason; !strings.Contains(reason, "it is marked as g 2/5") {
				t.Errorf("reason %q", reason)
			}
		})
	}
}

// A clock that jumps takes the vote at once, in the batch that shows it.
func TestVoteIsLostWhenTheClockJumps(t *testing.T) {
	var st standing
	rule := testRule
	st.notes(Greeting{RunID: "r"})
	st.meets(&rule, Greeting{RunID: "r"})
	text := admission.Marker{Identity: rule.Identity, Role: admission.Voter, RunID: "r", Token: "AAAAAAAAAAAAAAAA", Quiet: rule.Quiet}.String()
	now := time.Now()
	at := func(ours, theirs time.Duration) string {
		return st.sees(&rule, text, now.Add(theirs), ours, ours+time.Millisecond).token
	}
	for i := range 5 {
		if d := time.Duration(i) * time.Second; at(d, d+d/200) == "" {
			t.Fatalf("no vote after %s", d)
		}
	}
	if at(5*time.Second, 5300*time.Millisecond) != "" {
		t.Error("it votes although its clock jumped by 300 ms")
	}
	if at(6*time.Second, 6*time.Second) != "" {
		t.Error("it votes again because its clock jumped back")
	}
}

func TestReplicasAndClusterNodesAreUnfit(t *testing.T) {
	primary := redistest.Start(t)
	for name, c := range map[string]struct {
		args []string
		why  string
	}{
		"replica":      {[]string{"--replicaof", "127.0.0.1 " + strings.TrimPrefix(primary.Addr(), "127.0.0.1:")}, "it is a replica"},
		"cluster node": {[]string{"--cluster-enabled", "yes"}, "it is in cluster mode"},
	} {
		t.Run(name, func(t *testing.T) {
			server := redistest.Start(t, redistest.Args(c.args...))
			cfg, log := logged(tcp(server.Addr()))
			l := Open(cfg)
			t.Cleanup(l.Close)
			<-l.Tried()
			eventually(t, "it is unfit", func() bool { return l.State() == Unfit })
			wantUnsent(t, ask(t, l, acquireOp("k", "x")), errDown)
			if log.lines(c.why) != 1 {
				t.Errorf("log:\n%s", log)
			}
			if r := Inspect(t.Context(), cfg); r.Err == nil || !strings.Contains(r.Err.Error(), c.why) {
				t.Errorf("inspection: %v", r.Err)
			}
			if keys := server.MustDo("DBSIZE"); keys != int64(0) {
				t.Errorf("%v keys", keys)
			}
		})
	}
}

// A primary that becomes a replica refuses writes: that is no vote, neither for nor
// against, and takes those with it that came in the same pipeline. It is looked at anew.
// Where nobody is to be admitted, it votes when it is a primary again.
func TestBackendThatBecomesAReplicaIsUnfitUntilItIsAPrimaryAgain(t *testing.T) {
	for name, op := range map[string]quorum.Op{
		"acquire":   acquireOp("k", "x"),
		"increment": quorum.Increment{Key: "n", By: 1},
		"commit":    quorum.Commit{Writes: []quorum.Write{{Kind: quorum.Put, Key: "k", Stored: "x"}}},
	} {
		t.Run(name, func(t *testing.T) {
			server := redistest.Start(t)
			cfg := tcp(server.Addr())
			cfg.Vote = time.Minute
			l := open(t, cfg)
			server.MustDo("REPLICAOF", "127.0.0.1", "1")
			server.Pause() // the two behind the first become one batch
			read := quorum.Read{Keys: []quorum.Key{"k"}}
			first := send(l, read)
			eventually(t, "the first is under way", func() bool { return l.busySince.Load() != 0 })
			second, third := send(l, read), send(l, op)
			server.Resume()
			wantVote(t, answer(t, first), quorum.Granted)
			wantVote(t, answer(t, second), quorum.Failed)
			wantVote(t, answer(t, third), quorum.Failed)
			eventually(t, "it is unfit", func() bool { return l.State() == Unfit })
			server.MustDo("REPLICAOF", "NO", "ONE")
			eventually(t, "it votes again", func() bool { return l.State() == Voter })
			wantVote(t, ask(t, l, op), quorum.Granted)
		})
	}
}

func TestClosedLaneFailsWhatWaitsAndAllThatComes(t *testing.T) {
	server := redistest.Start(t)
	cfg := tcp(server.Addr())
	cfg.Stall, cfg.Vote = time.Minute, time.Minute
	l := open(t, cfg)
	server.Pause()
	first := send(l, acquireOp("first", "x"))
	eventually(t, "the first is under way", func() bool { return l.busySince.Load() != 0 })
	second := send(l, acquireOp("second", "x"))
	start := time.Now()
	l.Close()
	if took := time.Since(start); took > 2*time.Second {
		t.Errorf("closing took %s", took)
	}
	if a := answer(t, first); a.Vote != quorum.Failed || a.Unsent {
		t.Errorf("vote %d, unsent %t of what was under way", a.Vote, a.Unsent)
	}
	if a := answer(t, second); a.Vote != quorum.Failed || !a.Unsent {
		t.Errorf("vote %d, unsent %t of what waited", a.Vote, a.Unsent)
	}
	wantUnsent(t, ask(t, l, acquireOp("third", "x")), errDown)
}
