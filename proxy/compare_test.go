package proxy_test

import (
	"crypto/sha1"
	"encoding/hex"
	"flag"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"redlockproxy/proxy/redistest"
)

var (
	compareSeed     = flag.Uint64("compare.seed", 0, "seed of the comparison with one Redis; 0 takes a new one")
	compareCommands = flag.Int("compare.commands", 5000, "how many commands the comparison with one Redis sends")
)

func digest(script string) string {
	sum := sha1.Sum([]byte(script))
	return hex.EncodeToString(sum[:])
}

// tolerance is by how much a time to live may differ, in milliseconds: the two
// servers are asked one after the other, and what the proxy answers gives away up to
// one per cent of the time that has passed.
const tolerance = 5000

// A comparison feeds one sequence of commands to the proxy and to one Redis.
type comparison struct {
	*pair
	others   [2]*client // another client of each
	failures int
	barriers int
	recent   []string // the last commands, for the report
}

// near tells whether two texts differ in nothing but numbers that are times to live.
func near(command, here, there string) bool {
	var scale float64
	switch name, _, _ := strings.Cut(strings.ToUpper(command), " "); name {
	case "PTTL", "PEXPIRETIME":
		scale = 1
	case "TTL", "EXPIRETIME":
		scale = 1000
	default:
		return false
	}
	x, err1 := strconv.ParseFloat(strings.TrimPrefix(here, ":"), 64)
	y, err2 := strconv.ParseFloat(strings.TrimPrefix(there, ":"), 64)
	return err1 == nil && err2 == nil && x >= 0 && y >= 0 && (x-y)*scale <= tolerance && (y-x)*scale <= tolerance
}

// both sends one command to both and compares the replies. queued are the commands
// of the transaction that it ends.
func (c *comparison) both(args []string, queued [][]string) {
	c.t.Helper()
	proxy, redis := c.proxy, c.redis
	if args[0] == otherClient {
		proxy, redis, args = c.others[0], c.others[1], args[1:]
	}
	c.recent = append(c.recent, spell(args))
	here, there := proxy.do(args...), redis.do(args...)
	c.check(args, here, there)
	listHere, ok1 := here.([]any)
	listThere, ok2 := there.([]any)
	if strings.EqualFold(args[0], "EXEC") && ok1 && ok2 && len(listHere) == len(listThere) && len(listHere) == len(queued) {
		for i := range queued {
			c.check(queued[i], listHere[i], listThere[i])
		}
	}
}

func (c *comparison) check(args []string, a, b any) {
	c.t.Helper()
	command, here, there := spell(args), render(a), render(b)
	if _, isList := a.([]any); isList && strings.EqualFold(args[0], "EXEC") {
		here, there = strconv.Itoa(len(a.([]any))), there[:0]
		if l, isList := b.([]any); isList {
			there = strconv.Itoa(len(l))
		}
	}
	if here == there || near(command, here, there) || documented(c.rows, command, there, here) {
		return
	}
	if c.failures++; c.failures > 5 {
		c.t.Fatal("more differences are not shown")
	}
	c.t.Errorf("%s\n\tRedis: %s\n\tproxy: %s\nafter\n\t%s", command, there, here, strings.Join(c.recent[max(0, len(c.recent)-12):], "\n\t"))
}

// state compares all that both hold, and gives the list back its place.
func (c *comparison) state() {
	c.t.Helper()
	for _, k := range genKeys {
		c.both([]string{"TYPE", k}, nil)
		c.both([]string{"PTTL", k}, nil)
		if k != "list" {
			c.both([]string{"GET", k}, nil)
		}
	}
	// Votes that nobody waited for must not come behind this: all requests enter a
	// backend in one order, so what is sent last arrives last.
	c.barriers++
	last := fmt.Sprint("barrier ", c.barriers)
	c.both([]string{"SET", last, "x"}, nil)
	redistest.Eventually(c.t, 10*time.Second, last, func() bool { return c.servers.Holding(last) == len(c.servers) })
	for _, s := range c.servers {
		s.MustDo("DEL", last, "list")
		s.MustDo("RPUSH", "list", "x")
	}
}

// passing lets keys expire on both.
func (c *comparison) passing() {
	for _, args := range [][]string{{"SET", "a", "x", "PX", "300"}, {"SET", "b", "x", "NX", "PX", "300"}, {"PEXPIRE", "n1", "300"}, {"SET", "n2", "1", "EX", "100"}, {"PEXPIRE", "n2", "300", "LT"}} {
		c.both(args, nil)
	}
	time.Sleep(320 * time.Millisecond) // by the clocks of real servers, which nobody else can move
	for _, k := range []string{"a", "b", "n1", "n2"} {
		c.both([]string{"GET", k}, nil)
		c.both([]string{"TTL", k}, nil)
	}
}

func TestRandomCommandsGetTheAnswersOfOneRedis(t *testing.T) {
	seed := *compareSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("to repeat: go test ./proxy -run %s -compare.seed=%d -compare.commands=%d", t.Name(), seed, *compareCommands)
	w, redis := newWorld(t, "LOG_LEVEL=info"), redistest.Start(t, redistest.Args("--databases", "1"))
	c := &comparison{pair: newPair(t, w, redis), others: [2]*client{w.client(), dial(t, redis.Addr())}}
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 0)), now: time.Now().UnixMilli()}
	c.state()
	for sent := 0; sent < *compareCommands; {
		if g.IntN(800) == 0 {
			c.passing()
		}
		if g.IntN(100) == 0 {
			c.switchProtocol(g)
		}
		if g.IntN(150) == 0 {
			c.state()
		}
		var queued [][]string
		for _, args := range g.next() {
			c.both(args, queued)
			if sent++; !strings.EqualFold(args[0], "MULTI") {
				queued = append(queued, args)
			} else {
				queued = nil
			}
		}
	}
	c.state()
}

// switchProtocol lets both speak the other protocol.
func (c *comparison) switchProtocol(g *generator) {
	proto := pick(g, 2, 3)
	for _, x := range []*client{c.proxy, c.redis} {
		x.Proto = proto
		x.do("HELLO", strconv.Itoa(proto))
	}
}
