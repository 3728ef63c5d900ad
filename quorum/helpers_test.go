package quorum_test

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"redlockproxy/quorum"
	"redlockproxy/quorum/quorumtest"
)

const ms = time.Millisecond

// tag is a tag of nobody's attempt, for values that a test plants.
const tag = "~rl:AAAAAAAAAAAAAAAA"

// settings are those of a group in use, with tags that repeat.
func settings(seed uint64) quorum.Config {
	return quorum.Config{
		VoteLimit:    100 * ms,
		AnswerWithin: 200 * ms,
		Attempts:     3,
		RetryDelay:   50 * ms,
		RetryJitter:  50 * ms,
		PadTTL:       true,
		MaxTTL:       time.Minute,
		Random:       newRandom(seed),
	}
}

// random is a source of bytes that repeats and that goroutines may share.
type random struct {
	mu  sync.Mutex
	src *rand.ChaCha8
}

func newRandom(seed uint64) io.Reader {
	return &random{src: rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8), byte(seed >> 16), byte(seed >> 24)})}
}

func (r *random) Read(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.src.Read(p)
}

// oneWay is how long a request, and how long a reply, takes in most tests.
const oneWay = ms

// rig is a group over fakes.
type rig struct {
	*quorum.Group
	t     testing.TB
	fakes []*quorumtest.Fake
	links []*quorumtest.Link
}

// newRig starts n fakes, each oneWay away, and a group over them. Close ends it.
func newRig(t testing.TB, n int, change ...func(*quorum.Config)) *rig {
	t.Helper()
	r := &rig{t: t}
	for i := range n {
		r.fakes = append(r.fakes, quorumtest.New(i, quorumtest.Options{RequestDelay: oneWay, ReplyDelay: oneWay}))
	}
	r.Group = r.group(1, change...)
	return r
}

// group makes one more group over the fakes, as another process would.
func (r *rig) group(seed uint64, change ...func(*quorum.Config)) *quorum.Group {
	r.t.Helper()
	backends := make([]quorum.Backend, len(r.fakes))
	for i, f := range r.fakes {
		backends[i] = f
	}
	return newGroup(r.t, seed, backends, change...)
}

func newGroup(t testing.TB, seed uint64, backends []quorum.Backend, change ...func(*quorum.Config)) *quorum.Group {
	t.Helper()
	cfg := settings(seed)
	for _, c := range change {
		c(&cfg)
	}
	g, err := quorum.NewGroup(backends, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func (r *rig) Close() {
	for _, l := range r.links {
		l.Close()
	}
	for _, f := range r.fakes {
		f.Close()
	}
}

// virtual runs a test over five fakes in virtual time.
func virtual(t *testing.T, test func(t *testing.T, r *rig)) {
	t.Helper()
	virtualOf(t, 5, test)
}

// virtualOf runs a test over n fakes in virtual time.
func virtualOf(t *testing.T, n int, test func(t *testing.T, r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, n)
		defer r.Close()
		test(t, r)
	})
}

// set puts the fakes, numbered from 1, into a mode.
func (r *rig) set(mode quorumtest.Mode, numbers ...int) {
	for _, n := range numbers {
		r.fakes[n-1].SetMode(mode)
	}
}

// heal makes all fakes serve, and waits until what was on its way has arrived.
func (r *rig) heal() {
	for _, f := range r.fakes {
		f.Release()
	}
	r.rest()
}

// rest waits until nothing is on its way any more.
func (r *rig) rest() {
	time.Sleep(20 * oneWay)
	synctest.Wait()
}

// plant stores a value on the fakes with these numbers, behind the group's back.
func (r *rig) plant(key quorum.Key, stored quorum.Stored, ttl time.Duration, numbers ...int) {
	for _, n := range numbers {
		r.fakes[n-1].Plant(key, stored, ttl)
	}
}

// values is what each fake holds under a key; "" for nothing, "(type)" for others.
func (r *rig) values(key quorum.Key) []string {
	all := make([]string, len(r.fakes))
	for i, f := range r.fakes {
		switch h, _ := f.Peek(key); h.Kind {
		case quorum.String:
			all[i] = h.Stored.Value()
		case quorum.Other:
			all[i] = "(" + h.Type + ")"
		}
	}
	return all
}

