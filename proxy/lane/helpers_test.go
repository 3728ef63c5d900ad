package lane

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rs/zerolog"

	"redlockproxy/proxy/redistest"
	"redlockproxy/quorum"
)

// votes receives the answers to one test's calls.
type votes chan quorum.Answer

func (v votes) Vote(_ int, a quorum.Answer) { v <- a }

// send hands the lane an operation that may wait for up to a minute.
func send(l *Lane, op quorum.Op) votes { return sendUntil(l, op, time.Now().Add(time.Minute)) }

func sendUntil(l *Lane, op quorum.Op, deadline time.Time) votes {
	v := make(votes, 1)
	l.Send(&quorum.Call{Op: op, Deadline: deadline, Round: v})
	return v
}

// answer waits for the answer to a call.
func answer(t *testing.T, v votes) quorum.Answer {
	t.Helper()
	select {
	case a := <-v:
		return a
	case <-time.After(10 * time.Second):
		t.Fatal("no answer")
		return quorum.Answer{}
	}
}

// ask sends an operation and waits for its answer.
func ask(t *testing.T, l *Lane, op quorum.Op) quorum.Answer {
	t.Helper()
	return answer(t, send(l, op))
}

func wantVote(t *testing.T, a quorum.Answer, vote quorum.Vote) {
	t.Helper()
	if a.Vote != vote {
		t.Errorf("vote %d (%v), wanted %d", a.Vote, a.Err, vote)
	}
}

func acquireOp(key, stored string) quorum.Acquire {
	return quorum.Acquire{Key: quorum.Key(key), Stored: quorum.Stored(stored), TTL: time.Minute}
}

// refusal is an answer that was given without asking the backend.
func wantUnsent(t *testing.T, a quorum.Answer, because error) {
	t.Helper()
	if a.Vote != quorum.Failed || !a.Unsent || a.Err != because {
		t.Errorf("vote %d, unsent %t, %v; wanted %v", a.Vote, a.Unsent, a.Err, because)
	}
}

// tcp is a lane's configuration for a backend at host:port.
func tcp(addr string) Config { return testConfig(redis.Options{Addr: addr}) }

func eventually(t *testing.T, what string, cond func() bool) {
	t.Helper()
	redistest.Eventually(t, 10*time.Second, what, cond)
}

// text collects a log.
type text struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (x *text) Write(p []byte) (int, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.b.Write(p)
}

func (x *text) String() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.b.String()
}

func (x *text) lines(with string) int {
	n := 0
	for l := range strings.Lines(x.String()) {
		if strings.Contains(l, with) {
			n++
		}
	}
	return n
}

// logged is a configuration whose log can be looked at.
func logged(cfg Config) (Config, *text) {
	x := &text{}
	cfg.Log = zerolog.New(x)
	return cfg, x
}
