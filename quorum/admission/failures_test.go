package admission_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"redlockproxy/quorum"
	"redlockproxy/quorum/admission"
)

// full is a backend that has no room for a marker.
type full struct{ admission.Member }

var errFull = errors.New("OOM")

func (f full) Ask(ctx context.Context, ops []quorum.Op) ([]quorum.Answer, error) {
	for _, op := range ops {
		if _, writes := op.(quorum.Commit); writes {
			return nil, errFull
		}
	}
	return f.Member.Ask(ctx, ops)
}

// What goes on to fail for the same reason is tried ever more seldom, and not said again
// and again.
func TestWhatGoesOnToFailIsSaidOnceAMinute(t *testing.T) {
	for what, founded := range map[string]bool{"founding": false, "refill": true} {
		t.Run(what, func(t *testing.T) {
			virtual(t, 5, func(t *testing.T, r *rig) {
				p := r.proxy(func(c *admission.Config) { c.Auto = founded })
				if founded {
					p.await("all vote", func() bool { return p.voters() == 5 })
				}
				p.cancel() // its keeper; another takes its place
				p.ended.Wait()
				r.fakes[0].Wipe()
				members := p.members()
				for i, m := range members {
					members[i] = full{m}
				}
				said := map[admission.EventKind]int{}
				cfg := defaults()
				cfg.Report = func(e admission.Event) { said[e.Kind]++ }
				ctx, stop := context.WithCancel(context.Background())
				var running sync.WaitGroup
				running.Go(func() { admission.NewKeeper(members, cfg).Run(ctx) })
				time.Sleep(3*time.Minute + 30*time.Second)
				stop()
				running.Wait()
				if said[admission.Failed] < 2 || said[admission.Failed] > 5 || said[admission.Refilling] > 1 {
					t.Errorf("%d failures and %d refills were said in three and a half minutes", said[admission.Failed], said[admission.Refilling])
				}
			})
		})
	}
}
