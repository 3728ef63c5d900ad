package quorum_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"redlockproxy/quorum"
	"redlockproxy/quorum/quorumtest"
)

// increment adds to f and must succeed.
func (r *rig) increment(by, want int64) quorum.Count {
	r.t.Helper()
	c, err := r.Increment(context.Background(), "f", by)
	if err != nil || c.Number != want {
		r.t.Errorf("increment by %d: %d, error %v; want %d", by, c.Number, err, want)
	}
	return c
}

// Backends come back without what they missed. The value that most of them have
// would repeat, and so would the largest reply.
func TestCounterRisesThroughBackendsThatMissedNumbers(t *testing.T) {
	virtual(t, func(t *testing.T, r *rig) {
		r.plant("f", "100", 0, 1, 2, 3, 4, 5)
		r.set(quorumtest.Down, 4, 5)
		r.increment(1, 101)
		r.set(quorumtest.Up, 4, 5)
		r.set(quorumtest.Down, 1, 2)
		r.increment(1, 102)
		r.set(quorumtest.Up, 1, 2)
		r.set(quorumtest.Down, 3, 5)
		r.increment(1, 103)
		r.heal()
		r.increment(1, 104)
	})
}

// I11: whatever three of five are asked, they never say less than was said before.
func TestCounterReadsNeverFall(t *testing.T) {
	virtual(t, func(t *testing.T, r *rig) {
		for i, v := range []quorum.Stored{"3", "9", "5", "7", "7"} {
			r.plant("f", v, 0, i+1)
		}
		last := int64(0)
		for i := range 60 {
			a, b := i%5+1, (i*3+1)%5+1
			r.set(quorumtest.Down, a)
			r.set(quorumtest.Frozen, b)
			h, err := get(r.Group, "f", i%2 == 0)
			n := number(t, h)
			if err != nil || n < last {
				t.Errorf("read %d: %d, error %v; it was %d before", i, n, err, last)
			}
			last = n
			if with := r.atLeast("f", n); with < 3 {
				t.Errorf("read %d: %d is on %d backends only: %q", i, n, with, r.values("f"))
			}
			if i%7 == 0 {
				r.increment(1, n+1)
				last = n + 1
			}
			r.set(quorumtest.Up, a, b)
		}
		if last < 9 {
			t.Errorf("ended at %d", last)
		}
	})
}

func TestReadOfAMissingCounterIsNothing(t *testing.T) {
	virtual(t, func(t *testing.T, r *rig) {
		r.plant("f", "5", 0, 1, 2)
		h, err := get(r.Group, "f", true)
		if err != nil || h.Kind != quorum.Nothing {
			t.Errorf("%+v, error %v", h, err)
		}
		r.rest()
		r.expect("f", "5", "5", "", "", "")
	})
}

// A number that expires, or that an attempt to lock has tagged, may be the token of a
// client: raising others to it would make that client a holder.
func TestReadingNumbersOfLocksMakesNoHolder(t *testing.T) {
	for _, c := range []struct {
		stored quorum.Stored
		ttl    time.Duration
	}{{"4711", 10 * time.Second}, {"4711" + tag, 0}, {"4711" + tag, 10 * time.Second}} {
		virtual(t, func(t *testing.T, r *rig) {
			r.plant("f", c.stored, c.ttl, 1, 2)
			r.set(quorumtest.Down, 5)
			if h, err := get(r.Group, "f", false); err == nil && h.Kind != quorum.Nothing {
				t.Errorf("%q for %v: read as %+v", c.stored, c.ttl, h)
			}
			r.heal()
			r.expect("f", "4711", "4711", "", "", "")
		})
	}
}

func TestIncrementKeepsTheExpiry(t *testing.T) {
	virtual(t, func(t *testing.T, r *rig) {
		for i, v := range []quorum.Stored{"5", "4", "3", "2", "1"} {
			r.plant("f", v, 10*time.Second, i+1)
		}
		r.stagger()
		if c := r.increment(1, 6); c.Rounds != 2 {
			t.Errorf("%d rounds, want 2", c.Rounds)
		}
		r.rest()
		r.expectAll("f", "6")
		time.Sleep(10 * time.Second)
		r.expectAll("f", "")
	})
}

