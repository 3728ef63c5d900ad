package lua

import (
	"container/list"
	"context"
	"strings"
	"sync"
	"sync/atomic"

	"redlockproxy/resp"
)

// A Cache keeps compiled scripts by their digest, for EVALSHA, and shares idle
// virtual machines among them. It forgets the least recently used script when it
// is full: clients that send EVAL with ever new texts cannot grow it, and those
// that use EVALSHA load a forgotten script again, as they must after a restart of
// Redis. All methods are safe for concurrent use.
type Cache struct {
	limits   atomic.Pointer[Limits] // of all its scripts
	maxBytes int
	idle     *pool

	mu         sync.Mutex
	maxScripts int
	scripts    map[string]*list.Element // by digest; the values are *kept
	recent     *list.List               // most recently used first
	bytes      int                      // of all texts
	refused    map[string]error         // by digest: long texts that are no scripts
}

// Texts of up to atOnce bytes are compiled as they come: most lock scripts are no longer.
// That takes a millisecond or so, and up to a second for the longest texts: clients that
// send ever new ones would keep all processors from the votes, so those take turns with
// the heavy runs.
const atOnce = 1 << 10

// maxRefused and maxRefusal bound what is known of texts that are no scripts: how many
// there are, and the bytes of the error of each. A client that sends one again and again
// is not to have it compiled each time.
const (
	maxRefused = 256
	maxRefusal = 512
)

// A kept script is known when a client may ask for it by its digest. One that is not was
// compiled for a transaction that has not happened yet, and perhaps never does.
type kept struct {
	*Script
	known bool
}

// NewCache makes an empty cache for up to maxScripts scripts with texts of up to
// maxBytes bytes together, both at least 1. A compiled script takes about 30 times
// the bytes of its text.
func NewCache(maxScripts, maxBytes int, limits Limits) *Cache {
	c := &Cache{
		maxBytes: max(maxBytes, 1),
		idle:     newPool(),
		scripts:  map[string]*list.Element{},
		recent:   list.New(),
		refused:  map[string]error{},
	}
	c.Change(maxScripts, limits)
	return c
}

// Change sets how many scripts are kept, at least 1, and limits that hold for every run
// that begins from now on. A script that was loaded stays, however long its text is.
func (c *Cache) Change(maxScripts int, limits Limits) {
	limits = limits.withDefaults()
	c.limits.Store(&limits)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.maxScripts = max(maxScripts, 1)
	c.shrink()
}

// Load returns the script of a text, compiling it if it is not there, and makes it known.
// Errors are those of Compile, and resp.ErrTooLate for a long text that got no turn to be
// compiled before ctx ended. A text longer than the whole cache is compiled but not kept.
func (c *Cache) Load(ctx context.Context, text string) (*Script, error) {
	return c.load(ctx, text, true)
}

func (c *Cache) load(ctx context.Context, text string, known bool) (*Script, error) {
	digest := Digest(text)
	if s, err := c.find(digest, known); s != nil || err != nil {
		return s, err
	}
	// One that is too long is refused as soon as it is looked at.
	long := len(text) > atOnce && len(text) <= c.limits.Load().MaxSource
	if long {
		if !enter(ctx, c.idle.turns) {
			return nil, resp.ErrTooLate
		}
		defer c.idle.turns.Leave()
		c.idle.turns.Rest()
		if s, err := c.find(digest, known); s != nil || err != nil {
			return s, err // another client had the same text
		}
	}
	// Compiled without the lock: a text must not hold up other clients. Two that load one
	// short text at the same time both compile it, and one result stays.
	s, err := compile(text, &c.limits, c.idle)
	if err != nil {
		if long {
			c.refuse(digest, err)
		}
		return nil, err
	}
	return c.add(s, known), nil
}

// find is the script of a digest, known or not, or why its text is none; nil and nil if
// neither is there. From now on it is known, if that is asked.
func (c *Cache) find(digest string, known bool) (*Script, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.scripts[digest]; ok {
		return c.use(e, known), nil
	}
	return nil, c.refused[digest]
}

func (c *Cache) refuse(digest string, err error) {
	if len(err.Error()) > maxRefusal {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.refused) >= maxRefused {
		clear(c.refused) // each costs one more turn
	}
	c.refused[digest] = err
}

// use must be called with mu held.
func (c *Cache) use(e *list.Element, known bool) *Script {
	c.recent.MoveToFront(e)
	k := e.Value.(*kept)
	k.known = k.known || known
	return k.Script
}

func (c *Cache) add(s *Script, known bool) *Script {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.scripts[s.digest]; ok {
		return c.use(e, known)
	}
	if s.size > c.maxBytes {
		return s
	}
	c.scripts[s.digest] = c.recent.PushFront(&kept{s, known})
	c.bytes += s.size
	c.shrink()
	return s
}

// shrink forgets what is too much. It must be called with mu held.
func (c *Cache) shrink() {
	for c.bytes > c.maxBytes || len(c.scripts) > c.maxScripts {
		oldest := c.recent.Remove(c.recent.Back()).(*kept)
		delete(c.scripts, oldest.digest)
		c.bytes -= oldest.size
	}
}

// Get returns the known script of a digest, in any case of letters.
func (c *Cache) Get(_ context.Context, digest string) (*Script, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.scripts[strings.ToLower(digest)]
	if !ok || !e.Value.(*kept).known {
		return nil, false
	}
	return c.use(e, true), true
}

// Exists tells whether a digest's script is known, and does not count as a use.
func (c *Cache) Exists(digest string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.scripts[strings.ToLower(digest)]
	return ok && e.Value.(*kept).known
}

// Flush forgets all scripts. Those that are running go on.
func (c *Cache) Flush() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.scripts)
	c.recent.Init()
	c.bytes = 0
}

// Len is how many scripts are kept, known or not.
func (c *Cache) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.scripts)
}
