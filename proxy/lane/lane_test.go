package lane

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"redlockproxy/proxy/embedded"
	"redlockproxy/proxy/redistest"
	"redlockproxy/quorum"
	"redlockproxy/quorum/quorumtest"
)

func TestMain(m *testing.M) {
	redis.SetLogger(silence{})
	goleak.VerifyTestMain(m)
}

// silence keeps the library's words about lost connections out of the output.
type silence struct{}

func (silence) Printf(context.Context, string, ...any) {}

// testConfig is a lane to the server behind options, with the defaults of the
// program and limits that a slow machine keeps.
func testConfig(options redis.Options) Config {
	return Config{
		Name: options.Addr, Options: options,
		Connect: time.Second, Vote: time.Second, Stall: 3 * time.Second,
		BackoffMin: time.Millisecond, BackoffMax: 100 * time.Millisecond,
		BatchRequests: 256, BatchBytes: 1 << 16, Queue: 4096, Debts: 10000,
		Log: zerolog.Nop(),
	}
}

func open(t *testing.T, cfg Config) *Lane {
	t.Helper()
	l := Open(cfg)
	t.Cleanup(l.Close)
	redistest.Eventually(t, 5*time.Second, "the lane is up", func() bool { return l.State() >= Learner })
	return l
}

// subject is a lane to a server, and a second client for looking at it.
func subject(t *testing.T, l *Lane, options redis.Options) quorumtest.Subject {
	raw := redis.NewClient(&options)
	t.Cleanup(func() { _ = raw.Close() })
	do := func(args ...any) any {
		v, err := raw.Do(t.Context(), args...).Result()
		if err != nil && err != redis.Nil {
			t.Fatalf("%v: %v", args, err)
		}
		return v
	}
	return quorumtest.Subject{
		Backend: l,
		Raw: func(args ...string) any {
			list := make([]any, len(args))
			for i, a := range args {
				list[i] = a
			}
			return do(list...)
		},
		Plant: func(key, value string, ttl time.Duration) {
			do("SET", key, value)
			if ttl > 0 {
				do("PEXPIRE", key, ttl.Milliseconds())
			}
		},
		PlantList: func(key string) { do("RPUSH", key, "x") },
		Get: func(key string) (string, bool) {
			s, err := raw.Get(t.Context(), key).Result()
			return s, err == nil
		},
		PTTL: func(key string) time.Duration {
			switch ms := do("PTTL", key).(int64); ms {
			case -1:
				return quorum.NoTTL
			case -2:
				return quorumtest.Gone
			default:
				return time.Duration(ms) * time.Millisecond
			}
		},
		Sleep: time.Sleep,
	}
}

func TestLaneToRedisKeepsTheContract(t *testing.T) {
	server := redistest.Start(t)
	options := redis.Options{Network: "unix", Addr: server.Socket()}
	quorumtest.Contract(t, func(t *testing.T) quorumtest.Subject {
		server.MustDo("FLUSHALL")
		return subject(t, open(t, testConfig(options)), options)
	})
}

func TestLaneToMiniredisKeepsTheContract(t *testing.T) {
	quorumtest.Contract(t, func(t *testing.T) quorumtest.Subject {
		m := embedded.Start(1)[0]
		t.Cleanup(m.Close)
		options := redis.Options{Addr: "embedded", Dialer: m.Dial}
		s := subject(t, open(t, testConfig(options)), options)
		s.LooseNumbers = true
		return s
	})
}

func TestBackendThatBecomesAReplicaHasNoVote(t *testing.T) {
	primary, server := redistest.Start(t), redistest.Start(t)
	options := redis.Options{Network: "unix", Addr: server.Socket()}
	l := open(t, testConfig(options))
	host, port, err := net.SplitHostPort(primary.Addr())
	if err != nil {
		t.Fatal(err)
	}
	server.MustDo("REPLICAOF", host, port)
	answer := quorumtest.Do(t, l, quorum.Acquire{Key: "k", Stored: "v", TTL: time.Minute})
	if answer.Vote != quorum.Failed {
		t.Errorf("a replica's vote is %v", answer.Vote)
	}
	redistest.Eventually(t, 5*time.Second, "the lane finds it unfit", func() bool { return l.State() == Unfit })
	if answer := quorumtest.Do(t, l, quorum.Read{Keys: []quorum.Key{"k"}}); answer.Vote != quorum.Failed {
		t.Errorf("a replica's word for what it holds is %v", answer.Vote)
	}
	server.MustDo("REPLICAOF", "NO", "ONE")
	redistest.Eventually(t, 5*time.Second, "it votes again as a primary", func() bool { return l.State() == Voter })
}
