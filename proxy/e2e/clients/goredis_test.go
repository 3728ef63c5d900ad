package clients

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"redlockproxy/proxy/redistest"
)

func TestGoRedisLocks(t *testing.T) {
	drive(t, library{works: goRedisWorks, fails: goRedisFails})
}

var releaseScript = redis.NewScript(`if redis.call("get", KEYS[1]) == ARGV[1] then
	return redis.call("del", KEYS[1])
else
	return 0
end`)

var extendScript = redis.NewScript(`if redis.call("get", KEYS[1]) == ARGV[1] then
	return redis.call("pexpire", KEYS[1], ARGV[2])
else
	return 0
end`)

func goRedisWorks(t *testing.T, addr string) {
	one, two := connect(t, addr), connect(t, addr)
	ctx := t.Context()
	const key = "lock:goredis"
	want := func(what string, got any, err error, wanted any) {
		t.Helper()
		if err != nil || got != wanted {
			t.Errorf("%s: %v, %v; wanted %v", what, got, err, wanted)
		}
	}

	ok, err := one.SetNX(ctx, key, "a", 5*time.Second).Result()
	want("SetNX of a free lock", ok, err, true)
	ok, err = two.SetNX(ctx, key, "b", 5*time.Second).Result()
	want("SetNX of a taken lock", ok, err, false)
	holder, err := two.Get(ctx, key).Result()
	want("Get", holder, err, "a")
	n, err := extendScript.Run(ctx, one, []string{key}, "a", 30000).Int()
	want("extension by the holder", n, err, 1)
	if ttl, err := two.PTTL(ctx, key).Result(); err != nil || ttl <= 20*time.Second || ttl > 30*time.Second {
		t.Errorf("PTTL after the extension: %s, %v", ttl, err)
	}
	n, err = extendScript.Run(ctx, two, []string{key}, "b", 30000).Int()
	want("extension by another", n, err, 0)
	n, err = releaseScript.Run(ctx, two, []string{key}, "b").Int()
	want("release by another", n, err, 0)
	n, err = releaseScript.Run(ctx, one, []string{key}, "a").Int()
	want("release by the holder", n, err, 1)

	ok, err = one.SetNX(ctx, key, "a", 150*time.Millisecond).Result()
	want("a short lock", ok, err, true)
	redistest.Eventually(t, 5*time.Second, "an expired lock is taken", func() bool {
		ok, err := two.SetNX(ctx, key, "b", 5*time.Second).Result()
		return ok && err == nil
	})
	n, err = releaseScript.Run(ctx, one, []string{key}, "a").Int()
	want("release of a lost lock", n, err, 0)
	deleted, err := two.Del(ctx, key).Result()
	want("Del", deleted, err, int64(1))
	if _, err := one.Get(ctx, key).Result(); !errors.Is(err, redis.Nil) {
		t.Errorf("Get of a free lock: %v", err)
	}
	goRedisBatches(t, one, two)
}

// goRedisBatches sends several commands at once: as a pipeline, as a MULTI, and
// under a WATCH.
func goRedisBatches(t *testing.T, one, two *redis.Client) {
	t.Helper()
	ctx := t.Context()
	const key, fence = "lock:goredis", "fence:goredis"
	before, err := one.Get(ctx, fence).Int64()
	if err != nil && !errors.Is(err, redis.Nil) {
		t.Fatal(err)
	}
	var number *redis.IntCmd
	lockAndNumber := func(p redis.Pipeliner) error {
		p.SetNX(ctx, key, "a", 5*time.Second)
		number = p.Incr(ctx, fence)
		return nil
	}
	for i, batch := range []func(context.Context, func(redis.Pipeliner) error) ([]redis.Cmder, error){one.Pipelined, one.TxPipelined} {
		if _, err := batch(ctx, lockAndNumber); err != nil || number.Val() != before+1+int64(i) {
			t.Errorf("batch %d: %d, %v", i, number.Val(), err)
		}
	}
	release := func(tx *redis.Tx) error {
		if holder, err := tx.Get(ctx, key).Result(); err != nil || holder != "a" {
			t.Errorf("Get under WATCH: %q, %v", holder, err)
		}
		_, err := tx.TxPipelined(ctx, func(p redis.Pipeliner) error { return p.Del(ctx, key).Err() })
		return err
	}
	disturbed := func(tx *redis.Tx) error {
		// The same value again: it is another lock all the same.
		if err := two.SetXX(ctx, key, "a", time.Minute).Err(); err != nil {
			t.Error(err)
		}
		return release(tx)
	}
	if err := one.Watch(ctx, disturbed, key); !errors.Is(err, redis.TxFailedErr) {
		t.Errorf("a watched key that changed: %v", err)
	}
	if err := one.Watch(ctx, release, key); err != nil {
		t.Errorf("release under WATCH: %v", err)
	}
}

func goRedisFails(t *testing.T, addr string) {
	c := connect(t, addr)
	ctx := t.Context()
	const key = "lock:goredis"
	if err := c.Ping(ctx).Err(); err != nil {
		t.Errorf("Ping: %v", err)
	}
	for what, call := range map[string]func() error{
		"SetNX":   func() error { return c.SetNX(ctx, key, "a", time.Minute).Err() },
		"Get":     func() error { return c.Get(ctx, key).Err() },
		"Incr":    func() error { return c.Incr(ctx, "fence:goredis").Err() },
		"Del":     func() error { return c.Del(ctx, key).Err() },
		"release": func() error { return releaseScript.Run(ctx, c, []string{key}, "a").Err() },
		"extend":  func() error { return extendScript.Run(ctx, c, []string{key}, "a", 30000).Err() },
		"MULTI": func() error {
			_, err := c.TxPipelined(ctx, func(p redis.Pipeliner) error { return p.SetNX(ctx, key, "a", time.Minute).Err() })
			return err
		},
	} {
		start := time.Now()
		wantUnavailable(t, what, call())
		inTime(t, what, start)
	}
}