// expect compares what each fake holds, in order.
func (r *rig) expect(key quorum.Key, want ...string) {
	r.t.Helper()
	if got := r.values(key); !slices.Equal(got, want) {
		r.t.Errorf("%s is held as %q, want %q", key, got, want)
	}
}

// expectAll is expect with the same value everywhere.
func (r *rig) expectAll(key quorum.Key, want string) {
	r.t.Helper()
	r.expect(key, slices.Repeat([]string{want}, len(r.fakes))...)
}

// acquire takes a lock that must be had.
func (r *rig) acquire(key quorum.Key, value string, ttl time.Duration) quorum.Lock {
	r.t.Helper()
	a, err := r.Acquire(context.Background(), key, value, ttl)
	if err != nil || !a.Won {
		r.t.Fatalf("%s = %s: won %v, error %v; want it", key, value, a.Won, err)
	}
	return a.Lock
}

// refused tries for a lock that somebody else must be said to have.
func (r *rig) refused(key quorum.Key, value string, ttl time.Duration) quorum.Acquisition {
	r.t.Helper()
	a, err := r.Acquire(context.Background(), key, value, ttl)
	if err != nil || a.Won {
		r.t.Errorf("%s = %s: won %v, error %v; want a refusal", key, value, a.Won, err)
	}
	return a
}

// release runs the usual compare-and-delete: 1 if the key held the value.
func release(g *quorum.Group, key quorum.Key, value string) (int, error) {
	reply := 0
	_, err := g.Transact(context.Background(), guess(value), func(v *quorum.View) error {
		reply = 0
		held, kind, err := v.Get(key)
		if err == nil && kind == quorum.String && held == value {
			v.Delete(key)
			reply = 1
		}
		return err
	})
	return reply, err
}

// extend runs the usual compare-and-expire.
func extend(g *quorum.Group, key quorum.Key, value string, ttl time.Duration) (int, error) {
	reply := 0
	_, err := g.Transact(context.Background(), guess(value), func(v *quorum.View) error {
		reply = 0
		held, kind, err := v.Get(key)
		if err == nil && kind == quorum.String && held == value {
			v.Expire(key, ttl)
			reply = 1
		}
		return err
	})
	return reply, err
}

func guess(value string) quorum.Assumption {
	return quorum.Assumption{Kind: quorum.AssumeValue, Value: value}
}

// expectReply checks the reply of a script that did not fail.
func expectReply(t testing.TB, what string, got int, err error, want int) {
	t.Helper()
	if err != nil || got != want {
		t.Errorf("%s: %d, error %v; want %d", what, got, err, want)
	}
}

// expectUnavailable checks that an outage is called one.
func expectUnavailable(t testing.TB, what string, err error) {
	t.Helper()
	if unavailable := new(quorum.UnavailableError); !errors.As(err, &unavailable) {
		t.Errorf("%s: error %v, want an UnavailableError", what, err)
	}
}

// get reads one key.
func get(g *quorum.Group, key quorum.Key, full bool) (quorum.Holding, error) {
	held, err := g.Read(context.Background(), []quorum.Key{key}, full)
	if err != nil {
		return quorum.Holding{}, err
	}
	return held[0], nil
}

// took measures how long something takes.
func took(f func()) time.Duration {
	began := time.Now()
	f()
	return time.Since(began)
}

// linked makes a group with ways of its own to the fakes: the request to backend i
// takes delays[i] and up to jitter more. The links end with the test.
func (r *rig) linked(seed uint64, jitter time.Duration, delays []time.Duration, change ...func(*quorum.Config)) (*quorum.Group, []*quorumtest.Link) {
	r.t.Helper()
	links := make([]*quorumtest.Link, len(r.fakes))
	backends := make([]quorum.Backend, len(r.fakes))
	for i, f := range r.fakes {
		links[i] = quorumtest.NewLink(f, delays[i], jitter, seed)
		backends[i] = links[i]
	}
	r.links = append(r.links, links...)
	return newGroup(r.t, seed, backends, change...), links
}

// shuffled makes the group number c, which has the backends at other distances than
// its neighbours.
func (r *rig) shuffled(c int) *quorum.Group {
	delays := make([]time.Duration, len(r.fakes))
	for i := range delays {
		delays[i] = time.Duration((i+c)%len(delays)) * 2 * ms
	}
	g, _ := r.linked(uint64(c), ms, delays)
	return g
}
