package quorum

import (
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// Config says how a group decides. All durations are > 0 unless said otherwise.
type Config struct {
	// VoteLimit is how long a round waits for a backend's vote.
	VoteLimit time.Duration

	// AnswerWithin bounds a whole operation with all its rounds and retries. It
	// is less than the shortest default time limit of a client in use, 250 ms.
	AnswerWithin time.Duration

	// Attempts is how often, at most, an acquisition whose votes were split among
	// several clients is tried, ≥ 1; RetryDelay plus a random part of RetryJitter
	// (which may be 0) passes between two.
	Attempts                int
	RetryDelay, RetryJitter time.Duration

	// PadTTL stores ttls longer by the drift, so that a client may count its whole
	// ttl. Without it, validity is shorter than the ttl, as in plain Redlock.
	PadTTL bool

	// MaxTTL is the longest time to live of a lock; a debt without a better date
	// is kept this long.
	MaxTTL time.Duration

	// Random supplies the tags, to any goroutine; crypto/rand.Reader outside of tests.
	Random io.Reader
}

// stripes is the number of locks that keep the order of calls per key. Two keys
// that share one only wait for each other's enqueueing, which takes no I/O.
const stripes = 256

// A stripe keeps the order of the calls for its keys, and counts them.
type stripe struct {
	mu    sync.Mutex
	calls uint64
}

// A Group is the fixed set of N backends that decide together. It keeps nothing
// that safety depends on (I9). Its methods may be called from any goroutine.
type Group struct {
	cfg      Config
	backends []Backend
	seed     maphash.Seed
	order    [stripes]stripe
	turns    turns
	timers   timers
}

// NewGroup makes a group of 1, 3, 5 or 7 backends.
func NewGroup(backends []Backend, cfg Config) (*Group, error) {
	if n := len(backends); n%2 == 0 || n > MaxBackends {
		return nil, fmt.Errorf("a group has 1, 3, 5 or 7 backends, not %d", n)
	}
	if cfg.VoteLimit <= 0 || cfg.AnswerWithin <= 0 || cfg.MaxTTL <= 0 || cfg.Attempts < 1 || cfg.Random == nil {
		return nil, errors.New("a group needs VoteLimit, AnswerWithin, MaxTTL, Attempts and Random")
	}
	g := &Group{cfg: cfg, backends: slices.Clone(backends), seed: maphash.MakeSeed()}
	g.turns.init()
	return g, nil
}

// N is the number of backends, Q the number that decides.
func (g *Group) N() int { return len(g.backends) }

// Q is the quorum.
func (g *Group) Q() int { return Majority(len(g.backends)) }

// UnavailableError says that too few backends could be counted for a decision
// either way. What was asked for may have been done in part.
type UnavailableError struct {
	Tally
	split bool // backends that do answer disagree
}

func (e *UnavailableError) Error() string {
	return fmt.Sprintf("%d granted, %d refused, %d failed of %d backends; %d needed",
		e.Granted, e.Refused, e.Failed, e.N, Majority(e.N))
}

func unavailable(t Tally) error { return &UnavailableError{Tally: t} }

// send hands the call to every backend that is not skipped, under the locks of
// its keys, so that calls for one key enter all backends in one order (I6).
func (g *Group) send(call *Call, skip func(backend int) bool, keys ...Key) {
	unlock := g.lockOrder(keys)
	if r, ok := call.Round.(*round); ok && len(keys) > 0 {
		r.calls = g.order[g.stripe(keys[0])].calls
	}
	for i, b := range g.backends {
		if skip == nil || !skip(i) {
			b.Send(call)
		}
	}
	unlock()
}

// run sends one operation to all backends and waits for the end of its round.
func (g *Group) run(ctx limited, op Op, over func(*round) bool, keys ...Key) *round {
	r := g.newRound(ctx, op, over)
	began := time.Now()
	g.send(&Call{Op: op, Deadline: began.Add(g.cfg.VoteLimit), Round: r}, nil, keys...)
	r.wait(began, g.cfg.VoteLimit)
	return r
}

// lockOrder takes the order locks of the keys, lowest first, and returns what
// gives them back.
func (g *Group) lockOrder(keys []Key) func() {
	if len(keys) == 1 {
		s := &g.order[g.stripe(keys[0])]
		s.mu.Lock()
		s.calls++
		return s.mu.Unlock
	}
	held := g.stripesOf(keys)
	for _, s := range held {
		g.order[s].mu.Lock()
		g.order[s].calls++
	}
	return func() {
		for _, s := range held {
			g.order[s].mu.Unlock()
		}
	}
}

// stripesOf are the stripes of the keys, each once, lowest first.
func (g *Group) stripesOf(keys []Key) []int {
	some := make([]int, 0, len(keys))
	for _, k := range keys {
		some = append(some, g.stripe(k))
	}
	slices.Sort(some)
	return slices.Compact(some)
}

func (g *Group) stripe(k Key) int {
	return int(maphash.String(g.seed, string(k)) % stripes)
}

// pause waits the random delay between two tries; false if ctx ended first.
func (g *Group) pause(ctx limited) bool {
	d := g.cfg.RetryDelay
	if g.cfg.RetryJitter > 0 {
		d += rand.N(g.cfg.RetryJitter)
	}
	if time.Until(ctx.end) <= d {
		return false
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// undo takes back what an attempt may have written on one backend (I5). Never
// where the backend refused, and not where the call never got to.
func (g *Group) undo(backend int, answer Answer, lock Lock) {
	if answer.Vote == Granted || answer.Vote == Failed && !answer.Unsent {
		g.backends[backend].Owe(Debt{Key: lock.Key, Stored: lock.Stored, Until: g.debtEnd(lock.TTL)})
	}
}

// debtEnd is the time by which something stored now for ttl is gone by itself.
func (g *Group) debtEnd(ttl time.Duration) time.Time {
	if ttl <= 0 {
		ttl = g.cfg.MaxTTL
	}
	return time.Now().Add(StoredTTL(ttl, true))
}
