package proxy

import (
	"crypto/rand"
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	"redlockproxy/proxy/guard"
	"redlockproxy/proxy/metrics"
	"redlockproxy/quorum"
	"redlockproxy/resp"
)

// A short connection takes only some of the bytes that are written to it.
type short struct {
	net.Conn // a pipe, for all else
	takes    int
}

func (s *short) Write(p []byte) (int, error) {
	if len(p) <= s.takes {
		s.takes -= len(p)
		return len(p), nil
	}
	return s.takes, errors.New("the client is gone")
}

// Accept, Close and Addr make it a listener for one client.
func (s *short) Accept() (net.Conn, error) { return s, nil }
func (s *short) Addr() net.Addr            { return s.LocalAddr() }

// A debtor is a backend that only notes what is owed to it.
type debtor struct {
	mu   sync.Mutex
	owed []quorum.Key
}

func (d *debtor) Send(*quorum.Call) {}

func (d *debtor) Owe(debt quorum.Debt) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.owed = append(d.owed, debt.Key)
}

// hasty is the pipeline of a client whose connection takes so many bytes and no more, and
// the backend that is owed what is undone.
func hasty(t *testing.T, takes int) (*pipeline, *debtor) {
	t.Helper()
	d := &debtor{}
	group, err := quorum.NewGroup([]quorum.Backend{d}, quorum.Config{
		VoteLimit: time.Second, AnswerWithin: time.Second, Attempts: 1, MaxTTL: time.Minute, Random: rand.Reader,
	})
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := net.Pipe()
	conn, err := guard.Listen(&short{ours, takes}, guard.Limits{}, guard.Hooks{}).Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = conn.Close(), theirs.Close() })
	server := &Server{group: group, metrics: metrics.New(metrics.Options{})}
	return &pipeline{c: &session{s: server, conn: conn.(*guard.Conn)}}, d
}

func TestWriteThatFailedUndoesTheLocksItDidNotTell(t *testing.T) {
	locks := []promise{
		{&grant{locks: []quorum.Lock{{Key: "first"}}}, 5},
		{&grant{locks: []quorum.Lock{{Key: "second"}, {Key: "second too"}}}, 10},
		{&grant{locks: []quorum.Lock{{Key: "third"}}}, 15},
	}
	for takes, undone := range map[int]int{0: 4, 4: 4, 5: 3, 9: 3, 10: 1, 14: 1, 15: 0} {
		p, d := hasty(t, takes)
		p.out, p.grants = []byte("+OK\r\n+OK\r\n+OK\r\n"), locks
		if whole := p.flush(); whole != (undone == 0) || p.broken == whole {
			t.Errorf("%d bytes taken: flush says %t, broken %t", takes, whole, p.broken)
		}
		if len(d.owed) != undone {
			t.Errorf("%d bytes taken: undone are %q", takes, d.owed)
		}
	}
}

func TestLockThatWasOverIsUndoneOnce(t *testing.T) {
	p, d := hasty(t, 0)
	p.write(answer{grant: &grant{locks: []quorum.Lock{{Key: "over", TTL: time.Second}}, instead: resp.Null{}}}, resp.RESP2)
	if p.flush(); !p.broken || len(d.owed) != 1 {
		t.Errorf("undone are %q", d.owed)
	}
}
