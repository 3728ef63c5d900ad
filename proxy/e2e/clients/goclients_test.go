package clients

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/mediocregopher/radix/v4"
	"github.com/redis/rueidis"
)

// rueidisOption is rueidis as it has to be used here: its client-side cache lives on
// messages about changed keys, which no majority can promise.
func rueidisOption(addr string) rueidis.ClientOption {
	return rueidis.ClientOption{InitAddress: []string{addr}, DisableCache: true}
}

type rueidisClient struct {
	tokens
	rueidis.Client
}

func openRueidis(_ testing.TB, addr string) (client, error) {
	c, err := rueidis.NewClient(rueidisOption(addr))
	return &rueidisClient{tokens{}, c}, err
}

func (c *rueidisClient) ping() error {
	return c.Do(context.Background(), c.B().Ping().Build()).Error()
}

func (c *rueidisClient) acquire(key string, ttl time.Duration) (bool, error) {
	set := c.B().Set().Key(key).Value(c.fresh(key)).Nx().PxMilliseconds(ttl.Milliseconds()).Build()
	err := c.Do(context.Background(), set).Error()
	if rueidis.IsRedisNil(err) {
		return false, nil
	}
	return err == nil, err
}

// script runs a script that tells how many locks it changed.
func (c *rueidisClient) script(text, key string, args ...string) (bool, error) {
	args = append([]string{c.tokens[key]}, args...)
	n, err := rueidis.NewLuaScript(text).Exec(context.Background(), c.Client, []string{key}, args).AsInt64()
	return n == 1, err
}

func (c *rueidisClient) extend(key string, ttl time.Duration) (bool, error) {
	return c.script(extendText, key, millis(ttl))
}

func (c *rueidisClient) release(key string) (verdict, error) {
	return verdictOf(c.script(releaseText, key))
}

func (c *rueidisClient) close() { c.Close() }

// TestRueidisIsToldToDoWithoutItsCache uses rueidis's defaults: a cache that nobody
// keeps up to date must be refused, in a way that shows what to do about it.
func TestRueidisIsToldToDoWithoutItsCache(t *testing.T) {
	addr := startFive(t).Addr()
	c, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}})
	if err == nil {
		c.Close()
	}
	if !errors.Is(err, rueidis.ErrNoCache) {
		t.Errorf("a client with a cache: %v; wanted %v", err, rueidis.ErrNoCache)
	}
}

type redigoClient struct {
	tokens
	*redis.Pool
}

func redigoPool(addr string) *redis.Pool {
	return &redis.Pool{DialContext: func(ctx context.Context) (redis.Conn, error) {
		return redis.DialContext(ctx, "tcp", addr)
	}}
}

func openRedigo(_ testing.TB, addr string) (client, error) {
	return &redigoClient{tokens{}, redigoPool(addr)}, nil
}

// with runs f on a connection of the pool.
func (c *redigoClient) with(f func(redis.Conn) (any, error)) (any, error) {
	conn := c.Get()
	defer conn.Close()
	return f(conn)
}

func (c *redigoClient) ping() error {
	_, err := c.with(func(conn redis.Conn) (any, error) { return conn.Do("PING") })
	return err
}

func (c *redigoClient) acquire(key string, ttl time.Duration) (bool, error) {
	reply, err := c.with(func(conn redis.Conn) (any, error) {
		return conn.Do("SET", key, c.fresh(key), "NX", "PX", ttl.Milliseconds())
	})
	return reply == "OK", err
}

func (c *redigoClient) extend(key string, ttl time.Duration) (bool, error) {
	return redis.Bool(c.with(func(conn redis.Conn) (any, error) {
		return redis.NewScript(1, extendText).Do(conn, key, c.tokens[key], ttl.Milliseconds())
	}))
}

func (c *redigoClient) release(key string) (verdict, error) {
	ok, err := redis.Bool(c.with(func(conn redis.Conn) (any, error) {
		return redis.NewScript(1, releaseText).Do(conn, key, c.tokens[key])
	}))
	return verdictOf(ok, err)
}

func (c *redigoClient) close() { _ = c.Close() }

type radixClient struct {
	tokens
	radix.Client
}

func openRadix(_ testing.TB, addr string) (client, error) {
	c, err := radix.PoolConfig{}.New(context.Background(), "tcp", addr)
	return &radixClient{tokens{}, c}, err
}

func (c *radixClient) ping() error {
	return c.Do(context.Background(), radix.Cmd(nil, "PING"))
}

func (c *radixClient) acquire(key string, ttl time.Duration) (bool, error) {
	var reply string
	got := radix.Maybe{Rcv: &reply}
	err := c.Do(context.Background(), radix.Cmd(&got, "SET", key, c.fresh(key), "PX", millis(ttl), "NX"))
	return !got.Null && reply == "OK", err
}

func (c *radixClient) script(text, key string, args ...string) (bool, error) {
	var n int
	args = append([]string{c.tokens[key]}, args...)
	err := c.Do(context.Background(), radix.NewEvalScript(text).Cmd(&n, []string{key}, args...))
	return n == 1, err
}

func (c *radixClient) extend(key string, ttl time.Duration) (bool, error) {
	return c.script(extendText, key, strconv.FormatInt(ttl.Milliseconds(), 10))
}

func (c *radixClient) release(key string) (verdict, error) {
	return verdictOf(c.script(releaseText, key))
}

func (c *radixClient) close() { _ = c.Close() }
