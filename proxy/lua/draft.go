package lua

import (
	"context"
	"strings"
)

// A Draft is a Cache as a transaction finds and leaves it. What the transaction loads and
// flushes is seen by its own later steps alone, until Keep puts it into the Cache: it may
// be run several times, each from the beginning, or come to nothing. A Draft holds
// compiled scripts only by way of the Cache, within its bounds. It is not safe for
// concurrent use.
type Draft struct {
	cache   *Cache
	flushed bool
	loaded  []string       // texts in order
	at      map[string]int // in loaded, by digest
}

// Draft begins a transaction.
func (c *Cache) Draft() *Draft { return &Draft{cache: c} }

// Load is Cache.Load for the steps to come.
func (d *Draft) Load(ctx context.Context, text string) (*Script, error) {
	s, err := d.cache.load(ctx, text, false)
	if err != nil {
		return nil, err
	}
	if _, again := d.at[s.digest]; !again {
		if d.at == nil {
			d.at = make(map[string]int)
		}
		d.at[s.digest] = len(d.loaded)
		d.loaded = append(d.loaded, text)
	}
	return s, nil
}

// Get is Cache.Get as of this step. It compiles a text anew that the Cache forgot.
func (d *Draft) Get(ctx context.Context, digest string) (*Script, bool) {
	if i, ok := d.at[strings.ToLower(digest)]; ok {
		s, err := d.cache.load(ctx, d.loaded[i], false)
		return s, err == nil
	}
	if d.flushed {
		return nil, false
	}
	return d.cache.Get(ctx, digest)
}

// Exists is Cache.Exists as of this step.
func (d *Draft) Exists(digest string) bool {
	_, ok := d.at[strings.ToLower(digest)]
	return ok || !d.flushed && d.cache.Exists(digest)
}

// Flush is Cache.Flush for the steps to come.
func (d *Draft) Flush() {
	d.flushed = true
	d.loaded, d.at = nil, nil
}

// Keep puts what the steps did into the Cache: the transaction has happened.
func (d *Draft) Keep(ctx context.Context) {
	if d.flushed {
		d.cache.Flush()
	}
	for _, text := range d.loaded {
		_, _ = d.cache.Load(ctx, text) // it compiled before
	}
}
