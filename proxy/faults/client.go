package faults

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"redlockproxy/proxy/faults/history"
	"redlockproxy/proxy/redistest"
)

// The keys of a history, and how a token ends, so that it can be told from what the
// proxy writes behind it.
const (
	lockPrefix = "lock:"
	locks      = 4
	counter    = "fence"
	tokenEnd   = ";"
)

// What applications lock with.
const (
	releaseScript = `if redis.call("get",KEYS[1]) == ARGV[1] then return redis.call("del",KEYS[1]) else return 0 end`
	extendScript  = `if redis.call("get",KEYS[1]) == ARGV[1] then return redis.call("pexpire",KEYS[1],ARGV[2]) else return 0 end`
	fencedScript  = `if redis.call("set",KEYS[1],ARGV[1],"NX","PX",ARGV[2]) then return redis.call("incr",KEYS[2]) else return 0 end`
)

// patience is a client's time limit for one command: long, beside the proxy's own
// limit, since a proxy may be frozen.
const patience = time.Second

// client is one user of locks and numbers, on a connection of its own.
type client struct {
	*story
	number int
	rand   *rand.Rand
	conn   *redistest.Client
	via    int // the proxy of conn
	tokens int
	held   []history.Op // grants that were not given back for certain
}

// work takes locks, uses them and gives them back until the time is up.
func (c *client) work(until time.Duration) {
	for c.record.Now() < until {
		switch c.rand.IntN(6) {
		case 0:
			c.count()
		case 1:
			c.look(c.lockName())
		default:
			c.lock()
		}
		c.pause(15 * time.Millisecond)
	}
}

func (c *client) lockName() string { return lockPrefix + strconv.Itoa(c.rand.IntN(locks)) }

// pause waits for up to d.
func (c *client) pause(d time.Duration) { time.Sleep(time.Duration(c.rand.Int64N(int64(d)))) }

// lock tries to get a lock, and goes through its life if it does: perhaps an
// extension, perhaps a pause that outlasts the ttl, and mostly a release.
func (c *client) lock() {
	c.tokens++
	o := history.Op{Kind: history.Acquire, Key: c.lockName(), Token: fmt.Sprintf("c%d-%d%s", c.number, c.tokens, tokenEnd), TTL: c.plan.TTL}
	ttl := strconv.FormatInt(o.TTL.Milliseconds(), 10)
	if c.rand.IntN(4) == 0 {
		o.Kind, o.Counter = history.Fenced, counter
		o = c.do(o, "EVAL", fencedScript, "2", o.Key, counter, o.Token, ttl)
	} else {
		o = c.do(o, "SET", o.Key, o.Token, "NX", "PX", ttl)
	}
	if o.Outcome != history.Done {
		return
	}
	use := min(c.plan.TTL, 200*time.Millisecond)
	slow := c.rand.IntN(8) == 0 && c.plan.TTL != longTTL
	if slow {
		use = 2 * c.plan.TTL // it thinks too long, and goes on as if it had not
	}
	c.pause(use)
	for ; slow || c.rand.IntN(3) == 0; slow = false {
		e := history.Op{Kind: history.Extend, Key: o.Key, Token: o.Token, TTL: o.TTL}
		c.do(e, "EVAL", extendScript, "1", e.Key, e.Token, ttl)
		c.pause(use)
	}
	if c.rand.IntN(6) == 0 && c.plan.TTL != longTTL {
		return // it forgets to give it back
	}
	if c.release(o).Outcome != history.Done && c.plan.TTL == longTTL {
		c.held = append(c.held, o)
	}
}

func (c *client) release(grant history.Op) history.Op {
	r := history.Op{Kind: history.Release, Key: grant.Key, Token: grant.Token}
	return c.do(r, "EVAL", releaseScript, "1", r.Key, r.Token)
}

func (c *client) look(key string) {
	c.do(history.Op{Kind: history.Look, Key: key}, "GET", key)
}

func (c *client) count() {
	if c.rand.IntN(3) == 0 {
		c.do(history.Op{Kind: history.Read, Key: counter}, "GET", counter)
		return
	}
	c.do(history.Op{Kind: history.Increment, Key: counter}, "INCR", counter)
}

// finish gives back what is still held, when everything is well again.
func (c *client) finish() {
	for _, grant := range c.held {
		for range 3 { // the first may meet a connection that broke meanwhile
			if o := c.release(grant); o.Outcome == history.Done || o.Outcome == history.Refused {
				break
			}
		}
	}
	c.count()
	c.close()
}

// do sends a command, and writes down what came of it.
func (c *client) do(o history.Op, args ...string) history.Op {
	o.Client = c.number
	if !c.connect() {
		time.Sleep(5 * time.Millisecond) // all proxies are down
		o.Outcome = history.Failed       // it was never sent, and is not written down
		return o
	}
	o.Note = "via " + strconv.Itoa(c.via)
	o.Call = c.record.Now()
	reply, err := c.conn.Do(args...)
	o.Return = c.record.Now()
	if err != nil {
		o.Outcome, o.Note = history.Unknown, o.Note+": "+err.Error()
		c.close()
	} else {
		c.judge(&o, reply)
	}
	c.record.Add(o)
	return o
}

// judge reads a reply.
func (c *client) judge(o *history.Op, reply any) {
	o.Outcome = history.Done
	switch r := reply.(type) {
	case redistest.Error:
		o.Outcome, o.Note = history.Failed, o.Note+": "+string(r)
		if r.Code() != "UNAVAILABLE" {
			c.complain(fmt.Sprintf("an error that no command asked for: %v", *o))
		}
	case int64:
		if o.Number = r; r == 0 && o.Kind != history.Read {
			o.Outcome = history.Refused
		}
	case string:
		o.Seen = r
		if o.Kind == history.Read {
			o.Number, _ = strconv.ParseInt(r, 10, 64) // what is no number reads as 0, below all others
		}
	case nil:
		if o.Kind != history.Look && o.Kind != history.Read {
			o.Outcome = history.Refused
		}
	case redistest.Status:
	default:
		c.complain(fmt.Sprintf("a reply of a kind that no command has: %v %v", *o, reply))
	}
}

// connect makes sure of a connection, to another proxy than the last one if that broke.
func (c *client) connect() bool {
	if c.conn != nil {
		return true
	}
	for range c.proxies {
		c.via = (c.via + 1) % len(c.proxies)
		conn, err := redistest.Dial(c.proxies[c.via].process().Addr())
		if err == nil {
			conn.Timeout = patience
			c.conn = conn
			return true
		}
	}
	return false
}

func (c *client) close() {
	if c.conn != nil {
		_ = c.conn.Close()
		c.conn = nil
	}
}
