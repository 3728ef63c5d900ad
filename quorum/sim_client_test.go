package quorum_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"redlockproxy/quorum"
)

// client takes locks and lets them go, and counts, through one of the groups.
type client struct {
	h      *history
	number int
	random *rand.Rand
	group  *quorum.Group
	shared string // the value it has in common with others of its group, or ""

	held    bool
	key     quorum.Key
	value   string
	until   time.Duration // the client's own idea of how long it holds it
	unclear []event       // what it may still hold, for all it knows
}

func newClient(h *history, number int) *client {
	c := &client{h: h, number: number, random: rand.New(rand.NewPCG(h.seed, 100+uint64(number)))}
	g := number % len(h.groups)
	c.group = h.groups[g]
	if number/len(h.groups)%2 == 0 {
		c.shared = fmt.Sprint("group ", g)
	}
	return c
}

func (c *client) now() time.Duration { return time.Since(c.h.began) }

// did runs an operation and notes it.
func (c *client) did(e event, op func() (int64, error)) event {
	e.client, e.shared, e.call = c.number, c.shared != "", c.now()
	if e.reply, e.err = op(); e.err != nil {
		e.reply = 0 // what a program said in its last run is no reply
	}
	e.end = c.now()
	c.h.note(e)
	return e
}

func (c *client) work() {
	for c.now() < c.h.span {
		time.Sleep(time.Duration(c.random.Int64N(int64(c.h.think))))
		n := c.random.IntN(100)
		if c.h.forgets && n < 32 && c.random.IntN(6) != 0 {
			n = 50 // locks are what a memory is for; counters are settled in fewer histories
		}
		switch {
		case n < 20:
			c.did(event{op: "increment", key: simCounter}, func() (int64, error) {
				count, err := c.group.Increment(context.Background(), simCounter, 1)
				return count.Number, err
			})
		case n < 32:
			c.readCounter(n%2 == 0)
		case n < 34 && c.h.removals:
			c.remove()
		case !c.held:
			c.acquire()
		case c.h.forgets && n < 86 && c.now() < c.until:
			// Only what is held while a backend forgets and is refilled can be lost by it,
			// and only what is extended then is put back.
			if c.shared == "" && n%4 == 0 {
				c.extend()
			}
		case n < 60 && c.shared == "":
			c.extend()
		case n < 90:
			c.release(c.key, c.value)
		case c.shared != "" || c.now() > c.until:
			c.forget()
		}
	}
}

func (c *client) readCounter(full bool) {
	c.did(event{op: "read", key: simCounter}, func() (int64, error) {
		h, err := get(c.group, simCounter, full)
		if err != nil || h.Kind == quorum.Nothing {
			return 0, err
		}
		return strconv.ParseInt(h.Value(), 10, 64)
	})
}

func (c *client) remove() {
	key := simLocks[c.random.IntN(c.h.locks)]
	c.did(event{op: "remove", key: key}, func() (int64, error) {
		n, err := c.group.Remove(context.Background(), []quorum.Key{key})
		return int64(n), err
	})
}

// ttl is either one that matters or one that ends nothing before its time.
func (c *client) ttl() time.Duration {
	if c.h.longTTLs {
		return time.Minute
	}
	if c.h.forgets {
		return time.Duration(100+c.random.IntN(300)) * ms
	}
	return time.Duration(30+c.random.IntN(300)) * ms
}

func (c *client) acquire() {
	e := event{op: "acquire", key: simLocks[c.random.IntN(c.h.locks)], value: c.shared, ttl: c.ttl()}
	if e.value == "" {
		e.value = fmt.Sprint("client ", c.number, " at ", c.now())
	}
	e = c.did(e, func() (int64, error) {
		a, err := c.group.Acquire(context.Background(), e.key, e.value, e.ttl)
		if err != nil || !a.Won {
			return 0, err
		}
		if !a.Lock.Valid(time.Now()) { // as a server does right before it answers
			c.group.Undo(a.Lock)
			return 0, nil
		}
		return 1, nil
	})
	if e.reply == 1 {
		c.held, c.key, c.value, c.until = true, e.key, e.value, e.call+e.ttl
	}
}

func (c *client) extend() {
	e := event{op: "extend", key: c.key, value: c.value, ttl: c.ttl()}
	e = c.did(e, func() (int64, error) {
		n, err := extend(c.group, e.key, e.value, e.ttl)
		return int64(n), err
	})
	if e.err == nil && e.reply == 0 {
		c.forget()
	} else if e.err == nil {
		c.until = e.call + e.ttl
	}
}

func (c *client) release(key quorum.Key, value string) {
	if c.shared != "" && c.now() > c.until {
		c.forget() // it would be releasing another client's lock
		return
	}
	e := c.did(event{op: "release", key: key, value: value}, func() (int64, error) {
		n, err := release(c.group, key, value)
		return int64(n), err
	})
	if e.err != nil {
		c.unclear = append(c.unclear, e)
	}
	c.held = false
}

// forget lets a lock run out. A lock that lasts must be released in the end.
func (c *client) forget() {
	c.unclear = append(c.unclear, event{key: c.key, value: c.value})
	c.held = false
}

// finish releases, after everything is healed, what may be left of this client's.
func (c *client) finish() {
	if c.held {
		c.forget()
	}
	for _, e := range c.unclear {
		if c.shared != "" && !c.h.longTTLs {
			continue
		}
		c.did(event{op: "release", key: e.key, value: e.value}, func() (int64, error) {
			n, err := release(c.group, e.key, e.value)
			return int64(n), err
		})
	}
}
