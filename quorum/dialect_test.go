package quorum_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"redlockproxy/quorum"
)

// An extension that adds to what is left. It is computed once, from what a
// majority has left, and sets every backend to the same time.
func TestAdditiveExtensionLevelsTheBackends(t *testing.T) {
	virtual(t, func(t *testing.T, r *rig) {
		for i, left := range []time.Duration{9000 * ms, 5000 * ms, 1000 * ms, 0, 9000 * ms} {
			if left > 0 {
				r.plant("L", "a"+tag, left, i+1)
			}
		}
		_, err := r.Transact(context.Background(), quorum.Assumption{}, func(v *quorum.View) error {
			held, _, err := v.Get("L")
			if err != nil || held != "a" {
				return err
			}
			left, _, err := v.TTL("L")
			if err != nil {
				return err
			}
			v.Expire("L", left+5000*ms)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		r.rest()
		r.expectAll("L", "a")
		first, _ := r.fakes[0].Peek("L")
		for i, f := range r.fakes {
			if h, ok := f.Peek("L"); ok && (h.TTL-first.TTL).Abs() > 10*ms { // what was put back was sent a little later
				t.Errorf("backend %d has %v left, the first %v", i+1, h.TTL, first.TTL)
			}
		}
		if first.TTL < 5900*ms || first.TTL > 10100*ms {
			t.Errorf("%v left; a majority had between 1 and 5 s, and 5 s were added", first.TTL)
		}
	})
}

// Libraries want other numbers for the same facts: -1 for a missing key, the count
// of the keys that went. What a program returns is its own affair, on any number of keys.
func TestReleaseRepliesAreTheProgramsOwn(t *testing.T) {
	for _, c := range []struct {
		held []string // of K1 and K2, everywhere
		want int
	}{{[]string{"a", "a"}, 2}, {[]string{"a", "b"}, 1}, {[]string{"b", "b"}, 0}, {[]string{"", ""}, -2}, {[]string{"a", ""}, 0}} {
		t.Run(fmt.Sprint(c.held), func(t *testing.T) {
			virtual(t, func(t *testing.T, r *rig) {
				keys := []quorum.Key{"K1", "K2"}
				for i, v := range c.held {
					if v != "" {
						r.plant(keys[i], quorum.Stored(v+tag), 0, 1, 2, 3, 4, 5)
					}
				}
				reply := 0
				_, err := r.Transact(context.Background(), guess("a"), func(v *quorum.View) error {
					reply = 0
					for _, k := range keys {
						held, kind, err := v.Get(k)
						switch {
						case err != nil:
							return err
						case kind == quorum.Nothing:
							reply--
						case held == "a":
							v.Delete(k)
							reply++
						}
					}
					return nil
				})
				expectReply(t, "release", reply, err, c.want)
				r.rest()
				for i, v := range c.held {
					if v == "a" {
						v = ""
					}
					r.expectAll(keys[i], v)
				}
			})
		})
	}
}
