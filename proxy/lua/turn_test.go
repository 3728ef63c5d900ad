package lua

import (
	"context"
	"errors"
	"fmt"
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
	s, err := c.Load(t.Context(), text)
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

func TestLongTextsAreCompiledInTurnAndShortOnesAtOnce(t *testing.T) {
	c := NewCache(10, 1<<20, Limits{})
	blanks := strings.Repeat(" ", atOnce)
	texts := map[string]string{"short": "return 1", "long": "return 1" + blanks, "broken": "return )" + blanks}
	c.idle.turns.Enter(t.Context()) // somebody has the only turn
	load(t, c, texts["short"])
	if _, err := c.Load(t.Context(), "x"+strings.Repeat(" ", DefaultMaxSource)); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("too long: %v", err)
	}
	for _, from := range []interface {
		Load(context.Context, string) (*Script, error)
	}{c, c.Draft()} {
		soon := quiet{t.Context(), time.Now().Add(20 * time.Millisecond)}
		if _, err := from.Load(soon, texts["long"]); err != resp.ErrTooLate {
			t.Errorf("a long text while another has the turn: %v", err)
		}
	}
	c.idle.turns.Leave()
	load(t, c, texts["long"])
	_, refusal := c.Load(t.Context(), texts["broken"])
	if n := c.idle.turns.Inside(); n != 0 {
		t.Errorf("%d turns were not given back", n)
	}
	// What was compiled, with or without success, needs no turn again.
	c.idle.turns.Enter(t.Context())
	defer c.idle.turns.Leave()
	load(t, c, texts["long"])
	if _, err := c.Load(quiet{t.Context(), time.Now().Add(time.Second)}, texts["broken"]); err != refusal || err == nil {
		t.Errorf("a text that was refused with %v: %v", refusal, err)
	}
}

// An asker is a context that tells when its deadline is asked for, as before a wait.
type asker struct {
	context.Context
	asked chan struct{}
}

func (a asker) Deadline() (time.Time, bool) {
	close(a.asked)
	return time.Time{}, false
}

func TestTextThatAnotherHadCompiledMeanwhileIsNotCompiledAgain(t *testing.T) {
	c := NewCache(10, 1<<20, Limits{})
	text := "return 1" + strings.Repeat(" ", atOnce)
	c.idle.turns.Enter(t.Context())
	asked, done := make(chan struct{}), make(chan error, 1)
	go func() {
		_, err := c.Load(asker{t.Context(), asked}, text)
		done <- err
	}()
	select {
	case <-asked:
	case err := <-done:
		t.Fatalf("without a turn: %v", err)
	}
	meanwhile := errors.New("what another found")
	c.refuse(Digest(text), meanwhile)
	c.idle.turns.Leave()
	if err := <-done; err != meanwhile {
		t.Errorf("compiled again: %v", err)
	}
}

func TestWhatIsKnownOfRefusedTextsIsBounded(t *testing.T) {
	c := NewCache(10, 1<<20, Limits{})
	for i := range 3 * maxRefused {
		_, _ = c.Load(t.Context(), fmt.Sprintf("return ) -- %d", i)+strings.Repeat(" ", atOnce))
		if len(c.refused) > maxRefused {
			t.Fatalf("%d", len(c.refused))
		}
	}
	c = NewCache(10, 1<<20, Limits{})
	if _, err := c.Load(t.Context(), "x "+strings.Repeat("y", DefaultMaxSource/2)); err == nil || len(c.refused) != 0 {
		t.Errorf("%d errors are kept, of %.100v", len(c.refused), err)
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
