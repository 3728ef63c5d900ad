package lua

import "testing"

func TestDraftIsSeenByNobodyElseUntilItIsKept(t *testing.T) {
	c := NewCache(10, 1000, Limits{})
	old := load(t, c, "return 'old'")
	d := c.Draft()
	fresh := load(t, d, "return 'fresh'")
	if !d.Exists(fresh.Digest()) || !d.Exists(old.Digest()) {
		t.Error("the transaction does not know a script that it loaded, or one that was there")
	}
	if again := load(t, c.Draft(), "return 'fresh'"); again != fresh {
		t.Error("another run compiles the text again")
	}
	if _, found := c.Get(t.Context(), fresh.Digest()); found || c.Exists(fresh.Digest()) {
		t.Error("what a transaction loads is known before it has happened")
	}
	d.Flush()
	if _, found := d.Get(t.Context(), old.Digest()); found || d.Exists(old.Digest()) || d.Exists(fresh.Digest()) {
		t.Error("the transaction knows what it flushed")
	}
	if !c.Exists(old.Digest()) {
		t.Error("what a transaction flushes is forgotten before it has happened")
	}
	load(t, d, "return 'after'")
	d.Keep(t.Context())
	for digest, want := range map[string]bool{old.Digest(): false, fresh.Digest(): false, Digest("return 'after'"): true} {
		if c.Exists(digest) != want {
			t.Errorf("after the transaction, %s is known: %t", digest, !want)
		}
	}
}

// TestDraftKnowsItsTextsWhateverTheCacheForgets has a cache that holds one script.
func TestDraftKnowsItsTextsWhateverTheCacheForgets(t *testing.T) {
	c := NewCache(1, 1000, Limits{})
	d := c.Draft()
	a, b := load(t, d, "return 'a'"), load(t, d, "return 'b'")
	for _, s := range []*Script{a, b, a} {
		got, found := d.Get(t.Context(), s.Digest())
		if !found || got.Digest() != s.Digest() {
			t.Errorf("%s: %v, %t", s.Digest(), got, found)
		}
		if c.Len() > 1 {
			t.Errorf("%d scripts are kept", c.Len())
		}
	}
	if _, err := d.Load(t.Context(), "return )"); err == nil {
		t.Error("a text that is no script was taken")
	}
}
