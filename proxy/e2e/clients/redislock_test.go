package clients

import (
	"errors"
	"testing"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"

	"redlockproxy/proxy/redistest"
)

func TestRedislockLocks(t *testing.T) {
	drive(t, library{works: redislockWorks, fails: redislockFails})
}

func redislockWorks(t *testing.T, addr string) {
	one, two := redislock.New(connect(t, addr)), redislock.New(connect(t, addr))
	ctx := t.Context()
	const key = "lock:redislock"

	first, err := one.Obtain(ctx, key, 5*time.Second, &redislock.Options{Metadata: "who I am"})
	if err != nil {
		t.Fatalf("a free lock: %v", err)
	}
	if _, err := two.Obtain(ctx, key, 5*time.Second, nil); !errors.Is(err, redislock.ErrNotObtained) {
		t.Errorf("a taken lock: %v", err)
	}
	if err := first.Refresh(ctx, 20*time.Second, nil); err != nil {
		t.Errorf("Refresh of a held lock: %v", err)
	}
	if ttl, err := first.TTL(ctx); err != nil || ttl < 15*time.Second || ttl > 20*time.Second {
		t.Errorf("TTL after Refresh: %s, %v", ttl, err)
	}
	// Its own token again is a success that sets the time anew.
	same := &redislock.Options{Token: first.Token(), Metadata: first.Metadata()}
	again, err := two.Obtain(ctx, key, 5*time.Second, same)
	if err != nil {
		t.Errorf("the same token again: %v", err)
	} else if ttl, err := again.TTL(ctx); err != nil || ttl > 5*time.Second || ttl <= 0 {
		t.Errorf("TTL after the same token again: %s, %v", ttl, err)
	}
	if err := first.Release(ctx); err != nil {
		t.Errorf("Release of a held lock: %v", err)
	}
	if err := first.Release(ctx); !errors.Is(err, redislock.ErrLockNotHeld) {
		t.Errorf("a second Release: %v", err)
	}

	redislockLoses(t, one, two)
}

// redislockLoses lets one's lock expire and two take over.
func redislockLoses(t *testing.T, one, two *redislock.Client) {
	t.Helper()
	ctx := t.Context()
	const key = "lock:redislock"
	lost, err := one.Obtain(ctx, key, 200*time.Millisecond, nil)
	if err != nil {
		t.Fatalf("a short lock: %v", err)
	}
	retry := redislock.LimitRetry(redislock.LinearBackoff(20*time.Millisecond), 200)
	second, err := two.Obtain(ctx, key, 5*time.Second, &redislock.Options{RetryStrategy: retry})
	if err != nil {
		t.Fatalf("waiting for a lock that expires: %v", err)
	}
	if err := lost.Refresh(ctx, time.Second, nil); !errors.Is(err, redislock.ErrNotObtained) {
		t.Errorf("Refresh of a lost lock: %v", err)
	}
	if err := lost.Release(ctx); !errors.Is(err, redislock.ErrLockNotHeld) {
		t.Errorf("Release of a lost lock: %v", err)
	}
	if ttl, err := lost.TTL(ctx); ttl != 0 || err != nil {
		t.Errorf("TTL of a lost lock: %s, %v", ttl, err)
	}
	if ttl, err := second.TTL(ctx); err != nil || ttl <= 0 {
		t.Errorf("TTL of who took over: %s, %v", ttl, err)
	}
	if err := second.Release(ctx); err != nil {
		t.Errorf("Release: %v", err)
	}
}

// switchable lets a lock that was obtained from one server be used with another,
// since the library makes a lock only by obtaining it.
type switchable struct{ redis.Scripter }

func redislockFails(t *testing.T, addr string) {
	ctx := t.Context()
	server := &switchable{connect(t, redistest.Start(t).Addr())}
	client := redislock.New(server)
	lock, err := client.Obtain(ctx, "lock:redislock", time.Minute, nil)
	if err != nil {
		t.Fatal(err)
	}
	server.Scripter = connect(t, addr)
	for what, call := range map[string]func() error{
		"Obtain": func() error {
			_, err := client.Obtain(ctx, "lock:redislock", time.Minute, nil)
			return err
		},
		"Refresh": func() error { return lock.Refresh(ctx, time.Minute, nil) },
		"TTL":     func() error { _, err := lock.TTL(ctx); return err },
		"Release": func() error { return lock.Release(ctx) },
	} {
		start := time.Now()
		wantUnavailable(t, what, call())
		inTime(t, what, start)
	}
}
