package clients

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	redsyncgoredis "github.com/go-redsync/redsync/v4/redis/goredis/v9"
	redsyncredigo "github.com/go-redsync/redsync/v4/redis/redigo"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis/rueidislock"
	redislock09 "redislock09"

	"redlockproxy/proxy/redistest"
)

// lockClient is a lock library on a client that sends its commands.
type lockClient struct {
	locks  map[string]heldLock
	obtain func(key string, ttl time.Duration) (heldLock, error)
	// lost tells whether an error is the library's way to say that the lock is
	// somebody else's, or nobody's.
	lost func(error) bool
	conn interface {
		ping() error
		close()
	}
}

// heldLock is a lock as a library hands it out.
type heldLock struct {
	refresh func(ttl time.Duration) error
	release func() error
}

func (c *lockClient) ping() error { return c.conn.ping() }
func (c *lockClient) close()      { c.conn.close() }

// told splits what a library returned into its answer and its trouble.
func (c *lockClient) told(err error) (bool, error) {
	if err != nil && c.lost(err) {
		return false, nil
	}
	return err == nil, err
}

func (c *lockClient) acquire(key string, ttl time.Duration) (bool, error) {
	lock, err := c.obtain(key, ttl)
	if err == nil {
		c.locks[key] = lock
	}
	return c.told(err)
}

func (c *lockClient) extend(key string, ttl time.Duration) (bool, error) {
	return c.told(c.locks[key].refresh(ttl))
}

func (c *lockClient) release(key string) (verdict, error) {
	return verdictOf(c.told(c.locks[key].release()))
}

func openRedislock(_ testing.TB, addr string) (client, error) {
	conn := redis.NewClient(&redis.Options{Addr: addr})
	locks := redislock.New(conn)
	return &lockClient{
		locks: map[string]heldLock{},
		conn:  &goRedisClient{Client: conn},
		lost: func(err error) bool {
			return errors.Is(err, redislock.ErrNotObtained) || errors.Is(err, redislock.ErrLockNotHeld)
		},
		obtain: func(key string, ttl time.Duration) (heldLock, error) {
			lock, err := locks.Obtain(context.Background(), key, ttl, nil)
			return heldLock{
				refresh: func(ttl time.Duration) error { return lock.Refresh(context.Background(), ttl, nil) },
				release: func() error { return lock.Release(context.Background()) },
			}, err
		},
	}, nil
}

// openRedislock09 is the same for the release before, whose scripts are others.
func openRedislock09(_ testing.TB, addr string) (client, error) {
	conn := redis.NewClient(&redis.Options{Addr: addr})
	locks := redislock09.New(conn)
	return &lockClient{
		locks: map[string]heldLock{},
		conn:  &goRedisClient{Client: conn},
		lost: func(err error) bool {
			return errors.Is(err, redislock09.ErrNotObtained) || errors.Is(err, redislock09.ErrLockNotHeld)
		},
		obtain: func(key string, ttl time.Duration) (heldLock, error) {
			lock, err := locks.Obtain(context.Background(), key, ttl, nil)
			return heldLock{
				refresh: func(ttl time.Duration) error { return lock.Refresh(context.Background(), ttl, nil) },
				release: func() error { return lock.Release(context.Background()) },
			}, err
		},
	}, nil
}

func openRedsyncGoRedis(_ testing.TB, addr string) (client, error) {
	conn := redis.NewClient(&redis.Options{Addr: addr})
	return redsyncClient(redsyncgoredis.NewPool(conn), &goRedisClient{Client: conn}), nil
}

func openRedsyncRedigo(_ testing.TB, addr string) (client, error) {
	pool := redigoPool(addr)
	return redsyncClient(redsyncredigo.NewPool(pool), &redigoClient{Pool: pool}), nil
}

