package proxy_test

import (
	"crypto/sha1"
	"encoding/hex"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"redlockproxy/proxy/redistest"
)

var (
	compareSeed     = flag.Uint64("compare.seed", 0, "seed of the comparison with one Redis; 0 takes a new one")
	compareCommands = flag.Int("compare.commands", 100_000, "how many commands the comparison with one Redis sends")
)

func digest(script string) string {
	sum := sha1.Sum([]byte(script))
	return hex.EncodeToString(sum[:])
}

// tolerance is by how much a time to live may differ, in milliseconds: the two
// servers are asked one after the other, and what the proxy answers gives away up to
// one per cent of the time that has passed.
const tolerance = 5000

// near tells whether two replies differ in nothing but numbers that are times to live.
func near(name string, here, there any) bool {
	scale := int64(1)
	switch strings.ToUpper(name) {
	case "PTTL", "PEXPIRETIME":
	case "TTL", "EXPIRETIME":
		scale = 1000
	default:
		return false
	}
	x, ok1 := here.(int64)
	y, ok2 := there.(int64)
	return ok1 && ok2 && x >= 0 && y >= 0 && (x-y)*scale <= tolerance && (y-x)*scale <= tolerance
}

// equal compares replies, types included.
func equal(a, b any) bool {
	x, y, isList := elements(a, b)
	if !isList {
		return a == b
	}
	if len(x) != len(y) {
		return false
	}
	for i := range x {
		if !equal(x[i], y[i]) {
			return false
		}
	}
	return true
}

// elements are those of two lists of one type.
func elements(a, b any) (x, y []any, areLists bool) {
	switch a := a.(type) {
	case []any:
		y, areLists = b.([]any)
		return a, y, areLists
	case redistest.Map:
		m, isMap := b.(redistest.Map)
		return a, m, isMap
	case redistest.Set:
		m, isSet := b.(redistest.Set)
		return a, m, isSet
	case redistest.Push:
		m, isPush := b.(redistest.Push)
		return a, m, isPush
	}
	return nil, nil, false
}

// A comparison feeds the same commands to the proxy and to one Redis.
type comparison struct {
	proxyAddr, redisAddr string
	sockets              []string // of all servers, the one Redis included
}

// streams is how many sequences of commands run side by side, each with keys of its own.
const streams = 8

// TestRandomCommandsGetTheAnswersOfOneRedis is the proof that a client can't tell. It
// runs as many commands as one flag says, from the seed that another one gives.
func TestRandomCommandsGetTheAnswersOfOneRedis(t *testing.T) {
	seed := *compareSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("to repeat: go test ./proxy -run %s -compare.seed=%d -compare.commands=%d", t.Name(), seed, *compareCommands)
	w, redis := newWorld(t, "LOG_LEVEL=info"), redistest.Start(t, redistest.Args("--databases", "1"))
	c := &comparison{proxyAddr: w.addr, redisAddr: redis.Addr()}
	for _, s := range append(redistest.Group{redis}, w.backends...) {
		c.sockets = append(c.sockets, s.Socket())
	}
	var all sync.WaitGroup
	for i := range streams {
		all.Go(func() {
			s, err := c.open(seed, i)
			if err == nil {
				err = s.run(*compareCommands / streams)
			}
			s.close()
			if err != nil {
				t.Errorf("stream %d: %v", i, err)
			}
			for _, f := range s.failures {
				t.Errorf("stream %d: %s", i, f)
			}
		})
	}
	all.Wait()
}

// spelled is a command and its replies, for people.
func spelled(args []string, here, there any) string {
	return fmt.Sprintf("%s\n\tRedis: %s\n\tproxy: %s", spell(args), render(there), render(here))
}

// idle is a stream's wait for keys to expire, by the clocks of real servers, which
// nobody else can move.
func idle(d time.Duration) { time.Sleep(d) }
