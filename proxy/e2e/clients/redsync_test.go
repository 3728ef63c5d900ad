package clients

import (
	"errors"
	"testing"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"

	"redlockproxy/proxy/redistest"
)

//lint:file-ignore SA1019 Valid is deprecated, and programs call it all the same

func TestRedsyncLocks(t *testing.T) {
	drive(t, library{works: redsyncWorks, fails: redsyncFails})
}

func connect(t *testing.T, addr string) *redis.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: addr})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func redsyncOf(t *testing.T, addr string) *redsync.Redsync {
	return redsync.New(goredis.NewPool(connect(t, addr)))
}

func redsyncWorks(t *testing.T, addr string) {
	one, two := redsyncOf(t, addr), redsyncOf(t, addr)
	const key = "lock:redsync"
	// 8.5 seconds are sent as PX, whole seconds as EX.
	first := one.NewMutex(key, redsync.WithExpiry(8500*time.Millisecond))
	second := two.NewMutex(key, redsync.WithExpiry(8*time.Second))

	if err := first.Lock(); err != nil {
		t.Fatalf("a free lock: %v", err)
	}
	var taken *redsync.ErrTaken
	if err := second.TryLock(); !errors.As(err, &taken) {
		t.Errorf("a taken lock: %v", err)
	}
	if ok, err := first.Valid(); !ok || err != nil {
		t.Errorf("Valid of a held lock: %v, %v", ok, err)
	}
	if ok, err := first.Extend(); !ok || err != nil {
		t.Errorf("Extend of a held lock: %v, %v", ok, err)
	}
	if ok, err := first.Unlock(); !ok || err != nil {
		t.Errorf("Unlock of a held lock: %v, %v", ok, err)
	}
	if err := second.TryLock(); err != nil {
		t.Errorf("a released lock: %v", err)
	}
	redsyncLoses(t, one.NewMutex("lock:redsync:short", redsync.WithExpiry(200*time.Millisecond)),
		two.NewMutex("lock:redsync:short"))
	if ok, err := second.Unlock(); !ok || err != nil {
		t.Errorf("Unlock: %v, %v", ok, err)
	}
}

// redsyncLoses lets first expire and second take over.
func redsyncLoses(t *testing.T, first, second *redsync.Mutex) {
	t.Helper()
	if err := first.Lock(); err != nil {
		t.Fatalf("a short lock: %v", err)
	}
	redistest.Eventually(t, 5*time.Second, "an expired lock is taken", func() bool { return second.TryLock() == nil })
	var taken *redsync.ErrTaken
	if ok, err := first.Extend(); ok || !errors.As(err, &taken) {
		t.Errorf("Extend of a lost lock: %v, %v", ok, err)
	}
	if ok, err := first.Unlock(); ok || !errors.As(err, &taken) {
		t.Errorf("Unlock of a lost lock: %v, %v", ok, err)
	}
	if ok, err := second.Valid(); !ok || err != nil {
		t.Errorf("the lock of who took over: %v, %v", ok, err)
	}
	if ok, err := second.Unlock(); !ok || err != nil {
		t.Errorf("Unlock: %v, %v", ok, err)
	}
	// The script that redsync releases with tells a lock that is gone from one
	// that somebody else has.
	if ok, err := second.Unlock(); ok || !errors.Is(err, redsync.ErrLockAlreadyExpired) {
		t.Errorf("Unlock of a lock that is gone: %v, %v", ok, err)
	}
}

func redsyncFails(t *testing.T, addr string) {
	m := redsyncOf(t, addr).NewMutex("lock:redsync", redsync.WithValue("x"))
	for what, call := range map[string]func() error{
		"TryLock": m.TryLock,
		"Extend":  func() error { _, err := m.Extend(); return err },
		"Unlock":  func() error { _, err := m.Unlock(); return err },
		"Valid":   func() error { _, err := m.Valid(); return err },
	} {
		start := time.Now()
		err := call()
		wantUnavailable(t, what, err)
		var taken *redsync.ErrTaken
		if errors.As(err, &taken) {
			t.Errorf("%s during an outage looks like a lock that is taken", what)
		}
		inTime(t, what, start)
	}
}
