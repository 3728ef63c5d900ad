package lane

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/redis/go-redis/v9"

	"redlockproxy/proxy/redistest"
	"redlockproxy/quorum"
)

func TestStalledLaneFailsAtOnceAndVotesAgainSoonAfter(t *testing.T) {
	server := redistest.Start(t)
	for name, c := range map[string]struct {
		stall time.Duration
		err   error
	}{
		"the connection lives":       {time.Minute, errStalled},
		"the connection is given up": {100 * time.Millisecond, errDown},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := tcp(server.Addr())
			cfg.Connect, cfg.Vote, cfg.Stall = 100*time.Millisecond, 20*time.Millisecond, c.stall
			cfg.BackoffMax = 500 * time.Millisecond
			l := open(t, cfg)
			server.Pause()
			first := send(l, acquireOp("stalled:"+name, "x"))
			start := time.Now()
			eventually(t, "the lane notices", func() bool {
				return time.Since(start) > 30*time.Millisecond && ask(t, l, quorum.Read{Keys: []quorum.Key{"k"}}).Err == c.err
			})
			start = time.Now()
			for range 100 {
				wantUnsent(t, ask(t, l, quorum.Read{Keys: []quorum.Key{"k"}}), c.err)
			}
			if took := time.Since(start); took > 200*time.Millisecond {
				t.Errorf("100 refusals took %s", took)
			}
			server.Resume()
			start = time.Now()
			eventually(t, "the lane votes again", func() bool { return ask(t, l, quorum.Read{Keys: []quorum.Key{"k"}}).Vote == quorum.Granted })
			if took := time.Since(start); took > 1500*time.Millisecond {
				t.Errorf("it votes %s after the backend went on", took)
			}
			answer(t, first)
		})
	}
}

func TestQueueIsBounded(t *testing.T) {
	server := redistest.Start(t)
	cfg := tcp(server.Addr())
	cfg.Queue, cfg.Vote = 10, time.Minute
	l := open(t, cfg)
	server.Pause()
	first := send(l, acquireOp("first", "x"))
	eventually(t, "the first is under way", func() bool { return l.busySince.Load() != 0 })
	var waiting []votes
	for i := range 10 {
		waiting = append(waiting, send(l, acquireOp(fmt.Sprint("waits", i), "x")))
	}
	for i := range 5 {
		wantUnsent(t, ask(t, l, acquireOp(fmt.Sprint("over", i), "x")), errFull)
	}
	l.Owe(debt("first", "x")) // debts have their own bound
	if kept, lost := l.Debts(); kept != 1 || lost != 0 {
		t.Errorf("%d debts kept, %d lost", kept, lost)
	}
	server.Resume()
	for _, v := range append(waiting, first) {
		wantVote(t, answer(t, v), quorum.Granted)
	}
	eventually(t, "the debt is paid", func() bool { return server.Get("first") == "" })
	if keys := server.Keys(); len(keys) != 10 {
		t.Errorf("keys %q", keys)
	}
}

func TestDebtsAreKeptWhileDownWithinTheirBoundAndPaidOnReturn(t *testing.T) {
	server := redistest.Start(t, redistest.Persistent())
	cfg := tcp(server.Addr())
	cfg.Debts = 10
	l := open(t, cfg)
	for i := range 20 {
		server.MustDo("SET", fmt.Sprint("k", i), "mine")
	}
	server.MustDo("SET", "k1", "the next owner's")
	server.Kill()
	eventually(t, "the lane is down", func() bool { return l.State() == Down })
	past := debt("k19", "mine")
	past.Until = time.Now().Add(-time.Second)
	l.Owe(past) // past its date: the first to go
	for i := range 12 {
		l.Owe(debt(fmt.Sprint("k", i), "mine"))
	}
	if kept, lost := l.Debts(); kept != 10 || lost != 2 {
		t.Errorf("%d debts kept, %d lost", kept, lost)
	}
	server.RestartWithData()
	eventually(t, "the debts are paid", func() bool { kept, _ := l.Debts(); return kept == 0 && l.State() == Voter })
	eventually(t, "what was owed is gone", func() bool { return len(server.Keys()) == 11 })
	if got := server.Get("k1"); got != "the next owner's" {
		t.Errorf("the next owner's key holds %q", got)
	}
}

