package lane

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"redlockproxy/proxy/redistest"
	"redlockproxy/quorum"
)

func TestEachChangeOfStateIsLoggedWithWhatItMeansForVotes(t *testing.T) {
	server := redistest.Start(t)
	cfg, log := logged(tcp(server.Addr()))
	cfg.Votes = func() string { return "3 of 5 can vote" }
	open(t, cfg)
	eventually(t, "it is said to vote", func() bool { return log.lines(`"state":"voter"`) == 1 })
	server.Kill()
	eventually(t, "it is said to be down", func() bool { return log.lines(`"state":"down"`) == 1 })
	server.Restart()
	eventually(t, "it is said to vote again", func() bool { return log.lines(`"state":"voter"`) == 2 })
	if log.lines(`"votes":"3 of 5 can vote"`) != 3 || log.lines(`"reason":`) != 1 {
		t.Errorf("log:\n%s", log)
	}
}

// A server that is down for another reason than before is spoken of again, if the reason
// is its own: one that reads its data was restarted.
func TestReasonThatTheBackendGivesItselfIsLogged(t *testing.T) {
	log := &text{}
	l := &Lane{cfg: Config{Name: "b", Log: zerolog.New(log)}, reporter: reporter{told: unreported}}
	refused, reset := errors.New("connection refused"), errors.New("connection reset")
	for _, step := range []struct {
		state  State
		reason error
		lines  int
	}{
		{Voter, nil, 1}, {Down, reset, 2}, {Down, refused, 2}, {Down, fmt.Errorf("backend b: %w", replyError("LOADING it reads")), 3},
		{Down, replyError("LOADING it still does"), 3}, {Down, refused, 4}, {Unfit, unfitError("a replica"), 5},
		{Unfit, unfitError("a replica"), 5}, {Unfit, unfitError("another group's"), 6}, {Voter, nil, 7},
	} {
		l.report(step.state, step.reason, Greeting{})
		if n := log.lines(`"state"`); n != step.lines {
			t.Errorf("%d lines, wanted %d:\n%s", n, step.lines, log)
		}
	}
}

// A backend that comes and goes leaves few lines, and the log ends with how it is.
func TestStormOfChangesIsSampled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &text{}
		l := &Lane{cfg: Config{Name: "b", Log: zerolog.New(log)}, reporter: reporter{told: unreported}}
		for range 200 { // in 2 s
			l.report(Voter, nil, Greeting{})
			time.Sleep(5 * time.Millisecond)
			l.report(Down, errDown, Greeting{})
			time.Sleep(5 * time.Millisecond)
		}
		if n := log.lines(`"state"`); n != stormLines {
			t.Errorf("%d lines, wanted %d", n, stormLines)
		}
		l.report(Voter, nil, Greeting{}) // what it is from here on
		for range 20 {
			time.Sleep(time.Second)
			l.report(Voter, nil, Greeting{})
		}
		lines := strings.Split(strings.TrimSpace(log.String()), "\n")
		last := lines[len(lines)-1]
		if len(lines) != stormLines+1 || !strings.Contains(last, `"state":"voter"`) || !strings.Contains(last, `"changes_not_logged":391`) {
			t.Errorf("%d lines, the last one is %s", len(lines), last)
		}
	})
}

func TestVotesAreCounted(t *testing.T) {
	server := redistest.Start(t)
	l := open(t, tcp(server.Addr()))
	wantVote(t, ask(t, l, acquireOp("k", "x")), quorum.Granted)
	wantVote(t, ask(t, l, acquireOp("k", "y")), quorum.Refused)
	server.Kill()
	eventually(t, "it is down", func() bool { return l.State() == Down })
	wantUnsent(t, ask(t, l, acquireOp("k", "y")), errDown)
	if f := l.Facts(); f.Granted != 1 || f.Refused != 1 || f.Failed != 1 || f.State != Down || f.Reason == "" || time.Since(f.Since) > time.Minute {
		t.Errorf("%+v", f)
	}
}
