package admission

import (
	"context"
	"fmt"
	"hash/maphash"
	"sync"
	"time"

	"redlockproxy/quorum"
)

// Config is what a keeper needs to know. All durations are > 0.
type Config struct {
	Group string        // the group's name
	Quiet time.Duration // how long this proxy counts the votes of one operation, at most
	Long  time.Duration // the longest that a lock may last at a backend

	// Auto lets the keeper found a group whose backends have no marker at all.
	// Without it only Declare does, because a group that has lost all its memory at
	// once looks just like a new one.
	Auto bool

	// Steady is how long a clock that has jumped must be right before its backend is
	// refilled.
	Steady time.Duration

	// Report hears of every change, from one goroutine at a time, and must not call the
	// keeper. It may be nil.
	Report func(Event)
}

// Event is something that has changed.
type Event struct {
	Backend int // its index, or -1 for the whole group
	Kind    EventKind
	Text    string // what happened and what it means
	Filled  int    // Admitted: how many keys were written
	Err     error  // Failed: why
}

// EventKind is the sort of an event.
type EventKind int

// The sorts.
const (
	Refilling      EventKind = iota // a refill begins
	Readmitted                      // a refilled backend votes again
	Failed                          // a try did not work; there will be others
	Founded                         // a new group's backends vote
	Waiting                         // too few voters to go on: what is waited for
	ClockJumped                     // a backend's clock jumped; its vote was taken
	KeysDropped                     // a backend has evicted keys; its vote was taken
	WasReplica                      // a backend has been a replica; its vote was taken
	OwnClockJumped                  // most clocks jumped at once, and none denies it: it was ours
)

const (
	// tick is how often the keeper looks. A look asks nobody anything.
	tick = 25 * time.Millisecond
	// founding is how long a proxy that founds a group is given to let the last founder
	// vote, before it is refilled like a learner.
	founding = 2 * time.Second
	// patience is how long nothing can be decided before that is reported: at a start it
	// is usual for a moment.
	patience = time.Second
	// retryMin and retryMax bound the pause after a try that did not work.
	retryMin, retryMax = 100 * time.Millisecond, 2 * time.Second
	// repeat is how often it is said that the tries go on to fail for the same reason.
	repeat = time.Minute
)

// A Keeper admits the backends of one group, for one proxy. Any number of proxies may
// do so at the same time.
type Keeper struct {
	cfg     Config
	members []Member
	seed    maphash.Seed

	jobs      sync.WaitGroup
	reporting sync.Mutex

	mu     sync.Mutex
	states []state
	reason string    // why nothing can be decided; "" if it can
	since  time.Time // when that was found first
	told   string    // the reason that was reported last
	seen   bool      // a voter of this group, at any time
	found  bool      // a founding is under way
	failed failures  // of foundings
}

// failures are tries that did not work, one after the other.
type failures struct {
	backoff time.Duration // the pause after the last; 0 for none
	told    string        // the reason that was reported last
	at      time.Time
}

// add counts one more, and tells whether it is to be reported.
func (f *failures) add(err error, now time.Time) (news bool) {
	f.backoff = min(max(retryMin, 2*f.backoff), retryMax)
	if err.Error() == f.told && now.Sub(f.at) < repeat {
		return false
	}
	f.told, f.at = err.Error(), now
	return true
}

// state is what the keeper remembers of one backend.
type state struct {
	runID    string
	token    string    // of the marker that it was seen with last; "" if that was not right
	since    time.Time // since when it has had no vote for sure, as runID
	busy     bool      // a job is under way
	notTill  time.Time // the next try
	failed   failures
	jumped   time.Time     // when its clock was seen to have jumped; zero if that is dealt with
	steady   time.Duration // how long a clock that has jumped must be right
	trial    time.Time     // until when it must be
	lastJump time.Time
}

// NewKeeper makes a keeper of a group's backends. It does nothing until Run.
func NewKeeper(members []Member, cfg Config) *Keeper {
	return &Keeper{cfg: cfg, members: members, seed: maphash.MakeSeed(), states: make([]state, len(members))}
}

// Rule is how the backend with that index is judged.
func (c Config) Rule(index, n int) Rule {
	return Rule{Identity: Identity{Group: c.Group, N: n, Place: index + 1}, Quiet: c.Quiet}
}

// Reason says why the group can't decide anything for now, if it is a matter of
// admission; "" if it is not.
func (k *Keeper) Reason() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.reason
}