// A backend that answers a removal with an error is asked again over the same
// connection. What is owed stays within the bound, and the oldest has its place while it
// is on its way.
func TestRefusedRemovalIsSentAgain(t *testing.T) {
	server := redistest.Start(t)
	cfg := tcp(server.Addr())
	cfg.Debts, cfg.Vote, cfg.Stall = 5, time.Minute, time.Minute
	l := open(t, cfg)
	server.MustDo("SET", "k", "mine")
	for i := range 10 {
		server.MustDo("SET", fmt.Sprint("more", i), "x")
	}
	before := connID(t, server)
	server.MustDo("ACL", "SETUSER", "default", "-del")
	server.Pause()
	l.Owe(debt("k", "mine"))
	eventually(t, "the removal is on its way", func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.debts.sent == 1
	})
	for i := range 10 {
		l.Owe(debt(fmt.Sprint("more", i), "x"))
	}
	if kept, lost := l.Debts(); kept != 5 || lost != 6 {
		t.Errorf("%d debts kept, %d lost", kept, lost)
	}
	server.Resume()
	eventually(t, "all were refused", func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return len(l.debts.kept) == 5
	})
	server.MustDo("ACL", "SETUSER", "default", "+del")
	eventually(t, "the removals are done", func() bool { kept, _ := l.Debts(); return kept == 0 })
	if left := server.Keys(); server.Get("k") != "" || len(left) != 6 {
		t.Errorf("%q are left", left)
	}
	if after := connID(t, server); after != before {
		t.Errorf("connection %d, before %d", after, before)
	}
}

// A read never asks anybody, so only a look now and then can tell that the
// connection of an idle lane is gone.
func TestIdleLaneNoticesARestart(t *testing.T) {
	server := redistest.Start(t)
	cfg, log := logged(tcp(server.Addr()))
	l := open(t, cfg)
	server.Restart()
	eventually(t, "the lane has a new connection", func() bool { return log.lines(`"message":"backend is connected"`) == 2 && l.State() == Voter })
	wantVote(t, ask(t, l, acquireOp("k", "x")), quorum.Granted)
}

// A name is looked up for each try to connect: one that can't be found may be later.
func TestNameThatIsFoundLaterIsConnected(t *testing.T) {
	server := redistest.Start(t)
	var known atomic.Bool
	cfg := testConfig(redis.Options{Addr: "backend.invalid:6379", Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
		if !known.Load() {
			return nil, &net.DNSError{Err: "no such host", Name: addr, IsNotFound: true}
		}
		return (&net.Dialer{}).DialContext(ctx, "tcp", server.Addr())
	}})
	l := Open(cfg)
	t.Cleanup(l.Close)
	eventually(t, "it is down", func() bool { return l.State() == Down })
	wantUnsent(t, ask(t, l, acquireOp("k", "x")), errDown)
	known.Store(true)
	eventually(t, "it votes", func() bool { return l.State() == Voter })
	wantVote(t, ask(t, l, acquireOp("k", "x")), quorum.Granted)
}

// Also when nobody asks for anything, it is seen that a backend does not answer.
func TestLaneToASilentBackendIsStalled(t *testing.T) {
	server := redistest.Start(t)
	cfg := tcp(server.Addr())
	cfg.Vote, cfg.Stall = 50*time.Millisecond, time.Minute
	l := open(t, cfg)
	time.Sleep(cfg.Vote) // it has been a voter for a while
	paused := time.Now()
	server.Pause()
	eventually(t, "the lane is stalled", func() bool { return l.State() == Stalled })
	if f := l.Facts(); f.State != Stalled || f.Since.Before(paused) || f.Since.After(time.Now()) {
		t.Errorf("%s since %s, paused at %s", f.State, f.Since, paused)
	}
	wantUnsent(t, ask(t, l, acquireOp("k", "x")), errStalled)
	server.Resume()
	eventually(t, "the lane votes", func() bool { return l.State() == Voter })
	wantVote(t, ask(t, l, acquireOp("k", "x")), quorum.Granted)
}

func TestScriptsThatABackendForgotCostNoVote(t *testing.T) {
	server := redistest.Start(t)
	l := open(t, tcp(server.Addr()))
	for range 3 {
		server.MustDo("SCRIPT", "FLUSH")
		both := []votes{
			send(l, quorum.Read{Keys: []quorum.Key{"a", "b"}, Full: true}),
			send(l, quorum.Commit{Guards: []quorum.Guard{{Kind: quorum.Absent, Key: "a"}}, Writes: []quorum.Write{{Kind: quorum.Put, Key: "a", Stored: "x"}}}),
			send(l, quorum.Commit{Writes: []quorum.Write{{Kind: quorum.Delete, Key: "a"}}}),
		}
		for _, v := range both {
			wantVote(t, answer(t, v), quorum.Granted)
		}
	}
}

