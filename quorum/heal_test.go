package quorum_test

import (
	"testing"
	"time"

	"redlockproxy/quorum"
	"redlockproxy/quorum/quorumtest"
)

// I14: an extension that a majority confirms puts the lock where it is missing, as the
// very attempt that it is, so that its release removes it everywhere.
func TestExtensionPutsTheLockWhereItIsMissing(t *testing.T) {
	for _, late := range []bool{false, true} {
		virtual(t, func(t *testing.T, r *rig) {
			lock := r.acquire("L", "a", 3*time.Second)
			r.rest()
			for _, f := range r.fakes[:2] {
				f.Remove("L")
				if late {
					f.SetDelay(oneWay, 20*oneWay) // its answer is a straggler's
				}
			}
			reply, err := extend(r.Group, "L", "a", 5*time.Second)
			expectReply(t, "extension", reply, err, 1)
			time.Sleep(30 * oneWay)
			r.rest()
			r.expectAll("L", "a")
			for i, f := range r.fakes {
				held, _ := f.Peek("L")
				if held.Stored != lock.Stored {
					t.Errorf("backend %d holds %q, not the attempt's own %q", i, held.Stored, lock.Stored)
				}
				if held.TTL < 4900*ms || held.TTL > 5060*ms {
					t.Errorf("backend %d keeps it for %v", i, held.TTL)
				}
			}
			reply, err = release(r.Group, "L", "a")
			expectReply(t, "release", reply, err, 1)
			r.rest()
			r.expectAll("L", "")
		})
	}
}

// I14: a lock that a majority does not have comes back nowhere, nor does one whose
// release was sent before a late answer said that it is missing.
func TestHealingBringsNothingBackThatIsLost(t *testing.T) {
	virtual(t, func(t *testing.T, r *rig) {
		r.acquire("L", "a", 3*time.Second)
		r.rest()
		for _, f := range r.fakes[:3] {
			f.Remove("L")
		}
		reply, err := extend(r.Group, "L", "a", 5*time.Second)
		expectReply(t, "extension of a lock that a majority lost", reply, err, 0)
		r.rest()
		r.expect("L", "", "", "", "a", "a")
	})
	virtual(t, func(t *testing.T, r *rig) {
		r.acquire("L", "a", 3*time.Second)
		r.rest()
		r.fakes[0].Remove("L")
		r.set(quorumtest.Frozen, 1)
		reply, err := extend(r.Group, "L", "a", 5*time.Second)
		expectReply(t, "extension", reply, err, 1)
		reply, err = release(r.Group, "L", "a")
		expectReply(t, "release", reply, err, 1)
		r.heal()
		r.expectAll("L", "")
	})
}

// I14: equal values of several attempts let an extension through, but which of them
// is its holder's nobody can tell.
func TestExtensionOfWhatNoMajorityAgreesOnHealsNothing(t *testing.T) {
	virtual(t, func(t *testing.T, r *rig) {
		for i, id := range []string{"AAAA", "BBBB", "CCCC"} {
			r.plant("L", quorum.Stored("a~rl:AAAAAAAAAAAA"+id), 3*time.Second, i+1)
		}
		reply, err := extend(r.Group, "L", "a", 5*time.Second)
		expectReply(t, "extension", reply, err, 1)
		r.rest()
		r.expect("L", "a", "a", "a", "", "")
	})
}
