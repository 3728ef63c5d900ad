package lane

import (
	"slices"
	"strings"
	"testing"

	"redlockproxy/proxy/redistest"
	"redlockproxy/quorum"
)

// A limit of memory and a policy that drops keys are no place for locks. Without the
// limit it is a warning, and gone when it is mended.
func TestBackendThatWouldDropLocksIsUnfit(t *testing.T) {
	server := redistest.Start(t, redistest.Args("--maxmemory", "50mb", "--maxmemory-policy", "allkeys-lru"))
	cfg, log := logged(tcp(server.Addr()))
	l := Open(cfg)
	t.Cleanup(l.Close)
	eventually(t, "it is unfit", func() bool { return l.State() == Unfit })
	wantUnsent(t, ask(t, l, acquireOp("k", "x")), errDown)
	if log.lines("it drops locks when that is reached") != 1 {
		t.Errorf("log:\n%s", log)
	}
	server.MustDo("CONFIG", "SET", "maxmemory", "0")
	eventually(t, "it votes", func() bool { return l.State() == Voter })
	if w := l.Facts().Warnings; !slices.Equal(w, []Warning{WarnEviction}) || log.lines("with a limit of memory it would drop locks") != 1 {
		t.Errorf("warnings %v, log:\n%s", w, log)
	}
	server.MustDo("CONFIG", "SET", "maxmemory-policy", "noeviction")
	server.MustDo("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
	eventually(t, "it votes without a warning", func() bool { return l.State() == Voter && len(l.Facts().Warnings) == 0 })
}

// A backend that is full has no vote about what it can't store, takes releases, and is
// talked about once.
func TestFullBackendIsWarnedOf(t *testing.T) {
	server := redistest.Start(t)
	cfg, log := logged(tcp(server.Addr()))
	l := Open(cfg)
	t.Cleanup(l.Close)
	eventually(t, "it votes", func() bool { return l.State() == Voter })
	wantVote(t, ask(t, l, acquireOp("held", "x")), quorum.Granted)
	server.MustDo("CONFIG", "SET", "maxmemory", "1")
	for range 3 {
		wantVote(t, ask(t, l, acquireOp("k", "x")), quorum.Failed)
	}
	if w := l.Facts().Warnings; !slices.Equal(w, []Warning{WarnWrites}) || log.lines("its memory is full") != 1 {
		t.Errorf("warnings %v, log:\n%s", w, log)
	}
	release := quorum.Commit{
		Guards: []quorum.Guard{{Kind: quorum.StoredIs, Key: "held", Text: "x"}},
		Writes: []quorum.Write{{Kind: quorum.Delete, Key: "held"}},
	}
	wantVote(t, ask(t, l, release), quorum.Granted)
	server.MustDo("CONFIG", "SET", "maxmemory", "0")
	eventually(t, "the warning is over", func() bool { return len(l.Facts().Warnings) == 0 })
}

// A backend that takes no writes is warned of before anybody writes, once for as long as
// it lasts, whoever notices it meanwhile; and it votes again by itself.
func TestBackendThatRefusesToWriteVotesAgainWhenItWrites(t *testing.T) {
	for name, c := range map[string]struct{ setting, refuse, mend, why string }{
		"full":                    {"maxmemory", "1", "0", "its memory is full"},
		"no replicas to write to": {"min-replicas-to-write", "1", "0", "NOREPLICAS"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // they wait, for looks that are seconds apart
			server := redistest.Start(t)
			cfg, log := logged(tcp(server.Addr()))
			l := open(t, cfg)
			server.MustDo("CONFIG", "SET", c.setting, c.refuse)
			eventually(t, "it is warned of", func() bool { return slices.Equal(l.Facts().Warnings, []Warning{WarnWrites}) })
			if f := l.Facts(); f.State != Voter || !strings.Contains(f.Reason, c.why) {
				t.Errorf("state %s, reason %q", f.State, f.Reason)
			}
			wantVote(t, ask(t, l, acquireOp("k", "x")), quorum.Failed)
			looks := server.Info("cmdstat_persist") // nobody else sends it one
			eventually(t, "another look", func() bool { return server.Info("cmdstat_persist") != looks })
			wantVote(t, ask(t, l, acquireOp("k", "x")), quorum.Failed)
			server.MustDo("CONFIG", "SET", c.setting, c.mend)
			wantVote(t, ask(t, l, acquireOp("k", "x")), quorum.Granted)
			eventually(t, "the warning is over", func() bool { return len(l.Facts().Warnings) == 0 })
			if log.lines("backend needs a look") != 1 || log.lines("backend's warning is over") != 1 {
				t.Errorf("log:\n%s", log)
			}
		})
	}
}

// Without the right to look at the clock or to end a connection, it is said at once.
func TestMissingRightsAreWarnedOf(t *testing.T) {
	server := redistest.Start(t)
	server.MustDo("ACL", "SETUSER", "proxy", "on", "nopass", "~*", "+@all", "-time", "-client|kill")
	cfg := tcp(server.Addr())
	cfg.Options.Username = "proxy"
	cfg.Options.Password = "any"
	cfg.Admission = &testRule
	l := Open(cfg)
	t.Cleanup(l.Close)
	eventually(t, "both are warned of", func() bool {
		return slices.Equal(l.Facts().Warnings, []Warning{WarnKill, WarnClock})
	})
	if r := Inspect(t.Context(), cfg); r.Err != nil || len(r.Warnings) != 2 {
		t.Errorf("inspection: %v, %q", r.Err, r.Warnings)
	}
}
