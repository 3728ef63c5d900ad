package quorum_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"redlockproxy/quorum"
	"redlockproxy/quorum/quorumtest"
)

// Neither 1 nor 0 would be true. Where the key could be reached it is gone, and
// from the others it goes when they are back, long before its time is over.
func TestReleaseWithoutAQuorumIsFinishedLater(t *testing.T) {
	for _, mode := range []quorumtest.Mode{quorumtest.Down, quorumtest.Silent, quorumtest.Broken, quorumtest.Stalled} {
		virtual(t, func(t *testing.T, r *rig) {
			r.acquire("L", "a", 20*time.Second)
			r.rest()
			r.set(mode, 1, 2, 3)
			_, err := release(r.Group, "L", "a")
			expectUnavailable(t, "release", err)
			r.rest()
			r.expect("L", "a", "a", "a", "", "")
			time.Sleep(2 * time.Second)
			r.heal()
			r.acquire("L", "b", 30*time.Second)
			r.rest()
			r.expectAll("L", "b")
		})
	}
}

// The minority's leftover of another attempt with the same client value is not what
// the failed backend holds.
func TestReleaseOwesEveryStoredValueThatItRemoved(t *testing.T) {
	virtual(t, func(t *testing.T, r *rig) {
		r.plant("L", "1~rl:BBBBBBBBBBBBBBBB", 0, 1)
		r.plant("L", "1"+tag, 0, 2, 3, 4, 5)
		r.set(quorumtest.Down, 5)
		reply, err := release(r.Group, "L", "1")
		expectReply(t, "release", reply, err, 1)
		r.rest()
		r.expect("L", "", "", "", "", "1")
		r.heal()
		r.expectAll("L", "")
	})
}

// A backend that thaws later runs what it was sent; what the release removes there is
// not spread to the others any more: it may be somebody else's by then.
func TestThawedBackendDoesNotSayWhatElseIsToBeRemoved(t *testing.T) {
	virtual(t, func(t *testing.T, r *rig) {
		r.set(quorumtest.Frozen, 1)
		r.set(quorumtest.Down, 2, 3, 4, 5)
		_, err := release(r.Group, "L", "1")
		expectUnavailable(t, "release", err)
		time.Sleep(time.Second)
		r.plant("L", quorum.Stored("1"+tag), 0, 1, 2, 3, 4, 5) // the next owner's
		r.heal()
		r.expect("L", "", "1", "1", "1", "1")
	})
}

// debtor notes what is owed to a backend.
type debtor struct {
	*quorumtest.Fake
	mu   sync.Mutex
	owed []quorum.Debt
}

func (d *debtor) Owe(debt quorum.Debt) {
	d.mu.Lock()
	d.owed = append(d.owed, debt)
	d.mu.Unlock()
	d.Fake.Owe(debt)
}

// The debts that a backend may have are bounded, so none of them is owed twice.
func TestCreationWithoutAQuorumIsOwedOnce(t *testing.T) {
	virtual(t, func(t *testing.T, r *rig) {
		var debtors []*debtor
		var backends []quorum.Backend
		for _, f := range r.fakes {
			debtors = append(debtors, &debtor{Fake: f})
			backends = append(backends, debtors[len(debtors)-1])
		}
		g := newGroup(t, 1, backends)
		r.set(quorumtest.LostReply, 3, 4, 5)
		_, err := g.Transact(context.Background(), quorum.Assumption{Kind: quorum.AssumeAbsent}, func(v *quorum.View) error {
			if _, err := v.Exists("L"); err != nil {
				return err
			}
			v.Put("L", "a", time.Minute)
			v.Put("M", "a", time.Minute) // not looked at before
			return nil
		})
		expectUnavailable(t, "two keys", err)
		r.heal()
		r.expectAll("L", "")
		for i, d := range debtors {
			seen := make(map[quorum.Key]int)
			for _, o := range d.owed {
				seen[o.Key]++
			}
			if seen["L"] != 1 || i < 2 && seen["M"] != 1 {
				t.Errorf("backend %d: owed %v", i+1, seen)
			}
		}
	})
}
