package e2e_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"redlockproxy/proxy/redistest"
)

// twins are the proxy and one plain Redis, which hear the same.
type twins struct {
	w            *world
	plain        *redistest.Server
	proxy, redis *redistest.Client
}

func newTwins(t *testing.T) *twins {
	w := newWorld(t, redistest.Patient(t)...)
	plain := redistest.Start(t)
	return &twins{w: w, plain: plain, proxy: w.proxy.Client(), redis: plain.Client()}
}

// A line is one command, and what it is about.
type line struct {
	about fmt.Stringer
	args  []string
}

// both sends commands to both, as one pipeline, and compares what they say. It
// returns the proxy's replies.
func (x *twins) both(lines []line) []any {
	t := x.w.t
	t.Helper()
	const most = 64 // per pipeline, so that neither side waits for the other to read
	var replies []any
	for some := range slices.Chunk(lines, most) {
		for _, c := range []*redistest.Client{x.proxy, x.redis} {
			var pipeline []byte
			for _, l := range some {
				pipeline = append(pipeline, redistest.Encode(l.args...)...)
			}
			if err := c.Write(pipeline); err != nil {
				t.Fatal(err)
			}
		}
		for _, l := range some {
			here, err1 := x.proxy.Receive()
			there, err2 := x.redis.Receive()
			if err := errors.Join(err1, err2); err != nil {
				t.Fatalf("%s: %q: %v", l.about, l.args, err)
			}
			if !alike(here, there) {
				t.Errorf("%s: %q\n\tRedis %#v\n\tproxy %#v", l.about, l.args, there, here)
			}
			replies = append(replies, here)
		}
	}
	return replies
}

// alike compares replies, the types included. Numbers that can only be times to live
// may differ by the time that passes between the two.
func alike(here, there any) bool {
	if a, isList := here.([]any); isList {
		b, isList := there.([]any)
		return isList && slices.EqualFunc(a, b, alike)
	}
	if a, isNumber := here.(int64); isNumber {
		b, isNumber := there.(int64)
		near := a >= 10_000 && max(a-b, b-a) <= 3000 || a >= 50 && a <= 100 && max(a-b, b-a) <= 3
		return isNumber && (a == b || near)
	}
	return here == there
}

// holding is what a server holds for clients: value and absolute expiry in milliseconds by key.
func holding(t *testing.T, s *redistest.Server) map[string]held {
	t.Helper()
	const list = `local all = {} for i, k in ipairs(redis.call('KEYS', '*')) do if k ~= ARGV[1] then all[#all+1] = {k, redis.call('GET', k), redis.call('PEXPIRETIME', k)} end end return all`
	all := map[string]held{}
	for _, entry := range s.MustDo("EVAL", list, "0", redistest.Marker).([]any) {
		e := entry.([]any)
		all[e[0].(string)] = held{value: e[1].(string), expires: e[2].(int64)}
	}
	return all
}

type held struct {
	value   string
	expires int64 // -1 for never
}

// sameAs tells whether a backend holds what one Redis would: the value, whatever the
// proxy wrote behind it, for the same time and what is added for clocks that differ.
func (h held) sameAs(redis held, now int64) bool {
	const tag, late = 20, 3000 // bytes, milliseconds
	if !strings.HasPrefix(h.value, redis.value) || len(h.value) != len(redis.value) && len(h.value) != len(redis.value)+tag {
		return false
	}
	if h.expires < 0 || redis.expires < 0 {
		return h.expires == redis.expires
	}
	more, ttl := h.expires-redis.expires, redis.expires-now
	return more >= -late && more <= ttl/100+2+late
}

// compareHoldings waits until all backends hold what the plain Redis does: nothing
// less, and nothing that an attempt has left behind.
func (x *twins) compareHoldings() {
	t := x.w.t
	t.Helper()
	wanted := holding(t, x.plain)
	for i, s := range x.w.backends {
		var wrong []string
		for end := time.Now().Add(2 * time.Second); ; time.Sleep(20 * time.Millisecond) {
			wrong = wrong[:0]
			got, now := holding(t, s), time.Now().UnixMilli()
			for key, want := range wanted {
				if h, there := got[key]; !there || !h.sameAs(want, now) {
					wrong = append(wrong, fmt.Sprintf("%s: %v, one Redis holds %v", key, h, want))
				}
			}
			for key, h := range got {
				if _, there := wanted[key]; !there && !strings.HasPrefix(key, "probe:") {
					wrong = append(wrong, fmt.Sprintf("%s: %v, one Redis holds nothing", key, h))
				}
			}
			if len(wrong) == 0 || time.Now().After(end) {
				break
			}
		}
		for _, line := range wrong[:min(len(wrong), 10)] {
			t.Errorf("backend %d: %s", i, line)
		}
	}
}