func TestIncrementOfOddNumbers(t *testing.T) {
	const most = math.MaxInt64
	text := func(n int64) string { return fmt.Sprint(n) }
	for _, c := range []struct {
		name  string
		held  []string
		by    int64
		want  int64
		fault error
	}{
		{"negative", []string{"-5", "-5", "-5", "-5", "-5"}, 1, -4, nil},
		{"tagged negative", []string{"-5" + tag, "-5" + tag, "-5" + tag, "-5" + tag, "-5" + tag}, 1, -4, nil},
		{"to nought", []string{"-1", "-2", "-3", "-4", "-5"}, 1, 0, nil},
		{"negative on a minority", []string{"-5", "-5", "", "", ""}, 1, 1, nil},
		{"absent on some", []string{"-5", "-4", "-3", "", ""}, 1, 1, nil},
		{"least", []string{text(math.MinInt64), text(math.MinInt64), text(math.MinInt64), "", ""}, 1, math.MinInt64 + 1, nil},
		{"tagged", []string{"41" + tag, "41" + tag, "41" + tag, "", ""}, 1, 42, nil},
		{"tagged on a minority", []string{"41" + tag, "41" + tag, "7", "7", "7"}, 1, 8, nil},
		{"tagged and plain", []string{"41", "41", "41", "41" + tag, "41" + tag}, 1, 42, nil},
		{"tagged and apart", []string{"41" + tag, "41" + tag, "7", "8", ""}, 1, 42, nil},
		{"beyond doubles", []string{"9007199254740993", "9007199254740992", "9007199254740992", "1", "1"}, 1, 9007199254740994, nil},
		{"beyond doubles, apart", []string{"9007199254740993", "9007199254740992", "9007199254740991", "1", "2"}, 1, 9007199254740994, nil},
		{"by many", []string{"50", "40", "30", "20", "10"}, 7, 57, nil},
		{"up to the end", []string{text(most - 1), text(most - 1), text(most - 1), "1", "1"}, 1, most, nil},
		{"over the end", []string{text(most), text(most), text(most), text(most), text(most)}, 1, 0, quorum.ErrOverflow},
		{"over the end by many", []string{text(most - 5), text(most - 5), text(most - 5), "1", "1"}, 6, 0, quorum.ErrOverflow},
		{"over the end, tagged", []string{text(most) + tag, text(most) + tag, text(most) + tag, "1", "1"}, 1, 0, quorum.ErrOverflow},
		{"text", []string{"x", "x", "x", "x", "x"}, 1, 0, quorum.ErrNotInteger},
		{"tagged text", []string{"x" + tag, "x" + tag, "x" + tag, "", ""}, 1, 0, quorum.ErrNotInteger},
		{"text on a minority", []string{"x", "x", "5", "5", "5"}, 1, 6, nil},
		{"leading nought", []string{"007", "007", "007", "007", "007"}, 1, 0, quorum.ErrNotInteger},
		{"empty", []string{tag, tag, tag, "", ""}, 1, 0, quorum.ErrNotInteger},
		{"65 bits", []string{"9223372036854775808", "9223372036854775808", "9223372036854775808", "", ""}, 1, 0, quorum.ErrNotInteger},
		{"list", []string{"(list)", "(list)", "(list)", "5", "5"}, 1, 0, quorum.ErrWrongType},
		{"list on a minority", []string{"(list)", "(list)", "5", "5", "5"}, 1, 6, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			virtual(t, func(t *testing.T, r *rig) {
				r.plantEach("f", c.held)
				r.stagger()
				got, err := r.Increment(context.Background(), "f", c.by)
				if got.Number != c.want || !errors.Is(err, c.fault) {
					t.Errorf("%d, error %v; want %d, error %v", got.Number, err, c.want, c.fault)
				}
				r.rest()
				if with := r.atLeast("f", c.want); c.fault == nil && with < 3 {
					t.Errorf("%d backends have %d: %q", with, c.want, r.values("f"))
				}
				if c.fault == nil {
					after, err := r.Increment(context.Background(), "f", 1)
					if err == nil && after.Number <= c.want || err != nil && !errors.Is(err, quorum.ErrOverflow) {
						t.Errorf("%d, then %d, error %v", c.want, after.Number, err)
					}
				}
			})
		})
	}
}

// stagger makes the fakes answer one after another, in their order.
func (r *rig) stagger() {
	for i, f := range r.fakes {
		f.SetDelay(oneWay, oneWay+time.Duration(i)*ms/10)
	}
}

// plantEach stores a value on each fake; "" stands for nothing, "(list)" for a list.
func (r *rig) plantEach(key quorum.Key, held []string) {
	for i, v := range held {
		switch v {
		case "":
		case "(list)":
			r.fakes[i].PlantOther(key, "list")
		default:
			r.plant(key, quorum.Stored(v), 0, i+1)
		}
	}
}

// An unknown outcome is an error, and never tried again: each backend is asked once.
func TestIncrementOfUnknownOutcomeIsNotRepeated(t *testing.T) {
	virtual(t, func(t *testing.T, r *rig) {
		r.set(quorumtest.LostReply, 1, 2, 3)
		_, err := r.Increment(context.Background(), "f", 1)
		expectUnavailable(t, "increment", err)
		r.rest()
		for i, f := range r.fakes {
			if c := f.Counts(); c.Increment != 1 || c.Commit != 0 {
				t.Errorf("backend %d was asked for %+v, want one increment", i+1, c)
			}
		}
		r.heal()
		r.increment(1, 2)
	})
}
