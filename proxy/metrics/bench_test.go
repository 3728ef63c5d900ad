package metrics

import (
	"testing"
	"time"
)

// What counting one acquisition costs, all told, with every processor doing it.
func BenchmarkAcquisition(b *testing.B) {
	m := build(five(), "redlock")
	b.ReportAllocs()
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			m.Acquisition(Done, time.Now(), time.Millisecond)
		}
	})
}

func TestCountingMakesNoGarbage(t *testing.T) {
	m := build(five(), "redlock")
	count := func() {
		m.Acquisition(Done, time.Now(), time.Millisecond)
		m.Ended(Release, Refused)
		m.RoundTrip(4, time.Millisecond)
	}
	if n := testing.AllocsPerRun(1000, count); n != 0 {
		t.Errorf("%g allocations", n)
	}
}

func BenchmarkScrape(b *testing.B) {
	m := build(five(), "redlock")
	for b.Loop() {
		if _, err := m.registry.Gather(); err != nil {
			b.Fatal(err)
		}
	}
}
