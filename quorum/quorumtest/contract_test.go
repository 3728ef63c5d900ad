package quorumtest

import (
	"testing"
	"testing/synctest"
	"time"

	"redlockproxy/quorum"
)

// overFake is a fake as a subject of the contract.
func overFake(t *testing.T, opts Options) Subject {
	f := New(0, opts)
	t.Cleanup(f.Close)
	return Subject{
		Backend: f,
		Plant: func(key, value string, ttl time.Duration) {
			f.Plant(quorum.Key(key), quorum.Stored(value), ttl)
		},
		PlantList: func(key string) { f.PlantOther(quorum.Key(key), "list") },
		Get: func(key string) (string, bool) {
			h, _ := f.Peek(quorum.Key(key))
			return string(h.Stored), h.Kind == quorum.String
		},
		PTTL: func(key string) time.Duration {
			if h, ok := f.Peek(quorum.Key(key)); ok {
				return h.TTL
			}
			return Gone
		},
		Sleep: time.Sleep,
	}
}

func TestFakeKeepsTheContract(t *testing.T) {
	Contract(t, func(t *testing.T) Subject { return overFake(t, Options{}) })
}

func TestSlowFakeKeepsTheContract(t *testing.T) {
	opts := Options{RequestDelay: time.Millisecond, ReplyDelay: 2 * time.Millisecond, Jitter: 3 * time.Millisecond}
	for _, c := range Cases() {
		t.Run(c.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { c.Test(t, overFake(t, opts)) })
		})
	}
}