// Run admits backends until ctx ends, and waits for what it has begun.
func (k *Keeper) Run(ctx context.Context) {
	defer k.jobs.Wait()
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		k.step(ctx)
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// step looks at all backends and begins what is to be done.
func (k *Keeper) step(ctx context.Context) {
	looks := make([]Look, len(k.members))
	voters, lockers, connected := 0, 0, 0
	for i, m := range k.members {
		looks[i] = m.Look()
		if looks[i].Counts() {
			voters++
		}
		if looks[i].Votes() {
			lockers++
		}
		if looks[i].Connected && looks[i].Standing != Foreign {
			connected++
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.remember(looks)
	k.clocks(ctx, looks)
	k.drops(ctx, looks)
	needed := enough(len(looks))
	reason := ""
	for i, look := range looks {
		if !look.Connected || look.lost() || k.states[i].busy || !k.states[i].jumped.IsZero() {
			continue
		}
		switch look.Standing {
		case Brief:
			k.begin(ctx, i, func(ctx context.Context) (time.Duration, error) { return 0, k.lengthen(ctx, i) })
		case Unmarked, Founding, Learning:
			switch {
			case k.found:
				// It is about to vote, whatever was seen of it before.
			case voters >= needed:
				k.refill(ctx, i, fromVoters, false)
			case voters == 0 && connected == len(looks) && !k.seen && allNew(looks):
				if reason = "the group is new: run \"redlock-proxy init\" to declare it so"; k.cfg.Auto {
					reason = "the group is new and being founded"
					k.foundOnce(ctx)
				}
			case voters == 0 && !k.seen && allNew(looks):
				reason = fmt.Sprintf("the group looks new, and %d of its %d backends can be reached: "+
					"it is founded when all can, since the others may know better", connected, len(looks))
			case lockers >= needed:
				k.refill(ctx, i, fromLockers, false)
			default:
				reason = k.tooFew(ctx, i, voters, connected)
			}
		case Locking:
			switch {
			case voters >= needed:
				k.refill(ctx, i, fromVoters, true)
			case connected == len(looks):
				k.refill(ctx, i, fromAll, true)
			default:
				reason = k.numbersWait(voters, connected)
			}
		}
	}
	if voters >= quorum.Majority(len(looks)) {
		reason = ""
	}
	if (reason == "") != (k.reason == "") {
		k.since = time.Now()
	}
	if k.reason = reason; reason == "" {
		k.told = ""
	} else if reason != k.told && time.Since(k.since) > patience {
		k.told = reason
		k.report(Event{Backend: -1, Kind: Waiting, Text: reason})
	}
}

// remember notes since when each backend has been without a vote. It may have been let
// vote, and have forgotten that, whenever nobody looked: between two looks as well as
// while it could not be reached. Only that the same token is there says that it was not.
func (k *Keeper) remember(looks []Look) {
	for i, look := range looks {
		s := &k.states[i]
		votes := look.Standing == Admitted || look.Standing == Locking || look.Standing == Brief
		k.seen = k.seen || votes
		if look.Counts() {
			s.failed = failures{} // perhaps another proxy's work
		}
		if !look.Connected {
			continue
		}
		token := ""
		if look.Standing == Learning || look.Standing == Founding {
			token = look.Marker.Token
		}
		if look.RunID != s.runID || votes || token == "" || token != s.token {
			s.runID, s.token, s.since = look.RunID, token, time.Now()
		}
	}
}

// allNew tells whether no backend has ever had a marker, for all that can be seen.
func allNew(looks []Look) bool {
	for _, l := range looks {
		if l.Connected && l.Standing != Founding && (l.Standing != Unmarked || l.Marker != Marker{}) {
			return false
		}
	}
	return true
}

// tooFew is about a backend that can't be refilled because too many others have lost
// their votes too: a majority may have forgotten. Locks are over when the longest that
// there can be is, and then the backend votes about locks. Numbers are known only if
// every backend can be asked for the highest that it has kept.
func (k *Keeper) tooFew(ctx context.Context, i, voters, connected int) string {
	if k.states[i].token == "" {
		k.begin(ctx, i, func(ctx context.Context) (time.Duration, error) { return 0, k.mark(ctx, i) })
		return fmt.Sprintf("%d of %d backends have kept their memory, too few to refill the others from: "+
			"locks of before are waited out from when those are marked as learners", voters, len(k.members))
	}
	if end := k.states[i].since.Add(k.cfg.Long); time.Now().Before(end) {
		return fmt.Sprintf("%d of %d backends have kept their memory, too few to refill the others from: "+
			"locks of before are waited out, at most until %s; if none matters, \"redlock-proxy init\" ends the wait",
			voters, len(k.members), end.UTC().Format("2006-01-02 15:04:05 MST"))
	}
	if connected == len(k.members) {
		k.refill(ctx, i, fromAll, false)
		return "backends that have forgotten are being refilled from all others"
	}
	k.refill(ctx, i, fromNobody, false)
	return k.numbersWait(voters, connected)
}

// mark makes a backend a learner whose wait begins.
func (k *Keeper) mark(ctx context.Context, i int) error {
	r := &refill{rule: k.cfg.Rule(i, len(k.members)), index: i, members: k.members, sparesFounder: true}
	err := r.begin(ctx, k.members[i])
	if err == errMoved {
		return nil // somebody else has marked it
	}
	k.members[i].Probe()
	return err
}

// numbersWait says what votes about numbers wait for.
func (k *Keeper) numbersWait(voters, connected int) string {
	return fmt.Sprintf("%d of %d backends have kept their memory, and %d can be reached: "+
		"the highest numbers are known again when all can", voters, len(k.members), connected)
}

// refill begins to refill a backend, or to tell it of the numbers alone.
func (k *Keeper) refill(ctx context.Context, i int, from origin, numbers bool) {
	young := time.Since(k.states[i].since) < founding
	again := k.states[i].failed.backoff > 0
	waited := ""
	if from == fromNobody || from == fromAll {
		waited = k.states[i].token
	}
	k.begin(ctx, i, func(ctx context.Context) (time.Duration, error) {
		r := &refill{
			rule: k.cfg.Rule(i, len(k.members)), index: i, members: k.members, from: from, numbers: numbers, seed: k.seed,
			sparesFounder: young, waited: waited,
		}
		if !numbers && !again {
			k.report(Event{Backend: i, Kind: Refilling, Text: "it may have forgotten: no vote until it is refilled from the others"})
		}
		if err := r.run(ctx); err != nil {
			if text, votes := votesNow(ctx, r); votes {
				// Another proxy was quicker. The blocks that are this one's are its to end.
				r.admitted = text
				k.jobs.Go(func() { r.lookAgain(ctx) })
				return 0, nil
			}
			return 0, err
		}
		k.members[i].Probe()
		text := "it is refilled and votes again"
		if from.role() == Locker {
			text = "it votes again about locks, and about numbers when all backends can be asked for the highest"
		}
		k.report(Event{Backend: i, Kind: Readmitted, Text: text, Filled: r.filled})
		k.jobs.Go(func() { r.lookAgain(ctx) })
		return 0, nil
	})
}

// free tells whether a job about a backend may begin.
func (s *state) free(now time.Time) bool { return !s.busy && !now.Before(s.notTill) }

// begin starts a job about one backend, unless one is under way or has just failed. A
// job that works says how long the next must wait. The caller holds mu.
func (k *Keeper) begin(ctx context.Context, i int, job func(context.Context) (time.Duration, error)) {
	s := &k.states[i]
	if !s.free(time.Now()) {
		return
	}
	s.busy = true
	k.jobs.Go(func() {
		pause, err := job(ctx)
		k.mu.Lock()
		defer k.mu.Unlock()
		s.busy = false
		if err == nil {
			// At least until the lane has seen what was done.
			s.failed, s.notTill = failures{}, time.Now().Add(max(pause, retryMin))
			return
		}
		news := s.failed.add(err, time.Now())
		s.notTill = time.Now().Add(s.failed.backoff)
		if news && ctx.Err() == nil {
			k.report(Event{Backend: i, Kind: Failed, Text: "it is not admitted yet", Err: err})
		}
	})
}

// drops deals with backends that have evicted keys, or were replicas: each may have
// forgotten locks, and its marker knows nothing of it. The caller holds mu.
func (k *Keeper) drops(ctx context.Context, looks []Look) {
	for i, look := range looks {
		if !look.Connected || !look.lost() {
			continue
		}
		event := Event{Backend: i, Kind: KeysDropped, Text: "it has evicted keys, locks perhaps among them: no vote until it is refilled; set maxmemory-policy noeviction"}
		if look.Followed {
			event.Kind, event.Text = WasReplica, "it was a replica, and may hold what another server held: no vote until it is refilled"
		}
		k.begin(ctx, i, func(ctx context.Context) (time.Duration, error) {
			if err := k.makeLearner(ctx, i); err != nil {
				return 0, err
			}
			k.report(event)
			return 0, nil
		})
	}
}

// makeLearner takes a backend's vote for every proxy, and what it shows from now on as
// right. A refill of it that is under way fails by the new token.
func (k *Keeper) makeLearner(ctx context.Context, i int) error {
	m := k.members[i]
	text, err := marker(ctx, m)
	if err != nil {
		return err
	}
	rule := k.cfg.Rule(i, len(k.members))
	if mark, standing := rule.Judge(text, m.Look().RunID); standing == Admitted || standing == Locking || standing == Brief || standing == Learning {
		mark.Role, mark.Token = Learner, newToken()
		if _, err := swap(ctx, m, text, mark.String()); err != nil {
			return err
		}
	}
	m.Reset()
	m.Probe()
	return nil
}

// lengthen makes a voter's marker allow for the time that this proxy's rounds take.
func (k *Keeper) lengthen(ctx context.Context, i int) error {
	text, err := marker(ctx, k.members[i])
	if err != nil {
		return err
	}
	rule := k.cfg.Rule(i, len(k.members))
	m, standing := rule.Judge(text, k.members[i].Look().RunID)
	if standing != Brief {
		return nil
	}
	m.Quiet = rule.Quiet // the token stays: nothing was forgotten
	if _, err = swap(ctx, k.members[i], text, m.String()); err == nil {
		k.members[i].Probe()
	}
	return err
}

func (k *Keeper) report(e Event) {
	if k.cfg.Report == nil {
		return
	}
	k.reporting.Lock()
	defer k.reporting.Unlock()
	k.cfg.Report(e)
}
