package quorum_test

import (
	"context"
	"testing"
	"time"

	"redlockproxy/quorum"
	"redlockproxy/quorum/quorumtest"
)

// Two backends are down, and of the three others one lets a key expire a moment later:
// one grants or is silent about it, one refuses, and neither can be a majority.
func TestBareMajorityThatDisagreesIsAskedAgain(t *testing.T) {
	ifAbsent := func(put func(v *quorum.View)) func(g *quorum.Group) error {
		return func(g *quorum.Group) error {
			t, err := g.Transact(context.Background(), quorum.Assumption{Kind: quorum.AssumeAbsent}, func(v *quorum.View) error {
				there, err := v.Exists("L")
				if err == nil && !there {
					put(v)
				}
				return err
			})
			if err == nil && !t.Wrote {
				err = context.DeadlineExceeded
			}
			return err
		}
	}
	for name, do := range map[string]func(g *quorum.Group) error{
		"acquire": func(g *quorum.Group) error {
			a, err := g.Acquire(context.Background(), "L", "a", time.Second)
			if err == nil && !a.Won {
				err = context.DeadlineExceeded
			}
			return err
		},
		"program": ifAbsent(func(v *quorum.View) { v.Put("L", "a", time.Second) }),
		"program that sets the time last": ifAbsent(func(v *quorum.View) {
			v.Put("L", "a", 0)
			v.Expire("L", time.Second)
		}),
		"read": func(g *quorum.Group) error {
			held, err := g.Read(context.Background(), []quorum.Key{"L"}, false)
			if err == nil && held[0].Kind != quorum.Nothing {
				err = quorum.ErrChanged
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			virtual(t, func(t *testing.T, r *rig) {
				r.plant("L", "x"+tag, 15*ms, 1)
				r.set(quorumtest.Down, 4, 5)
				if err := do(r.Group); err != nil {
					t.Errorf("%v; want success as soon as the three agree", err)
				}
			})
		})
	}
}

// The same disagreement, but lasting: it stays an error, and nothing is left.
func TestBareMajorityThatGoesOnDisagreeingIsUnavailable(t *testing.T) {
	virtual(t, func(t *testing.T, r *rig) {
		r.plant("L", "x"+tag, 0, 1)
		r.set(quorumtest.Down, 4, 5)
		var a quorum.Acquisition
		var err error
		if d := took(func() { a, err = r.Acquire(context.Background(), "L", "a", time.Second) }); d > 200*ms {
			t.Errorf("answered after %v", d)
		}
		if err == nil || a.Won {
			t.Errorf("won %v, error %v; want an error", a.Won, err)
		}
		r.heal()
		r.expect("L", "x", "", "", "", "")
	})
}

// An extension that reached some backends is not undone and not run again: nobody
// knows whether the others have it.
func TestExtensionOfUnknownOutcomeIsNotTriedAgain(t *testing.T) {
	virtual(t, func(t *testing.T, r *rig) {
		r.plant("L", "a"+tag, 5*time.Second, 1, 2)
		r.set(quorumtest.Down, 4, 5)
		n, err := extend(r.Group, "L", "a", 10*time.Second)
		if err == nil {
			t.Errorf("%d; want an error", n)
		}
		if commits := r.fakes[0].Counts().Commit; commits != 1 {
			t.Errorf("the extension was sent %d times", commits)
		}
	})
}