func TestPausesBetweenAttemptsToConnectGrow(t *testing.T) {
	server := redistest.Start(t)
	relay := redistest.NewRelay(t, server.Addr())
	cfg, log := logged(tcp(relay.Addr()))
	cfg.BackoffMin, cfg.BackoffMax = 10*time.Millisecond, 100*time.Millisecond
	l := open(t, cfg)
	relay.Reject()
	eventually(t, "the lane is down", func() bool { return ask(t, l, quorum.Read{Keys: []quorum.Key{"k"}}).Err == errDown })
	before := relay.Accepted()
	time.Sleep(time.Second) // the time in which attempts are counted
	// 10, 20, 40, 80 and then 100 ms: about a dozen in a second.
	if n := relay.Accepted() - before; n < 3 || n > 15 {
		t.Errorf("%d attempts in a second", n)
	}
	if n := log.lines("backend has no vote"); n != 1 {
		t.Errorf("the outage was logged %d times:\n%s", n, log)
	}
	relay.Pass()
	eventually(t, "the lane is back", func() bool { return l.State() == Voter })
}

func TestWaitingRequestsAndDebtsAreBoundedInBytes(t *testing.T) {
	server := redistest.Start(t)
	cfg := tcp(server.Addr())
	cfg.Vote = time.Minute
	l := open(t, cfg)
	large := strings.Repeat("x", 1<<20)
	server.Pause()
	first := send(l, acquireOp("first", "x"))
	eventually(t, "the first is under way", func() bool { return l.busySince.Load() != 0 })
	var waiting []votes
	for i := range maxQueueBytes >> 20 {
		waiting = append(waiting, send(l, acquireOp(fmt.Sprint("waits", i), large)))
		l.Owe(debt(fmt.Sprint("owed", i), large))
	}
	wantUnsent(t, ask(t, l, acquireOp("over", large)), errFull)
	l.Owe(debt("over", large))
	waiting = append(waiting, send(l, acquireOp("small", "x")))
	if kept, lost := l.Debts(); kept != maxDebtBytes>>20 || lost != 1 {
		t.Errorf("%d debts kept, %d lost", kept, lost)
	}
	server.Resume()
	for _, v := range append(waiting, first) {
		wantVote(t, answer(t, v), quorum.Granted)
	}
	eventually(t, "all debts are paid", func() bool { kept, _ := l.Debts(); return kept == 0 })
	server.Kill() // with nothing on the way, and then with something
	l.Owe(debt("later", large))
	eventually(t, "the lane is down", func() bool { return l.State() == Down })
	server.Restart()
	eventually(t, "it votes again", func() bool { return l.State() == Voter })
	wantVote(t, ask(t, l, acquireOp("again", "x")), quorum.Granted)
	eventually(t, "that debt is paid", func() bool { kept, _ := l.Debts(); return kept == 0 })
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.bytes != 0 || l.debts.bytes != 0 || l.debts.waits != 0 {
		t.Errorf("of nothing there are %d, %d and %d bytes", l.bytes, l.debts.bytes, l.debts.waits)
	}
}

// Debts that a backend refuses are kept, and are no batch that it is time to send.
func TestKeptDebtsFillNoBatch(t *testing.T) {
	server := redistest.Start(t)
	cfg := tcp(server.Addr())
	cfg.BatchBytes = 1000
	l := open(t, cfg)
	server.MustDo("ACL", "SETUSER", "default", "-del")
	for i := range 10 {
		key := fmt.Sprint("k", i)
		server.MustDo("SET", key, strings.Repeat("x", 200))
		l.Owe(debt(key, strings.Repeat("x", 200)))
	}
	waits := func() (kept, bytes int, full bool) {
		_, full = l.waiting()
		l.mu.Lock()
		defer l.mu.Unlock()
		return len(l.debts.kept), l.debts.waits, full
	}
	eventually(t, "all are kept, and nothing waits", func() bool {
		kept, bytes, full := waits()
		return kept == 10 && bytes == 0 && !full
	})
	server.MustDo("ACL", "SETUSER", "default", "+del")
	eventually(t, "the removals are done", func() bool { kept, _ := l.Debts(); return kept == 0 })
	if _, bytes, full := waits(); bytes != 0 || full {
		t.Errorf("of nothing %d bytes wait", bytes)
	}
}

func TestDebtDoesNotHoldTheCommandOfItsKey(t *testing.T) {
	l := &Lane{cfg: Config{Debts: 1}}
	command := strings.Repeat("k", 1000)
	l.Owe(debt(command[:1], "mine"))
	if unsafe.StringData(string(l.debts.kept[0].Key)) == unsafe.StringData(command) {
		t.Error("the key is a piece of the command")
	}
}
