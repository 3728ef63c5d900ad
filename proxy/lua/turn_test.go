package lua

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"redlockproxy/resp"
)

const (
	light = `for i = 1, 1000 do local x = i end return 'light'`
	// Both end by themselves: 24,000 steps, 400 kilobytes.
	longRun = `for i = 1, 12000 do local x = i end return 'heavy'`
	bigRun  = `return #string.rep('x', 400000)`
)

func runIn(t *testing.T, c *Cache, ctx context.Context, text string) (resp.Reply, error) {
	t.Helper()
	s, err := c.Load(text)
	if err != nil {
		t.Fatal(err)
	}
	return s.Run(ctx, nil, nil, nil)
}

func TestHeavyRunsTakeTurnsAndLightOnesNeedNone(t *testing.T) {
	c := NewCache(10, 1<<20, Limits{MaxTime: time.Minute})
	c.idle.turns.Enter(t.Context()) // somebody has the only turn
	if reply, err := runIn(t, c, t.Context(), light); err != nil || reply != resp.Bulk("light") {
		t.Errorf("light: %v, %v", reply, err)
	}
	for _, text := range []string{longRun, bigRun} {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		reply, err := runIn(t, c, ctx, text)
		cancel()
		// On a busy machine its time may be over before it asks for its turn.
		if err == nil || !errors.Is(err, context.DeadlineExceeded) && !strings.Contains(err.Error(), "a turn to compute for long") {
			t.Errorf("%s while another has the turn: %v, %v", text, reply, err)
		}
	}
	done := make(chan error)
	go func() {
		_, err := runIn(t, c, t.Context(), longRun)
		done <- err
	}()
	c.idle.turns.Leave()
	if err := <-done; err != nil {
		t.Errorf("when the turn was free: %v", err)
	}
}

// quiet is a context that tells of its deadline only when it is asked.
type quiet struct {
	context.Context
	end time.Time
}

func (q quiet) Deadline() (time.Time, bool) { return q.end, true }

func TestDeadlineEndsARunAndAWaitForATurn(t *testing.T) {
	c := NewCache(10, 1<<20, Limits{MaxTime: time.Minute, MaxSteps: 1 << 40})
	soon := func() context.Context { return quiet{t.Context(), time.Now().Add(20 * time.Millisecond)} }
	if reply, err := runIn(t, c, soon(), `while true do end`); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a run: %v, %v", reply, err)
	}
	c.idle.turns.Enter(t.Context()) // somebody has the only turn
	defer c.idle.turns.Leave()
	if reply, err := runIn(t, c, soon(), `while true do end`); err == nil || !strings.Contains(err.Error(), "a turn to compute for long") && !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a wait: %v, %v", reply, err)
	}
}

func TestEveryRunGivesItsTurnBack(t *testing.T) {
	c := NewCache(10, 1<<20, Limits{MaxSteps: 40_000})
	var all sync.WaitGroup
	for range 10 {
		for _, text := range []string{longRun, `while true do end`, `while true do error('x') end`, `for i = 1, 12000 do local x = i end error('x')`} {
			all.Go(func() {
				if reply, err := runIn(t, c, t.Context(), text); err == nil && reply == resp.Bulk("light") {
					t.Error("not its own reply")
				}
			})
		}
	}
	all.Wait()
	if n := c.idle.turns.Inside(); n != 0 {
		t.Errorf("%d turns were not given back", n)
	}
}
