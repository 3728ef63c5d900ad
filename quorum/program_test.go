package quorum_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"redlockproxy/quorum"
)

// executed is how many commits and reads each backend has carried out.
func (r *rig) executed() (commits, reads int) {
	for _, f := range r.fakes {
		commits += f.Counts().Commit
		reads += f.Counts().Read
	}
	return commits, reads
}

// TestProgramMayMeetAsManyKeysAsItLikes has one that meets them one after the other.
func TestProgramMayMeetAsManyKeysAsItLikes(t *testing.T) {
	const many = 40
	for _, announced := range []bool{true, false} {
		t.Run(fmt.Sprint("announced: ", announced), func(t *testing.T) {
			virtual(t, func(t *testing.T, r *rig) {
				keys := make([]quorum.Key, many)
				for i := range keys {
					keys[i] = quorum.Key(fmt.Sprint("k", i))
					r.plant(keys[i], "x"+tag, 0, 1, 2, 3, 4, 5)
				}
				met := 0
				var tx quorum.Transaction
				var err error
				d := took(func() {
					tx, err = r.Transact(context.Background(), quorum.Assumption{}, func(v *quorum.View) error {
						if announced {
							v.Announce(keys...)
						}
						met = 0
						for _, k := range keys {
							if ok, err := v.Exists(k); err != nil || !ok {
								return err
							}
							met++
						}
						v.Delete(keys[0])
						return nil
					})
				})
				if err != nil || !tx.Wrote || met != many {
					t.Fatalf("%d keys met, written: %t, %v, in %d runs", met, tx.Wrote, err, tx.Runs)
				}
				if announced && (tx.Runs > 5 || d > 10*oneWay) {
					t.Errorf("%d runs, %v: announced keys are read together", tx.Runs, d)
				}
			})
		})
	}
}

func TestWrongGuessCostsARoundOnly(t *testing.T) {
	for _, c := range []struct {
		held   string
		assume quorum.Assumption
		reply  int
		runs   int
		after  time.Duration
	}{
		{"a", guess("a"), 1, 1, 2 * oneWay},
		{"a", quorum.Assumption{}, 1, 2, 4 * oneWay},
		{"a", quorum.Assumption{Kind: quorum.AssumeAbsent}, 1, 2, 4 * oneWay},
		{"a", quorum.Assumption{Kind: quorum.AssumePresent}, 1, 2, 4 * oneWay},
		{"a", guess("z"), 1, 2, 4 * oneWay},
		{"b", guess("a"), 0, 2, 4 * oneWay},
		{"", guess("a"), 0, 2, 4 * oneWay},
		{"", quorum.Assumption{Kind: quorum.AssumeAbsent}, 0, 2, 2 * oneWay},
	} {
		t.Run(fmt.Sprint(c.held, c.assume, c.reply), func(t *testing.T) {
			virtual(t, func(t *testing.T, r *rig) {
				if c.held != "" {
					r.plant("L", quorum.Stored(c.held+tag), 0, 1, 2, 3, 4, 5)
				}
				reply := 0
				var tx quorum.Transaction
				var err error
				d := took(func() {
					tx, err = r.Transact(context.Background(), c.assume, func(v *quorum.View) error {
						reply = 0
						held, _, err := v.Get("L")
						if err == nil && held == "a" {
							v.Delete("L")
							reply = 1
						}
						return err
					})
				})
				expectReply(t, "release", reply, err, c.reply)
				if tx.Runs != c.runs && tx.Runs != c.runs+1 || d > c.after {
					t.Errorf("%d runs in %v, want %d in %v", tx.Runs, d, c.runs, c.after)
				}
				r.rest()
				if c.reply == 1 {
					r.expectAll("L", "")
				} else {
					r.expectAll("L", c.held)
				}
			})
		})
	}
}

func TestReadOnlyProgramIsNeverAnsweredFromAGuess(t *testing.T) {
	programs := map[string]func(v *quorum.View) (string, error){
		"get":    func(v *quorum.View) (string, error) { s, _, err := v.Get("L"); return s, err },
		"exists": func(v *quorum.View) (string, error) { ok, err := v.Exists("L"); return fmt.Sprint(ok), err },
		"type":   func(v *quorum.View) (string, error) { return v.Type("L") },
		"ttl":    func(v *quorum.View) (string, error) { d, _, err := v.TTL("L"); return fmt.Sprint(d), err },
		"error": func(v *quorum.View) (string, error) {
			s, _, err := v.Get("L")
			if err == nil && s != "b" {
				err = errors.New("not b")
			}
			return "was b", err
		},
	}
	want := map[string]string{"get": "b", "exists": "true", "type": "string", "ttl": fmt.Sprint(quorum.NoTTL), "error": "was b"}
	guesses := []quorum.Assumption{{}, guess("a"), {Kind: quorum.AssumeAbsent}, {Kind: quorum.AssumePresent}}
	for name, program := range programs {
		for _, assume := range guesses {
			t.Run(fmt.Sprint(name, assume), func(t *testing.T) {
				virtual(t, func(t *testing.T, r *rig) {
					r.plant("L", "b"+tag, 0, 1, 2, 3, 4, 5)
					reply := ""
					tx, err := r.Transact(context.Background(), assume, func(v *quorum.View) (err error) {
						reply, err = program(v)
						return err
					})
					if err != nil || reply != want[name] || tx.Wrote {
						t.Errorf("%q, wrote %v, error %v; want %q", reply, tx.Wrote, err, want[name])
					}
					r.rest()
					if commits, reads := r.executed(); commits != 0 || reads != 5 {
						t.Errorf("%d commits and %d reads, want one round of reading", commits, reads)
					}
				})
			})
		}
	}
}

