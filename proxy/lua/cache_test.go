package lua

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
)

// load is from a Cache or a Draft.
func load(t *testing.T, from interface {
	Load(context.Context, string) (*Script, error)
}, text string) *Script {
	t.Helper()
	s, err := from.Load(t.Context(), text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestLoadedScriptIsFoundByItsDigestInAnyCase(t *testing.T) {
	c := NewCache(10, 1000, Limits{})
	s := load(t, c, "return 1")
	for _, digest := range []string{s.Digest(), strings.ToUpper(s.Digest())} {
		if got, ok := c.Get(t.Context(), digest); !ok || got != s {
			t.Errorf("Get(%s) = %v, %v", digest, got, ok)
		}
		if !c.Exists(digest) {
			t.Errorf("Exists(%s) is false", digest)
		}
	}
	if again := load(t, c, "return 1"); again != s {
		t.Error("loading a text again compiles it again")
	}
	if _, ok := c.Get(t.Context(), "no such digest"); ok || c.Exists("") {
		t.Error("found what is not there")
	}
	c.Flush()
	if c.Exists(s.Digest()) || c.Len() != 0 {
		t.Error("Flush leaves something")
	}
	load(t, c, "return 1")
	if c.Len() != 1 {
		t.Error("nothing can be loaded after Flush")
	}
}

func TestFullCacheForgetsTheLeastRecentlyUsed(t *testing.T) {
	c := NewCache(2, 1000, Limits{})
	a, b := load(t, c, "return 'a'"), load(t, c, "return 'b'")
	c.Get(t.Context(), a.Digest())
	load(t, c, "return 'c'")
	if !c.Exists(a.Digest()) || c.Exists(b.Digest()) || c.Len() != 2 {
		t.Error("the wrong script was forgotten")
	}
}

func TestCacheKeepsWithinItsBytes(t *testing.T) {
	c := NewCache(100, 50, Limits{})
	for i := range 20 {
		load(t, c, fmt.Sprintf("return 'script %d'", i))
		if c.bytes > 50 || c.Len() > 3 {
			t.Fatalf("%d scripts of %d bytes", c.Len(), c.bytes)
		}
	}
	long := load(t, c, "return '"+strings.Repeat("x", 100)+"'")
	if c.Exists(long.Digest()) || c.Len() == 0 {
		t.Error("a text longer than the cache was kept")
	}
}

func TestBadScriptIsNotKept(t *testing.T) {
	c := NewCache(10, 1000, Limits{})
	if _, err := c.Load(t.Context(), "this is not lua"); err == nil || c.Len() != 0 {
		t.Errorf("error %v, %d scripts", err, c.Len())
	}
}

func TestCacheIsSafeForManyClients(t *testing.T) {
	c := NewCache(5, 1000, Limits{})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 100 {
				text := fmt.Sprintf("return %d", (i*j)%12)
				s, err := c.Load(t.Context(), text)
				if err != nil || s.Digest() != Digest(text) {
					t.Errorf("%v, %v", s, err)
				}
				c.Get(t.Context(), s.Digest())
				c.Exists(s.Digest())
				if j == 50 {
					c.Flush()
				}
			}
		})
	}
	wg.Wait()
	if c.Len() > 5 {
		t.Errorf("%d scripts", c.Len())
	}
}

func TestChangedLimitsHoldForScriptsThatAreLoaded(t *testing.T) {
	c := NewCache(3, 1000, Limits{MaxSource: 100, MaxSteps: 1_000_000})
	loop := load(t, c, "for i = 1, 1000 do end return 1")
	run := func() error {
		_, err := loop.Run(t.Context(), nil, nil, nil)
		return err
	}
	if err := run(); err != nil {
		t.Fatal(err)
	}
	load(t, c, "return 2")
	load(t, c, "return 3")
	c.Change(2, Limits{MaxSource: 20, MaxSteps: 100})
	if err := run(); err == nil || !strings.Contains(err.Error(), "more than 100 steps") {
		t.Errorf("the same script after the change: %v", err)
	}
	if c.Exists(loop.Digest()) || c.Len() != 2 {
		t.Errorf("%d scripts are kept, the oldest %t", c.Len(), c.Exists(loop.Digest()))
	}
	if _, err := c.Load(t.Context(), "return 'more than twenty bytes'"); err == nil {
		t.Error("a text that is too long by now is compiled")
	}
	c.Change(2, Limits{MaxSteps: 1_000_000})
	if err := run(); err != nil {
		t.Errorf("with more steps again: %v", err)
	}
}