func redsyncClient(pool redsyncredis.Pool, conn client) client {
	sync := redsync.New(pool)
	return &lockClient{
		locks: map[string]heldLock{},
		conn:  conn,
		lost: func(err error) bool {
			var taken *redsync.ErrTaken
			return errors.As(err, &taken) || errors.Is(err, redsync.ErrLockAlreadyExpired)
		},
		obtain: func(key string, ttl time.Duration) (heldLock, error) {
			mutex := sync.NewMutex(key, redsync.WithExpiry(ttl))
			done := func(ok bool, err error) error {
				if err == nil && !ok {
					err = fmt.Errorf("redsync says neither yes nor why not")
				}
				return err
			}
			return heldLock{
				// A mutex has one expiry; another with its value is the same lock.
				refresh: func(ttl time.Duration) error {
					return done(sync.NewMutex(key, redsync.WithExpiry(ttl), redsync.WithValue(mutex.Value())).Extend())
				},
				release: func() error { return done(mutex.Unlock()) },
			}, mutex.TryLock()
		},
	}
}

// rueidislockClient has a Locker for each time to live, since a Locker has only one.
type rueidislockClient struct {
	addr    string
	lockers map[time.Duration]rueidislock.Locker
	held    map[string]context.CancelFunc
}

func openRueidislock(_ testing.TB, addr string) (client, error) {
	c := &rueidislockClient{addr, map[time.Duration]rueidislock.Locker{}, map[string]context.CancelFunc{}}
	_, err := c.locker(10 * time.Second)
	return c, err
}

func (c *rueidislockClient) locker(ttl time.Duration) (rueidislock.Locker, error) {
	if l := c.lockers[ttl]; l != nil {
		return l, nil
	}
	l, err := newRueidislock(c.addr, ttl)
	if err == nil {
		c.lockers[ttl] = l
	}
	return l, err
}

func newRueidislock(addr string, ttl time.Duration) (rueidislock.Locker, error) {
	return rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption: rueidisOption(addr),
		KeyValidity:  ttl,
		// Its default of 20 ms for each key is not for machines that do other things.
		TryNextAfter: 2 * time.Second,
	})
}

// rueidislockKeys are the keys of one lock, of which it needs two.
func rueidislockKeys(lock string) []string {
	return []string{"rueidislock:0:" + lock, "rueidislock:1:" + lock, "rueidislock:2:" + lock}
}

func (c *rueidislockClient) ping() error {
	for _, l := range c.lockers {
		if err := l.Client().Do(context.Background(), l.Client().B().Ping().Build()).Error(); err != nil {
			return err
		}
	}
	return nil
}

func (c *rueidislockClient) acquire(key string, ttl time.Duration) (bool, error) {
	l, err := c.locker(ttl)
	if err != nil {
		return false, err
	}
	_, cancel, err := l.TryWithContext(context.Background(), key)
	if errors.Is(err, rueidislock.ErrNotLocked) {
		return false, nil
	}
	if err == nil {
		c.held[key] = cancel
	}
	return err == nil, err
}

func (c *rueidislockClient) extend(string, time.Duration) (bool, error) {
	return false, errors.New("there is no such method")
}

// release waits until the library has deleted its keys.
func (c *rueidislockClient) release(key string) (verdict, error) {
	c.held[key]()
	return untold, nil
}

func (c *rueidislockClient) close() {
	for _, cancel := range c.held {
		cancel()
	}
	for _, l := range c.lockers {
		l.Close()
	}
}

// TestRueidislockKeepsItsLockAndNoticesItsLoss lets a lock live for longer than its
// validity, by the library's own extensions, and then takes it away.
func TestRueidislockKeepsItsLockAndNoticesItsLoss(t *testing.T) {
	proxy := startFive(t)
	locker, err := newRueidislock(proxy.Addr(), time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer locker.Close()
	held, cancel, err := locker.TryWithContext(t.Context(), "lock")
	if err != nil {
		t.Fatal(err)
	}
	defer cancel()
	taken := time.Now()
	redistest.Eventually(t, 10*time.Second, "twice the validity passes", func() bool {
		if err := held.Err(); err != nil {
			t.Fatalf("the lock was lost %s after it was taken: %v", time.Since(taken), err)
		}
		return time.Since(taken) > 2*time.Second
	})
	if n := proxy.MustDo(append([]string{"DEL"}, rueidislockKeys("lock")...)...); n != int64(3) {
		t.Errorf("keys of a lock that is held: %v; wanted 3", n)
	}
	select {
	case <-held.Done():
	case <-time.After(5 * time.Second):
		t.Error("the holder of a deleted lock hears nothing of it")
	}
}
