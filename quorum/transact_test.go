package quorum_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"redlockproxy/quorum"
	"redlockproxy/quorum/quorumtest"
)

// executed is how many commits and reads each backend has carried out.
func (r *rig) executed() (commits, reads int) {
	for _, f := range r.fakes {
		commits += f.Counts().Commit
		reads += f.Counts().Read
	}
	return commits, reads
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

// C22: an extension never makes a key, whether it is gone or somebody else's.
func TestExtensionRevivesNothing(t *testing.T) {
	virtual(t, func(t *testing.T, r *rig) {
		r.acquire("L", "a", 300*ms)
		time.Sleep(400 * ms)
		reply, err := extend(r.Group, "L", "a", 30*time.Second)
		expectReply(t, "extension of an expired lock", reply, err, 0)
		r.rest()
		r.expectAll("L", "")
		r.plant("L", "b"+tag, 0, 3, 4, 5)
		r.plant("L", "a"+tag, time.Second, 1, 2)
		reply, err = extend(r.Group, "L", "a", 30*time.Second)
		expectReply(t, "extension of another's lock", reply, err, 0)
		r.rest()
		r.expect("L", "a", "a", "b", "b", "b")
	})
}

// C24: an extension that failed half way must not cost its owner the lock.
func TestFailedExtensionKeepsTheLock(t *testing.T) {
	virtual(t, func(t *testing.T, r *rig) {
		r.acquire("L", "a", 3*time.Second)
		r.set(quorumtest.Down, 2)
		reply, err := extend(r.Group, "L", "a", 3*time.Second)
		expectReply(t, "with one down", reply, err, 1)
		r.set(quorumtest.Down, 3, 4)
		_, err = extend(r.Group, "L", "a", 3*time.Second)
		expectUnavailable(t, "with three down", err)
		r.heal()
		r.expectAll("L", "a")
		time.Sleep(time.Second)
		reply, err = extend(r.Group, "L", "a", 3*time.Second)
		expectReply(t, "healed", reply, err, 1)
	})
}

// C50: a missing key counts against a release only where it makes a majority.
func TestReleaseCountsWhereTheTokenStillIs(t *testing.T) {
	for lost := range 6 {
		virtual(t, func(t *testing.T, r *rig) {
			r.acquire("L", "a", 30*time.Second)
			r.rest()
			for _, f := range r.fakes[:lost] {
				f.Remove("L")
			}
			want := 1
			if lost > 2 {
				want = 0
			}
			reply, err := release(r.Group, "L", "a")
			expectReply(t, fmt.Sprint("lost on ", lost), reply, err, want)
			r.rest()
			r.expectAll("L", "")
		})
	}
}

// C51: was not yours any more is an answer, not an error, and quick.
func TestReleaseAfterExpiryIsNought(t *testing.T) {
	virtual(t, func(t *testing.T, r *rig) {
		r.acquire("L", "a", 200*ms)
		time.Sleep(300 * ms)
		for i := range 3 {
			d := took(func() {
				reply, err := release(r.Group, "L", "a")
				expectReply(t, fmt.Sprint("release ", i), reply, err, 0)
			})
			if d > 4*oneWay {
				t.Errorf("release %d took %v", i, d)
			}
			r.set(quorumtest.Frozen, 5) // four that say no are enough
		}
	})
}

// C56: a lock does not depend on any one backend.
func TestHeldLockOutlivesABackend(t *testing.T) {
	virtual(t, func(t *testing.T, r *rig) {
		r.acquire("L", "a", 10*time.Second)
		r.rest()
		r.set(quorumtest.Down, 1)
		h, err := get(r.Group, "L", true)
		if err != nil || h.Value() != "a" || h.TTL < 9*time.Second || h.TTL > 10*time.Second {
			t.Errorf("read %q for %v, error %v", h.Value(), h.TTL, err)
		}
		reply, err := extend(r.Group, "L", "a", 5*time.Second)
		expectReply(t, "extend", reply, err, 1)
		reply, err = release(r.Group, "L", "a")
		expectReply(t, "release", reply, err, 1)
	})
}

// C75, C78: a lock that is taken by a script, on two keys: both or none.
func TestCreatedKeysOfALostProgramAreUndone(t *testing.T) {
	take := func(v *quorum.View) (bool, error) {
		for _, k := range []quorum.Key{"K1", "K2"} {
			if ok, err := v.Exists(k); err != nil || ok {
				return false, err
			}
		}
		v.Put("K1", "a", time.Minute)
		v.Put("K2", "a", time.Minute)
		return true, nil
	}
	for _, c := range []struct {
		plant, down []int
		won         bool
		unavailable bool
	}{
		{nil, nil, true, false},
		{[]int{1, 2}, nil, true, false},
		{[]int{1, 2, 3}, nil, false, false},
		{nil, []int{1, 2, 3}, false, true},
		{[]int{1}, []int{2, 3}, false, true},
	} {
		virtual(t, func(t *testing.T, r *rig) {
			r.plant("K2", "x"+tag, 0, c.plant...)
			r.set(quorumtest.LostReply, c.down...)
			won := false
			tx, err := r.Transact(context.Background(), quorum.Assumption{Kind: quorum.AssumeAbsent}, func(v *quorum.View) (err error) {
				won, err = take(v)
				return err
			})
			if c.unavailable {
				expectUnavailable(t, "take", err)
			} else if err != nil || won != c.won || won != (len(tx.Locks) == 2) {
				t.Errorf("planted on %v: won %v with %d locks, error %v; want %v", c.plant, won, len(tx.Locks), err, c.won)
			}
			for _, l := range tx.Locks {
				r.Undo(l)
			}
			r.rest()
			r.heal()
			r.expectAll("K1", "")
		})
	}
}

// A lock and its number in one step, and a second of each never alike.
func TestProgramMintsANumberWithItsLock(t *testing.T) {
	virtual(t, func(t *testing.T, r *rig) {
		r.plantEach("f", []string{"5", "6", "7", "7", "5"})
		last := int64(0)
		for range 5 {
			n := int64(0)
			_, err := r.Transact(context.Background(), quorum.Assumption{Kind: quorum.AssumeAbsent}, func(v *quorum.View) error {
				if _, err := v.Exists("L"); err != nil {
					return err
				}
				v.Put("L", "a", time.Minute)
				var err error
				n, err = v.Increment("f", 1)
				return err
			})
			if err != nil || n <= last {
				t.Errorf("number %d after %d, error %v", n, last, err)
			}
			last = n
			r.rest()
			if with := r.atLeast("f", n); with < 3 {
				t.Errorf("%d is on %d backends", n, with)
			}
			if reply, err := release(r.Group, "L", "a"); err != nil || reply != 1 {
				t.Errorf("release: %d, %v", reply, err)
			}
		}
	})
}

// What a program stored for a time that is over before the votes are in, is no success.
func TestProgramsThatComeTooLateAreUndone(t *testing.T) {
	virtual(t, func(t *testing.T, r *rig) {
		g := r.group(2, func(cfg *quorum.Config) { cfg.PadTTL = false })
		for _, f := range r.fakes {
			f.SetDelay(0, 49*ms)
		}
		tx, err := g.Transact(context.Background(), quorum.Assumption{Kind: quorum.AssumeAbsent}, func(v *quorum.View) error {
			if ok, err := v.Exists("L"); ok || err != nil {
				return err
			}
			v.Put("L", "a", 50*ms)
			return nil
		})
		if err == nil && tx.Wrote {
			t.Errorf("wrote with a validity of %v", tx.Validity)
		}
		time.Sleep(time.Second)
		r.expectAll("L", "")
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
		if runs > 20 || d > 200*ms {
			t.Errorf("%d runs in %v", runs, d)
		}
	})
}
