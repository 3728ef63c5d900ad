package clients

import (
	"context"
	"crypto/rand"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// Scripts as programs write them themselves that lock with a plain client.
const (
	releaseText = `if redis.call("get", KEYS[1]) == ARGV[1] then
	return redis.call("del", KEYS[1])
else
	return 0
end`
	extendText = `if redis.call("get", KEYS[1]) == ARGV[1] then
	return redis.call("pexpire", KEYS[1], ARGV[2])
else
	return 0
end`
)

// TestGoClients proves clients that send commands, and lock libraries on them.
func TestGoClients(t *testing.T) {
	prove(t, []subject{
		{name: "go-redis", open: openGoRedis},
		{name: "rueidis", open: openRueidis},
		{name: "redigo", open: openRedigo},
		{name: "radix", open: openRadix},
		{name: "redsync on go-redis", open: openRedsyncGoRedis},
		{name: "redsync on redigo", open: openRedsyncRedigo},
		{name: "redislock", open: openRedislock},
		{name: "redislock 0.9", open: openRedislock09},
		{
			name: "rueidislock", open: openRueidislock, keys: rueidislockKeys,
			// It extends each lock in the background and tells of a lost one by the
			// context that it gave; releasing is a function without a result.
			keepsLock: true, noExtend: true, untold: true, swallows: []string{"release"},
		},
	})
}

// tokens are the values under which a plain client last tried to take each lock.
type tokens map[string]string

// fresh makes a new value for a lock.
func (k tokens) fresh(lock string) string {
	k[lock] = rand.Text()
	return k[lock]
}

// verdictOf is what a script's count of released locks says.
func verdictOf(ok bool, err error) (verdict, error) {
	switch {
	case err != nil:
		return untold, err
	case ok:
		return released, nil
	}
	return notHeld, nil
}

type goRedisClient struct {
	tokens
	*redis.Client
}

func openGoRedis(_ testing.TB, addr string) (client, error) {
	return &goRedisClient{tokens: tokens{}, Client: redis.NewClient(&redis.Options{Addr: addr})}, nil
}

func (c *goRedisClient) ping() error { return c.Ping(context.Background()).Err() }

func (c *goRedisClient) acquire(key string, ttl time.Duration) (bool, error) {
	return c.SetNX(context.Background(), key, c.fresh(key), ttl).Result()
}

func (c *goRedisClient) extend(key string, ttl time.Duration) (bool, error) {
	return redis.NewScript(extendText).Run(context.Background(), c, []string{key}, c.tokens[key], ttl.Milliseconds()).Bool()
}

func (c *goRedisClient) release(key string) (verdict, error) {
	return verdictOf(redis.NewScript(releaseText).Run(context.Background(), c, []string{key}, c.tokens[key]).Bool())
}

func (c *goRedisClient) close() { _ = c.Close() }
