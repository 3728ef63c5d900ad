package proxy

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"redlockproxy/conf"
)

// A sink keeps what was written in each call; it takes nothing while it is held.
type sink struct {
	hold   chan struct{} // nil, or closed when the sink takes what it is given
	chunks []string
}

func (s *sink) Write(p []byte) (int, error) {
	if s.hold != nil {
		<-s.hold
	}
	s.chunks = append(s.chunks, string(p))
	return len(p), nil
}

func writeLines(b *logBuffer, n int) string {
	var all strings.Builder
	for i := range n {
		line := fmt.Sprintf("line %d\n", i)
		all.WriteString(line)
		_, _ = b.Write([]byte(line))
	}
	return all.String()
}

func TestLogLinesAreWrittenTogetherAndSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &sink{}
		b := newLogBuffer(out)
		defer b.Close()
		for round := 1; round <= 3; round++ {
			all := writeLines(b, 100)
			time.Sleep(logInterval)
			synctest.Wait()
			if len(out.chunks) != round || out.chunks[round-1] != all {
				t.Fatalf("round %d: %d writes, the last %q", round, len(out.chunks), out.chunks)
			}
		}
	})
}

func TestALargeChunkOfTheLogDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &sink{}
		b := newLogBuffer(out)
		defer b.Close()
		_, _ = b.Write(make([]byte, logChunk))
		synctest.Wait() // no time passes
		if len(out.chunks) != 1 {
			t.Errorf("%d writes", len(out.chunks))
		}
	})
}

func TestLogLinesOverTheBoundAreDroppedAndCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &sink{hold: make(chan struct{})}
		b := newLogBuffer(out)
		_, _ = b.Write([]byte("first\n"))
		time.Sleep(logInterval)
		synctest.Wait() // the sink has the first line and does not give it back
		line := bytes.Repeat([]byte("x"), logWaiting/8)
		for range 11 {
			_, _ = b.Write(line)
		}
		if n := b.dropped.Load(); n != 3 {
			t.Errorf("%d lines were dropped, not 3", n)
		}
		close(out.hold)
		_ = b.Close()
		if all := strings.Join(out.chunks, ""); len(all) != len("first\n")+8*len(line) {
			t.Errorf("%d bytes were written", len(all))
		}
	})
}

func TestClosingTheLogWritesWhatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &sink{}
		b := newLogBuffer(out)
		all := writeLines(b, 10)
		start := time.Now()
		_ = b.Close()
		if got := strings.Join(out.chunks, ""); got != all || time.Since(start) != 0 {
			t.Errorf("after %v: %q", time.Since(start), got)
		}
		_, _ = b.Write([]byte("late\n"))
		if b.dropped.Load() != 1 {
			t.Error("a line after the end was not counted as dropped")
		}
	})
}

func TestConsoleLogHasOneLineForEachEvent(t *testing.T) {
	var out bytes.Buffer
	b := newLogBuffer(logFormat(conf.Log{Format: "console"}, &out))
	log := zerolog.New(b)
	for i := range 3 {
		log.Info().Int("n", i).Msg("event")
	}
	_ = b.Close()
	if n := strings.Count(out.String(), "event"); n != 3 || strings.Count(out.String(), "\n") != 3 {
		t.Errorf("%q", out.String())
	}
}
