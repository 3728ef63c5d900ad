package metrics

import (
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestSuccessRateIsThatOfTheLastFiveMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWindow()
		want := func(rate float64) {
			t.Helper()
			if got := w.successRate(time.Now()); got != rate {
				t.Errorf("after %s: %g, wanted %g", time.Since(w.start), got, rate)
			}
		}
		want(1) // nothing has failed
		for _, how := range []Outcome{Done, Refused, ClientGone, Unavailable} {
			w.note(time.Now(), how, time.Millisecond)
		}
		want(0.75)
		time.Sleep(4 * time.Minute)
		want(0.75)
		for _, how := range []Outcome{Split, Expired, Failed, Done} {
			w.note(time.Now(), how, time.Millisecond)
		}
		want(0.5)
		time.Sleep(time.Minute)
		want(0.25) // the first ones are too old
		time.Sleep(4 * time.Minute)
		want(1)
		time.Sleep(time.Hour)
		w.note(time.Now(), Unavailable, time.Millisecond)
		want(0)
	})
}

// A naive second version keeps all acquisitions and counts them anew.
func TestWindowCountsAsTheNaiveOneDoes(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	type event struct {
		turn int64
		how  Outcome
	}
	w := newWindow()
	now := w.start
	var all []event
	for range 1500 {
		now = now.Add(time.Duration(random.Int64N(int64(2 * time.Second))))
		if random.IntN(100) == 0 {
			now = now.Add(time.Duration(random.Int64N(int64(10 * time.Minute))))
		}
		how := Outcome(random.IntN(int(outcomes)))
		w.note(now, how, time.Millisecond)
		all = append(all, event{w.turn(now), how})
		decided, total := 0, 0
		for _, e := range all {
			if e.turn > w.turn(now)-slotCount {
				total++
				if e.how == Done || e.how == Refused || e.how == ClientGone {
					decided++
				}
			}
		}
		if got, wanted := w.successRate(now), float64(decided)/float64(total); got != wanted {
			t.Fatalf("after %s: %g, wanted %g", now.Sub(w.start), got, wanted)
		}
	}
}

func TestSlotTellsHowLongAcquisitionsTook(t *testing.T) {
	w := newWindow()
	for _, took := range []time.Duration{time.Millisecond, 2 * time.Millisecond, 9 * time.Millisecond} {
		w.note(w.start, Done, took)
	}
	all := w.all(w.start)
	if last := all[len(all)-1]; last != (Slot{Won: 3, Mean: 4 * time.Millisecond, Longest: 9 * time.Millisecond}) {
		t.Errorf("%+v", last)
	}
	if first := all[0]; first != (Slot{}) {
		t.Errorf("a slot from before the start: %+v", first)
	}
}

func TestNothingIsLostWhenManyCountAtOnce(t *testing.T) {
	w := newWindow()
	const workers, each = 8, 2000
	var all sync.WaitGroup
	for i := range workers {
		all.Go(func() {
			for range each {
				w.note(w.start.Add(SlotTime), Outcome(i%2), time.Duration(i)*time.Millisecond)
			}
		})
	}
	all.Wait()
	slots := w.all(w.start.Add(SlotTime))
	if last := slots[len(slots)-1]; last.Won+last.Refused != workers*each || last.Longest != (workers-1)*time.Millisecond {
		t.Errorf("%+v", last)
	}
}
