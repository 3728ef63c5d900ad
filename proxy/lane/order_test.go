package lane

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"redlockproxy/proxy/redistest"
	"redlockproxy/quorum"
)

func debt(key, stored string) quorum.Debt {
	return quorum.Debt{Key: quorum.Key(key), Stored: quorum.Stored(stored), Until: time.Now().Add(time.Minute)}
}

// recorded dials as net.Dial does, and notes all that is written, in one list for all
// connections.
func recorded(addr string, written *text) redis.Options {
	return redis.Options{Addr: addr, Dialer: func(context.Context, string, string) (net.Conn, error) {
		conn, err := net.Dial("tcp", addr)
		return recorder{conn, written}, err
	}}
}

type recorder struct {
	net.Conn
	written *text
}

func (r recorder) Write(p []byte) (int, error) {
	_, _ = r.written.Write(p)
	return r.Conn.Write(p)
}

// The old connection may still have requests on the way when the next one is made:
// it is killed before anything that is owed goes out.
func TestOldConnectionIsKilledBeforeDebtsArePaid(t *testing.T) {
	server := redistest.Start(t)
	relay := redistest.NewRelay(t, server.Addr())
	written := &text{}
	l := open(t, testConfig(recorded(relay.Addr(), written)))
	server.MustDo("SET", "k", "owed-value")
	old := string(redistest.Encode("CLIENT", "KILL", "ID", fmt.Sprint(connID(t, server))))

	relay.Refuse()
	eventually(t, "the lane is down", func() bool { return ask(t, l, quorum.Read{Keys: []quorum.Key{"k"}}).Err == errDown })
	l.Owe(debt("k", "owed-value"))
	if kept, _ := l.Debts(); kept != 1 {
		t.Errorf("%d debts kept", kept)
	}
	relay.Pass()
	eventually(t, "the debt is paid", func() bool { return server.Get("k") == "" })

	killed, paid := strings.Index(written.String(), old), strings.Index(written.String(), "owed-value")
	if killed < 0 || paid < killed {
		t.Errorf("the old connection was killed at %d, the debt was paid at %d", killed, paid)
	}
}

// connID is the number that the backend gave to the lane's connection.
func connID(t *testing.T, server *redistest.Server) int {
	t.Helper()
	list, _ := server.MustDo("CLIENT", "LIST").(string)
	for line := range strings.Lines(list) {
		if strings.Contains(line, " addr=127.0.0.1:") && !strings.Contains(line, "cmd=monitor") {
			var id int
			if _, err := fmt.Sscanf(line, "id=%d ", &id); err == nil {
				return id
			}
		}
	}
	t.Fatalf("the lane is not connected:\n%s", list)
	return 0
}

// killed are the numbers that a connection asked the backend to end.
func killed(written string) (ids []string) {
	words := strings.Fields(written)
	for i, w := range words {
		if strings.EqualFold(w, "KILL") && i+4 < len(words) { // KILL $2 ID $n number
			ids = append(ids, words[i+4])
		}
	}
	return ids
}

// A backend that has restarted may have given the old number to somebody else.
func TestNothingIsKilledAfterARestart(t *testing.T) {
	server := redistest.Start(t)
	written := &text{}
	l := open(t, testConfig(recorded(server.Addr(), written)))
	server.Restart()
	eventually(t, "the lane is back", func() bool { return ask(t, l, quorum.Read{Keys: []quorum.Key{"k"}}).Vote == quorum.Granted })
	for _, id := range killed(written.String()) {
		if id != "0" { // which is nobody's, and asks for the right alone
			t.Errorf("the connection %s was killed", id)
		}
	}
}

// What was on its way when the connection broke can't run behind the removal of it.
func TestLateRequestOfTheOldConnectionDoesNotOutliveItsUndo(t *testing.T) {
	server := redistest.Start(t)
	relay := redistest.NewRelay(t, server.Addr())
	cfg := tcp(relay.Addr())
	cfg.Vote, cfg.Stall = 20*time.Millisecond, 50*time.Millisecond
	l := open(t, cfg)
	for i := range 10 {
		key := fmt.Sprint("late", i)
		server.Pause()
		a := ask(t, l, acquireOp(key, "late"))
		if a.Vote != quorum.Failed || a.Unsent {
			t.Fatalf("vote %d, unsent %t", a.Vote, a.Unsent)
		}
		l.Owe(debt(key, "late"))
		server.Resume() // the SET is read now
		eventually(t, "the debt is paid", func() bool { kept, _ := l.Debts(); return kept == 0 && l.State() == Voter })
		redistest.Settles(t, 20*time.Millisecond, 5*time.Second, key+" is gone", func() bool { return server.Get(key) == "" })
	}
}

func TestRequestPastItsDeadlineIsNotSent(t *testing.T) {
	server := redistest.Start(t)
	relay := redistest.NewRelay(t, server.Addr())
	cfg := tcp(relay.Addr())
	cfg.Vote, cfg.Stall = time.Minute, time.Minute
	l := open(t, cfg)
	relay.Hold(redistest.Replies)
	first := send(l, acquireOp("first", "x")) // occupies the connection
	eventually(t, "the first is under way", func() bool { return l.busySince.Load() != 0 })
	deadline := time.Now().Add(20 * time.Millisecond)
	late := sendUntil(l, acquireOp("late", "x"), deadline)
	time.Sleep(time.Until(deadline))
	relay.Pass()
	wantUnsent(t, answer(t, late), errLate)
	wantVote(t, answer(t, first), quorum.Granted)
	wantVote(t, ask(t, l, quorum.Read{Keys: []quorum.Key{"late"}}), quorum.Granted)
	if got := server.Get("late"); got != "" {
		t.Errorf("the late request was carried out: %q", got)
	}
}

func TestRequestsArriveInTheOrderOfTheQueue(t *testing.T) {
	server := redistest.Start(t)
	cfg := tcp(server.Addr())
	cfg.BatchRequests = 7 // several batches
	l := open(t, cfg)
	var all []votes
	for i := range 100 {
		all = append(all, send(l, quorum.Increment{Key: "n", By: 1}))
		if i%10 == 5 {
			l.Owe(debt("other", "x"))
		}
	}
	for i, v := range all {
		if a := answer(t, v); a.Number != int64(i+1) {
			t.Fatalf("request %d got number %d (%v)", i, a.Number, a.Err)
		}
	}
}
