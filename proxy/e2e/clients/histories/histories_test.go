package histories

import (
	"flag"
	"fmt"
	"os"
	"sync"
	"testing"

	"redlockproxy/proxy/faults"
	"redlockproxy/proxy/faults/history"
	"redlockproxy/proxy/redistest"
)

var (
	seed      = flag.Int64("seed", -1, "play the history of this seed alone")
	histories = flag.Int("histories", 40, "how many histories to play")
	first     = flag.Uint64("first", 1, "the seed of the first history")
	lost      = flag.Bool("lost", true, "let backends of every second history forget")
)

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(redistest.Main(m))
}

// tally is what all histories came to: a run in which nothing happened shows nothing.
type tally struct {
	mu       sync.Mutex
	outcomes map[string]int
	faults   map[faults.Kind]int
	checked  int
	skipped  int
	bad      int
}

func TestHistoriesOfRealProcessesAreExplained(t *testing.T) {
	sum := &tally{outcomes: map[string]int{}, faults: map[faults.Kind]int{}}
	seeds := make([]uint64, *histories)
	for i := range seeds {
		seeds[i] = *first + uint64(i)
	}
	if *seed >= 0 {
		seeds = []uint64{uint64(*seed)}
	}
	t.Run("seed", func(t *testing.T) {
		for _, s := range seeds {
			memory := faults.Kept
			if *lost && s%2 == 0 {
				memory = faults.Lost
			}
			t.Run(fmt.Sprint(s), func(t *testing.T) {
				t.Parallel() // most of a history's time is spent waiting
				sum.play(t, faults.NewPlan(s, memory))
			})
		}
	})
	t.Logf("%d histories: %v; faults %v; porcupine found an order for %d keys and skipped %d",
		len(seeds), sum.outcomes, sum.faults, sum.checked, sum.skipped)
	faults.Figure(t, "%d of %d histories of real processes with violations", sum.bad, len(seeds))
	if *seed < 0 && *histories >= 40 {
		sum.wantEverything(t)
	}
}

func (sum *tally) play(t *testing.T, plan faults.Plan) {
	story := faults.Play(t, plan)
	v := linear(story.Ops, memory{lost: plan.Memory == faults.Lost, refilled: plan.Refills(), grace: plan.Grace()})
	story.Complaints = append(story.Complaints, v.complaints...)
	sum.mu.Lock()
	defer sum.mu.Unlock()
	for _, o := range story.Ops {
		sum.outcomes[fmt.Sprint(o.Kind, " ", o.Outcome)]++
	}
	for _, f := range plan.Faults {
		sum.faults[f.Kind]++
	}
	sum.checked += v.checked
	sum.skipped += v.skipped
	if len(story.Complaints) > 0 {
		sum.bad++
		t.Errorf("to play it again: go test -run %s -args -seed %d -lost=%t\n%s", "TestHistoriesOfRealProcessesAreExplained", plan.Seed, plan.Memory == faults.Lost, story.Report())
	}
}

// wantEverything checks that the histories together were worth it.
func (sum *tally) wantEverything(t *testing.T) {
	for _, what := range []string{
		fmt.Sprint(history.Acquire, " ", history.Done), fmt.Sprint(history.Acquire, " ", history.Refused),
		fmt.Sprint(history.Acquire, " ", history.Failed), fmt.Sprint(history.Acquire, " ", history.Unknown),
		fmt.Sprint(history.Fenced, " ", history.Done), fmt.Sprint(history.Extend, " ", history.Done),
		fmt.Sprint(history.Extend, " ", history.Refused), fmt.Sprint(history.Release, " ", history.Done),
		fmt.Sprint(history.Release, " ", history.Refused), fmt.Sprint(history.Increment, " ", history.Done),
		fmt.Sprint(history.Look, " ", history.Done), fmt.Sprint(history.Read, " ", history.Done),
	} {
		if sum.outcomes[what] < 10 {
			t.Errorf("only %d times: %s", sum.outcomes[what], what)
		}
	}
	for _, kind := range faults.Kinds() {
		if sum.faults[kind] == 0 && *lost && *first == 1 { // a few of other seeds may lack some
			t.Errorf("no fault of the kind %q", kind)
		}
	}
	if 10*sum.skipped > sum.checked {
		t.Errorf("porcupine looked at %d keys only, and skipped %d", sum.checked, sum.skipped)
	}
}
