package quorum_test

import (
	"context"
	"testing"
	"time"

	"redlockproxy/quorum"
)

// A backend of the minority still holds something older, with an expiry, or has lost
// the key: keeping the expiry means the majority's, everywhere.
func TestKeptExpiryIsTheMajoritysOnEveryBackend(t *testing.T) {
	keep := func(t *testing.T, r *rig) {
		t.Helper()
		_, err := r.Transact(context.Background(), quorum.Assumption{}, func(v *quorum.View) error {
			return v.PutKeep("L", "new")
		})
		if err != nil {
			t.Fatal(err)
		}
		r.rest()
	}
	t.Run("lasting", func(t *testing.T) {
		virtual(t, func(t *testing.T, r *rig) {
			r.plant("L", "old"+tag, 0, 1, 2, 3)
			r.plant("L", "older"+tag, time.Hour, 4, 5)
			keep(t, r)
			for i, f := range r.fakes {
				if h, _ := f.Peek("L"); i < 3 && (h.Stored.Value() != "new" || h.TTL != quorum.NoTTL) ||
					i >= 3 && h.Stored.Value() == "new" && h.TTL != quorum.NoTTL {
					t.Errorf("backend %d holds %q for %v", i+1, h.Stored.Value(), h.TTL)
				}
			}
		})
	})
	t.Run("expiring", func(t *testing.T) {
		virtual(t, func(t *testing.T, r *rig) {
			r.plant("L", "old"+tag, time.Hour, 1, 2, 3, 4)
			keep(t, r)
			for i, f := range r.fakes {
				if h, there := f.Peek("L"); there && h.TTL == quorum.NoTTL {
					t.Errorf("backend %d holds %q for ever", i+1, h.Stored.Value())
				}
			}
		})
	})
}

// A backend that is behind still has a key which the majority has lost. A program that
// would overwrite it is refused by the majority; what the one backend stored goes.
func TestRefusedOverwriteLeavesNothingOnABackendThatIsBehind(t *testing.T) {
	virtual(t, func(t *testing.T, r *rig) {
		r.plant("L", "old"+tag, time.Hour, 5)
		tr, err := r.Transact(context.Background(), quorum.Assumption{Kind: quorum.AssumePresent}, func(v *quorum.View) error {
			there, err := v.Exists("L")
			if err == nil && there {
				v.Put("L", "new", time.Hour)
			}
			return err
		})
		if err != nil || tr.Wrote {
			t.Errorf("wrote %v, error %v; want a refusal", tr.Wrote, err)
		}
		r.rest()
		r.expect("L", "", "", "", "", "")
	})
}
