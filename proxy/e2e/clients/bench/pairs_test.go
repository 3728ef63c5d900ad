//go:build linux

package bench

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-redsync/redsync/v4"
	redsyncpool "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"

	"redlockproxy/proxy/redistest"
)

// A pair takes the n-th lock of one client and releases it.
type pair func(n int) error

// run lets every client take and release locks for a slice, each on keys of its own.
func run(b *testing.B, pairs []pair) figure {
	b.Helper()
	took := make([][]float64, len(pairs))
	errs := make([]error, len(pairs))
	start := time.Now()
	var wg sync.WaitGroup
	for i, do := range pairs {
		wg.Go(func() {
			for n := 0; time.Since(start) < slice; n++ {
				began := time.Now()
				if err := do(n); err != nil {
					errs[i] = err // its time does not count as a pair's
					continue
				}
				took[i] = append(took[i], float64(time.Since(began).Microseconds())/1000)
			}
		})
	}
	wg.Wait()
	elapsed := time.Since(start).Seconds()
	all := slices.Sorted(slices.Values(slices.Concat(took...)))
	if len(all) == 0 {
		b.Fatalf("no pair succeeded: %v", errs)
	}
	return figure{rate: float64(len(all)) / elapsed, p50: all[len(all)/2], p99: all[len(all)*99/100]}
}

const release = `if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) else return 0 end`

// throughProxy is a slice of pairs by clients that do nothing but write and read:
// SET NX PX, then the usual script by its digest.
func throughProxy(b *testing.B, addr string) func() figure {
	digest, err := do(addr, "SCRIPT", "LOAD", release)
	if err != nil {
		b.Fatal(err)
	}
	return func() figure {
		pairs := make([]pair, clients)
		for i := range pairs {
			conn, err := net.Dial("tcp", addr)
			if err != nil {
				b.Fatal(err)
			}
			defer conn.Close()
			pairs[i] = rawPair(conn, i, fmt.Sprint(digest))
		}
		return run(b, pairs)
	}
}

// throughMultiplexer is a slice of pairs by callers that share one client, which puts
// what they send at the same time into pipelines on few connections by itself.
func throughMultiplexer(b *testing.B, addr string) func() figure {
	// The client-side cache lives on invalidation messages, which the proxy does not send.
	c, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}, DisableCache: true, AlwaysPipelining: true})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(c.Close)
	script := rueidis.NewLuaScript(release)
	return func() figure {
		pairs := make([]pair, clients)
		for i := range pairs {
			token := fmt.Sprintf("token-of-caller-%04d", i)
			pairs[i] = func(n int) error {
				ctx := context.Background()
				key := fmt.Sprintf("shared:%04d:%012d", i, n)
				if err := c.Do(ctx, c.B().Set().Key(key).Value(token).Nx().PxMilliseconds(30000).Build()).Error(); err != nil {
					return err
				}
				removed, err := script.Exec(ctx, c, []string{key}, []string{token}).ToInt64()
				if err == nil && removed != 1 {
					err = fmt.Errorf("a lock that was held could not be released")
				}
				return err
			}
		}
		return run(b, pairs)
	}
}

// rawPair writes the same bytes again and again, with another number in the key.
func rawPair(conn net.Conn, client int, digest string) pair {
	const digits = 12
	key := func(n int) string { return fmt.Sprintf("pair:%04d:%0*d", client, digits, n) }
	token := fmt.Sprintf("token-of-client-%04d", client)
	set := redistest.Encode("SET", key(0), token, "NX", "PX", "30000")
	del := redistest.Encode("EVALSHA", digest, "1", key(0), token)
	in := bufio.NewReader(conn)
	step := func(command []byte, n int, want string) error {
		copy(command[slices.Index(command, ':')-len("pair"):], key(n))
		if _, err := conn.Write(command); err != nil {
			return err
		}
		line, err := in.ReadSlice('\n')
		if err == nil && string(line) != want {
			err = fmt.Errorf("the proxy replied %q", line)
		}
		return err
	}
	return func(n int) error {
		if err := step(set, n, "+OK\r\n"); err != nil {
			return err
		}
		return step(del, n, ":1\r\n")
	}
}

// throughRedsync is a slice of pairs by the library, with a connection to each
// backend for each of its clients.
func throughRedsync(b *testing.B, backends []string) func() figure {
	pools := make([]redsyncpool.Pool, len(backends))
	for i, addr := range backends {
		c := redis.NewClient(&redis.Options{Addr: addr, PoolSize: clients})
		b.Cleanup(func() { _ = c.Close() })
		pools[i] = goredis.NewPool(c)
	}
	rs := redsync.New(pools...)
	return func() figure {
		pairs := make([]pair, clients)
		for i := range pairs {
			pairs[i] = func(n int) error {
				m := rs.NewMutex(fmt.Sprintf("redsync:%04d:%012d", i, n), redsync.WithExpiry(30*time.Second))
				if err := m.LockContext(context.Background()); err != nil {
					return err
				}
				ok, err := m.UnlockContext(context.Background())
				if err == nil && !ok {
					err = fmt.Errorf("a lock that was held could not be released")
				}
				return err
			}
		}
		return run(b, pairs)
	}
}
