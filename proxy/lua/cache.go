package lua

import (
	"container/list"
	"strings"
	"sync"
	"sync/atomic"
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
	scripts    map[string]*list.Element // by digest; the values are *Script
	recent     *list.List               // most recently used first
	bytes      int                      // of all texts
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

// Load returns the script of a text, compiling it if it is not there; errors are
// those of Compile. A text longer than the whole cache is compiled but not kept.
func (c *Cache) Load(text string) (*Script, error) {
	digest := Digest(text)
	if s, ok := c.Get(digest); ok {
		return s, nil
	}
	// Compiled without the lock: a long text must not hold up other clients. Two
	// that load one text at the same time both compile it, and one result stays.
	s, err := compile(text, &c.limits, c.idle)
	if err != nil {
		return nil, err
	}
	return c.add(s), nil
}

func (c *Cache) add(s *Script) *Script {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.scripts[s.digest]; ok {
		c.recent.MoveToFront(e)
		return e.Value.(*Script)
	}
	if s.size > c.maxBytes {
		return s
	}
	c.scripts[s.digest] = c.recent.PushFront(s)
	c.bytes += s.size
	c.shrink()
	return s
}

// shrink forgets what is too much. It must be called with mu held.
func (c *Cache) shrink() {
	for c.bytes > c.maxBytes || len(c.scripts) > c.maxScripts {
		oldest := c.recent.Remove(c.recent.Back()).(*Script)
		delete(c.scripts, oldest.digest)
		c.bytes -= oldest.size
	}
}

// Get returns the script of a digest, in any case of letters.
func (c *Cache) Get(digest string) (*Script, bool) {
	digest = strings.ToLower(digest)
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.scripts[digest]
	if !ok {
		return nil, false
	}
	c.recent.MoveToFront(e)
	return e.Value.(*Script), true
}

// Exists tells whether a digest's script is there, and does not count as a use.
func (c *Cache) Exists(digest string) bool {
	digest = strings.ToLower(digest)
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.scripts[digest]
	return ok
}

// Flush forgets all scripts. Those that are running go on.
func (c *Cache) Flush() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.scripts)
	c.recent.Init()
	c.bytes = 0
}

// Len is how many scripts are kept.
func (c *Cache) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.scripts)
}
