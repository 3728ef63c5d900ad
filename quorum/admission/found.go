package admission

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"time"
)

// foundOnce begins to found the group, unless that is under way. The caller holds mu.
func (k *Keeper) foundOnce(ctx context.Context) {
	if k.found || time.Now().Before(k.states[0].notTill) {
		return
	}
	k.found = true
	k.jobs.Go(func() {
		err := k.foundGroup(ctx)
		k.mu.Lock()
		defer k.mu.Unlock()
		k.found = false
		news := err != nil && k.failed.add(err, time.Now())
		k.states[0].notTill = time.Now().Add(max(retryMin, k.failed.backoff))
		switch {
		case err == nil:
			k.failed = failures{}
			k.report(Event{Backend: -1, Kind: Founded, Text: "no backend had a marker: the group is new, and all vote"})
		case news && ctx.Err() == nil:
			k.report(Event{Backend: -1, Kind: Failed, Text: "the group is not founded yet", Err: err})
		}
	})
}

// errKnown says that a group that looked new is not.
var errKnown = errors.New("a backend has a marker already")

// foundGroup marks all backends, if none is marked: first as founders, and only when
// all are, as voters. A proxy that comes too late with what it saw finds other tokens
// and changes nothing.
func (k *Keeper) foundGroup(ctx context.Context) error {
	founders := make([]Marker, len(k.members))
	for i, m := range k.members {
		var err error
		if founders[i], err = k.claim(ctx, i, m); err != nil {
			return err
		}
	}
	for i, m := range k.members {
		if text, err := marker(ctx, m); err != nil {
			return err
		} else if text != founders[i].String() {
			return errMoved
		}
	}
	// From here on votes may count somewhere, and what is left is left to this
	// proxy: nobody else can tell a founder that never voted from one that forgot.
	return k.finish(ctx, founders)
}

// claim makes a backend without a marker a founder.
func (k *Keeper) claim(ctx context.Context, i int, m Member) (Marker, error) {
	look := m.Look()
	rule := k.cfg.Rule(i, len(k.members))
	text, err := marker(ctx, m)
	if err != nil {
		return Marker{}, err
	}
	found, standing := rule.Judge(text, look.RunID)
	switch {
	case standing == Founding:
		return found, nil
	case text != "":
		return Marker{}, errKnown
	}
	founder := Marker{Identity: rule.Identity, Role: Founder, RunID: look.RunID, Token: newToken(), Quiet: rule.Quiet}
	ok, err := swap(ctx, m, "", founder.String())
	if err == nil && !ok {
		err = errMoved
	}
	return founder, err
}

// finishing bounds how long a proxy goes on trying to make the last founders voters.
const finishing = time.Minute

// finish makes every founder a voter that is still one.
func (k *Keeper) finish(ctx context.Context, founders []Marker) error {
	end := time.Now().Add(finishing)
	for left := founders; ; {
		var failed []Marker
		var last error
		for _, f := range left {
			voter := f
			voter.Role, voter.Token = Voter, newToken()
			m := k.members[f.Place-1]
			if _, err := swap(ctx, m, f.String(), voter.String()); err != nil {
				failed, last = append(failed, f), err
				continue
			}
			m.Probe()
		}
		if left = failed; len(left) == 0 {
			return nil
		}
		if time.Now().After(end) {
			return last
		}
		if err := sleep(ctx, retryMin); err != nil {
			return err
		}
	}
}

// Declare makes all backends of a group voters because a person says that no lock of
// before matters: for a new group, and for one of which too many have forgotten. Numbers
// are raised to the highest that any backend has kept. It changes nothing where the
// backends that vote are enough to refill the others, and returns which it admitted.
func Declare(ctx context.Context, members []Member, cfg Config) (admitted []int, err error) {
	var left []int
	voters := 0
	for i, m := range members {
		look := m.Look()
		switch {
		case !look.Connected:
			return nil, fmt.Errorf("backend %d of %d can't be used: all are needed, to learn the highest numbers", i+1, len(members))
		case look.Standing == Foreign:
			return nil, fmt.Errorf("backend %d of %d belongs to another group", i+1, len(members))
		case look.Standing == Admitted || look.Standing == Brief && look.Marker.Role == Voter:
			voters++
		default:
			left = append(left, i)
		}
	}
	if len(left) == 0 || voters >= enough(len(members)) {
		return nil, nil
	}
	seed := maphash.MakeSeed()
	for _, i := range left {
		r := &refill{rule: cfg.Rule(i, len(members)), index: i, members: members, from: fromAll, numbers: members[i].Look().Standing == Locking, seed: seed}
		for try := 0; ; try++ {
			if err = r.run(ctx); err == nil || votes(ctx, r) {
				err = nil // perhaps because a proxy was quicker
				break
			}
			if try == tries || sleep(ctx, retryMin) != nil {
				return admitted, fmt.Errorf("backend %d of %d: %w", i+1, len(members), err)
			}
		}
		admitted = append(admitted, i)
	}
	return admitted, nil
}

func votes(ctx context.Context, r *refill) bool {
	_, ok := votesNow(ctx, r)
	return ok
}

// votesNow tells whether the backend that was to be refilled votes, and gives its marker.
func votesNow(ctx context.Context, r *refill) (text string, ok bool) {
	m := r.members[r.index]
	text, err := marker(ctx, m)
	if err != nil {
		return "", false
	}
	_, standing := r.rule.Judge(text, m.Look().RunID)
	return text, standing == Admitted || standing == Locking && !r.numbers
}