// Whatever a program has seen must still be so when its writes are done: between its
// reading and its writing, somebody changes the key on most backends.
func TestWhatAProgramSawIsConfirmedWithItsWrites(t *testing.T) {
	look := map[string]func(v *quorum.View) (string, error){
		"value":  func(v *quorum.View) (string, error) { s, _, err := v.Get("L"); return s, err },
		"exists": func(v *quorum.View) (string, error) { ok, err := v.Exists("L"); return fmt.Sprint(ok), err },
		"type":   func(v *quorum.View) (string, error) { return v.Type("L") },
		"expiry": func(v *quorum.View) (string, error) {
			d, ok, err := v.TTL("L")
			return fmt.Sprint(ok, d == quorum.NoTTL), err
		},
		"expiry of a value it replaced": func(v *quorum.View) (string, error) {
			if err := v.PutKeep("L", "new"); err != nil {
				return "", err
			}
			d, ok, err := v.TTL("L")
			return fmt.Sprint(ok, d == quorum.NoTTL), err
		},
	}
	look["expiry of a counter it raised"] = func(v *quorum.View) (string, error) {
		if _, err := v.Increment("L", 1); err != nil {
			return err.Error(), nil
		}
		d, ok, err := v.TTL("L")
		return fmt.Sprint(ok, d == quorum.NoTTL), err
	}
	const list = "(list)"
	states := map[string]struct {
		held string
		ttl  time.Duration
		see  map[string]string
	}{
		"absent": {"", 0, map[string]string{"value": "", "exists": "false", "type": "none", "expiry": "false false",
			"expiry of a value it replaced": "true true", "expiry of a counter it raised": "true true"}},
		"lasting": {"7" + tag, 0, map[string]string{"value": "7", "exists": "true", "type": "string", "expiry": "true true",
			"expiry of a value it replaced": "true true", "expiry of a counter it raised": "true true"}},
		"volatile": {"7" + tag, time.Minute, map[string]string{"value": "7", "exists": "true", "type": "string", "expiry": "true false",
			"expiry of a value it replaced": "true false", "expiry of a counter it raised": "true false"}},
		"list": {list, 0, map[string]string{"value": "", "exists": "true", "type": "list", "expiry": "true true",
			"expiry of a value it replaced": "true true", "expiry of a counter it raised": quorum.ErrWrongType.Error()}},
	}
	for name, program := range look {
		for from, before := range states {
			for to, after := range states {
				t.Run(name+": "+from+" to "+to, func(t *testing.T) {
					virtual(t, func(t *testing.T, r *rig) {
						put := func(held string, ttl time.Duration) {
							for _, f := range r.fakes {
								f.Remove("L")
								if held == list {
									f.PlantOther("L", "list")
								} else if held != "" {
									f.Plant("L", quorum.Stored(held), ttl)
								}
							}
						}
						put(before.held, before.ttl)
						time.AfterFunc(oneWay+oneWay/2, func() { put(after.held, after.ttl) })
						saw := ""
						tx, err := r.Transact(context.Background(), quorum.Assumption{}, func(v *quorum.View) (err error) {
							saw, err = program(v)
							if err == nil {
								v.Put("out", "1", 0)
							}
							return err
						})
						if err != nil || !tx.Wrote || saw != after.see[name] {
							t.Errorf("saw %q in %d runs, error %v; want %q", saw, tx.Runs, err, after.see[name])
						}
					})
				})
			}
		}
	}
}

func TestExpectationIsOfTheStoredValue(t *testing.T) {
	virtual(t, func(t *testing.T, r *rig) {
		r.plant("L", "a"+tag, 0, 1, 2, 3, 4, 5)
		was, err := get(r.Group, "L", true)
		if err != nil {
			t.Fatal(err)
		}
		exec := func() error {
			_, err := r.Transact(context.Background(), quorum.Assumption{}, func(v *quorum.View) error {
				if err := v.Expect("L", was); err != nil {
					return err
				}
				v.Put("out", "1", 0)
				return nil
			})
			return err
		}
		if err := exec(); err != nil {
			t.Errorf("nothing changed: %v", err)
		}
		r.plant("L", "a~rl:BBBBBBBBBBBBBBBB", 0, 1, 2, 3, 4, 5) // the same value, another owner
		if err := exec(); !errors.Is(err, quorum.ErrChanged) {
			t.Errorf("the owner changed: %v", err)
		}
		r.plant("L", "a"+tag, 0, 1, 2, 3, 4, 5)
		time.AfterFunc(oneWay+oneWay/2, func() { r.plant("L", "b"+tag, 0, 1, 2, 3, 4, 5) })
		if err := exec(); !errors.Is(err, quorum.ErrChanged) {
			t.Errorf("the value changed after it was read again: %v", err)
		}
	})
}

func TestProgramThatNeverSettlesIsBounded(t *testing.T) {
	virtual(t, func(t *testing.T, r *rig) {
		runs := 0
		d := took(func() {
			_, err := r.Transact(context.Background(), quorum.Assumption{}, func(v *quorum.View) error {
				runs++
				_, _, err := v.Get(quorum.Key(fmt.Sprint("k", runs))) // another key each time
				return err
			})
			expectUnavailable(t, "program", err)
		})
		if limit := int(200 * ms / oneWay); runs > limit || d > 200*ms { // that is the time for an answer
			t.Errorf("%d runs in %v", runs, d)
		}
	})
}
