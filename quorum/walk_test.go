package quorum_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"redlockproxy/quorum"
	"redlockproxy/quorum/quorumtest"
)

// walkAll walks through all keys of a group, from place to place as numbers, and counts
// how often each key comes. between is called after each step but the last.
func walkAll(t *testing.T, g *quorum.Group, between func()) (map[quorum.Key]int, error) {
	t.Helper()
	found := make(map[quorum.Key]int)
	number := uint64(0)
	for range 200 {
		p, ok := g.Place(number)
		if !ok {
			t.Fatalf("%d is no place", number)
		}
		keys, held, next, err := g.Walk(context.Background(), p, nil)
		if err != nil {
			return found, err
		}
		for i, k := range keys {
			if held[i].Kind == quorum.Nothing {
				t.Errorf("%s comes and is not there", k)
			}
			found[k]++
		}
		if number = next.Number(); number == 0 {
			return found, nil
		}
		if between != nil {
			between()
		}
	}
	t.Fatal("a walk without an end")
	return nil, nil
}

// plantOn stores a value under a key on some backends.
func plantOn(r *rig, key quorum.Key, stored quorum.Stored, backends ...int) {
	for _, i := range backends {
		r.fakes[i].Plant(key, stored, time.Hour)
	}
}

func TestWalkGivesWhatAMajorityHoldsAndNothingElse(t *testing.T) {
	virtual(t, func(t *testing.T, r *rig) {
		want := map[quorum.Key]bool{}
		for _, some := range [][]int{{0, 1, 2}, {2, 3, 4}, {0, 2, 4}, {1, 3, 4}, {0, 1, 2, 3, 4}} {
			key := quorum.Key(fmt.Sprint("held", some))
			plantOn(r, key, "v"+tag, some...)
			want[key] = true
		}
		for _, some := range [][]int{{0}, {4}, {0, 1}, {3, 4}} {
			plantOn(r, quorum.Key(fmt.Sprint("left", some)), "v"+tag, some...)
		}
		plantOn(r, "split", "a"+tag, 0, 1)
		plantOn(r, "split", "b"+tag, 2, 3)
		for i, n := range []quorum.Stored{"5", "6", "7"} { // a counter that an outage has left in disorder
			r.fakes[i].Plant("counter", n, 0)
		}
		want["counter"] = true
		found, err := walkAll(t, r.Group, nil)
		if err != nil {
			t.Fatal(err)
		}
		for k, times := range found {
			if !want[k] || times != 1 {
				t.Errorf("%s comes %d times", k, times)
			}
			delete(want, k)
		}
		if len(want) > 0 {
			t.Errorf("%v don't come", want)
		}
	})
}

// TestWalkMissesNothingUnderAnyMask has two backends down, or away in the middle, and
// enough keys for several steps.
func TestWalkMissesNothingUnderAnyMask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for first := range 5 {
			for second := range 5 {
				r := newRig(t, 5)
				const keys = 1200
				for i := range keys {
					key := quorum.Key(fmt.Sprint("k", i))
					plantOn(r, key, "v"+tag, i%5, (i+1)%5, (i+2)%5)
				}
				r.fakes[first].SetMode(quorumtest.Down)
				steps := 0
				found, err := walkAll(t, r.Group, func() {
					if steps++; steps == 2 {
						r.fakes[second].SetMode(quorumtest.Down)
					}
				})
				if err != nil || len(found) != keys {
					t.Errorf("%d and then %d down: %d keys, %v", first, second, len(found), err)
				}
				r.Close()
			}
		}
	})
}

func TestWalkWithoutAMajorityIsUnavailable(t *testing.T) {
	virtual(t, func(t *testing.T, r *rig) {
		plantOn(r, "k", "v"+tag, 0, 1, 2, 3, 4)
		for _, i := range []int{0, 2, 4} {
			r.fakes[i].SetMode(quorumtest.Down)
		}
		var short *quorum.UnavailableError
		if _, err := walkAll(t, r.Group, nil); !errors.As(err, &short) {
			t.Errorf("a walk: %v", err)
		}
		if _, err := r.Size(context.Background()); !errors.As(err, &short) {
			t.Errorf("the number of keys: %v", err)
		}
	})
}

func TestWalkPastASilentBackendIsAnsweredInTime(t *testing.T) {
	virtual(t, func(t *testing.T, r *rig) {
		for i := range 500 {
			plantOn(r, quorum.Key(fmt.Sprint("k", i)), "v"+tag, 0, 1, 2, 3, 4)
		}
		r.fakes[0].SetMode(quorumtest.Silent)
		for p := (quorum.Place{}); ; {
			begun := time.Now()
			_, _, next, err := r.Walk(context.Background(), p, nil)
			if took := time.Since(begun); err != nil || took > 300*ms {
				t.Errorf("a step took %v, %v", took, err)
			}
			if p = next; p == (quorum.Place{}) {
				return
			}
		}
	})
}

func TestSizeIsThatOfAMajority(t *testing.T) {
	virtual(t, func(t *testing.T, r *rig) {
		plantOn(r, "a", "v"+tag, 0, 1, 2, 3, 4)
		plantOn(r, "b", "v"+tag, 0, 1, 2)
		plantOn(r, "c", "v"+tag, 3)
		if n, err := r.Size(context.Background()); n != 2 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
	})
}

func TestOnlyPlacesOfAWalkAreTaken(t *testing.T) {
	virtual(t, func(t *testing.T, r *rig) {
		good := quorum.Place{Backend: 3, Missed: 0b101, Cursor: 1<<53 - 1}
		if p, ok := r.Place(good.Number()); !ok || p != good {
			t.Errorf("%+v, %v", p, ok)
		}
		for _, p := range []quorum.Place{
			{Backend: 5}, {Backend: 7}, {Backend: 3}, {Backend: 1, Missed: 0b10}, {Backend: 4, Missed: 0b1000000}, {Cursor: 1 << 53},
		} {
			if _, ok := r.Place(p.Number()); ok {
				t.Errorf("%+v is a place", p)
			}
		}
		if _, ok := r.Place(1<<64 - 1); ok {
			t.Error("the largest number is a place")
		}
	})
}
