package proxy

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"redlockproxy/proxy/redistest"
)

// TestPatternsMatchAsRedissDo compares random patterns with KEYS of one Redis.
func TestPatternsMatchAsRedissDo(t *testing.T) {
	redis := redistest.Start(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	word := func(alphabet string, most int) string {
		b := make([]byte, random.IntN(most+1))
		for i := range b {
			b[i] = alphabet[random.IntN(len(alphabet))]
		}
		return string(b)
	}
	var keys []string
	for range 60 {
		keys = append(keys, "k"+word("aabc*?[]^-\\\x00\xff", 5))
	}
	slices.Sort(keys)
	keys = slices.Compact(keys)
	c := redis.Client()
	for _, k := range keys {
		if _, err := c.Do("SET", k, "v"); err != nil {
			t.Fatal(err)
		}
	}
	for range 3000 {
		pattern := word("k*?", 1) + word("aabc**??[[]]^--\\", 8) // ASCII: how Redis orders other bytes depends on the machine
		reply, err := c.Do("KEYS", pattern)
		if err != nil {
			t.Fatal(err)
		}
		found, _ := reply.([]any)
		for _, k := range keys {
			if want := slices.Contains(found, any(k)); glob(pattern, k) != want {
				t.Errorf("%q and %q: Redis says %v", pattern, k, want)
			}
		}
	}
}

func TestPatternWithManyStarsTakesNoTime(t *testing.T) {
	begun := time.Now()
	if glob(strings.Repeat("*a", 1000)+"b", strings.Repeat("a", 20_000)) {
		t.Error("a match")
	}
	if took := time.Since(begun); took > 10*time.Second {
		t.Errorf("took %v", took)
	}
}
