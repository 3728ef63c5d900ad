package admission_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"redlockproxy/quorum"
	"redlockproxy/quorum/admission"
	"redlockproxy/quorum/quorumtest"
)

const (
	ms     = time.Millisecond
	oneWay = ms
)

// A rig is fakes in virtual time, and proxies before them.
type rig struct {
	t       *testing.T
	fakes   []*quorumtest.Fake
	proxies []*proxy
}

// A proxy has a group, and a keeper if it was started.
type proxy struct {
	*quorum.Group
	r      *rig
	cfg    admission.Config
	gates  []*quorumtest.Gate
	links  []*quorumtest.Link // for calls
	aside  []*quorumtest.Link
	keeper *admission.Keeper
	ended  sync.WaitGroup
	cancel context.CancelFunc

	mu     sync.Mutex
	events []admission.Event
}

func defaults() admission.Config {
	return admission.Config{
		Group: "g", Quiet: 200 * ms, Long: 3 * time.Second, Auto: true, Steady: 2 * time.Second,
	}
}

// virtual runs a test over n fakes.
func virtual(t *testing.T, n int, test func(t *testing.T, r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := &rig{t: t}
		for i := range n {
			r.fakes = append(r.fakes, quorumtest.New(i, quorumtest.Options{RequestDelay: oneWay, ReplyDelay: oneWay}))
		}
		defer func() {
			for _, p := range r.proxies {
				p.stop()
			}
			for _, f := range r.fakes {
				f.Close()
			}
		}()
		test(t, r)
	})
}

// proxy starts a proxy with its keeper.
func (r *rig) proxy(change ...func(*admission.Config)) *proxy {
	r.t.Helper()
	p := &proxy{r: r, cfg: defaults()}
	for _, c := range change {
		c(&p.cfg)
	}
	seed := uint64(len(r.proxies) + 1)
	backends := make([]quorum.Backend, len(r.fakes))
	members := make([]admission.Member, len(r.fakes))
	for i, f := range r.fakes {
		p.links = append(p.links, quorumtest.NewLink(f, oneWay, 0, seed))
		p.aside = append(p.aside, quorumtest.NewLink(f, oneWay, 0, seed))
		p.gates = append(p.gates, quorumtest.NewGate(f, p.links[i], p.aside[i], p.cfg.Rule(i, len(r.fakes))))
		backends[i], members[i] = p.gates[i], p.gates[i]
	}
	var err error
	p.Group, err = quorum.NewGroup(backends, quorum.Config{
		VoteLimit: 150 * ms, AnswerWithin: 200 * ms, Attempts: 1, PadTTL: true, MaxTTL: 3 * time.Second,
		Random: rand.NewChaCha8([32]byte{byte(seed)}),
	})
	if err != nil {
		r.t.Fatal(err)
	}
	p.cfg.Report = func(e admission.Event) {
		p.mu.Lock()
		p.events = append(p.events, e)
		p.mu.Unlock()
	}
	p.keeper = admission.NewKeeper(members, p.cfg)
	ctx, cancel := context.WithCancel(context.Background())
	p.cancel = cancel
	p.ended.Go(func() { p.keeper.Run(ctx) })
	r.proxies = append(r.proxies, p)
	return p
}

// founded starts a proxy and waits until its group can decide.
func (r *rig) founded(change ...func(*admission.Config)) *proxy {
	r.t.Helper()
	p := r.proxy(change...)
	p.await("all vote", func() bool { return p.voters() == len(r.fakes) })
	return p
}

func (p *proxy) stop() {
	p.cancel()
	p.ended.Wait()
	for i := range p.gates {
		p.gates[i].Close()
		p.links[i].Close()
		p.aside[i].Close()
	}
	p.gates, p.links, p.aside = nil, nil, nil
}

func (p *proxy) voters() (n int) {
	for _, g := range p.gates {
		if g.Look().Votes() {
			n++
		}
	}
	return n
}

func (p *proxy) votes(i int) bool { return p.gates[i].Look().Votes() }

// await waits for something, in virtual time, and returns how long that took.
func (p *proxy) await(what string, cond func() bool) time.Duration {
	p.r.t.Helper()
	began := time.Now()
	for !cond() {
		if time.Since(began) > 10*time.Second {
			p.r.t.Fatalf("not within 10 s: %s; %v", what, p.said())
		}
		time.Sleep(5 * ms)
	}
	return time.Since(began)
}

// said is all that the keeper has reported.
func (p *proxy) said() []admission.Event {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]admission.Event(nil), p.events...)
}

func (p *proxy) heard(kind admission.EventKind) bool {
	for _, e := range p.said() {
		if e.Kind == kind {
			return true
		}
	}
	return false
}

func (p *proxy) acquire(key quorum.Key, value string, ttl time.Duration) (won bool, err error) {
	a, err := p.Acquire(context.Background(), key, value, ttl)
	return a.Won, err
}

func (p *proxy) wantLock(key quorum.Key, value string, ttl time.Duration) {
	p.r.t.Helper()
	if won, err := p.acquire(key, value, ttl); err != nil || !won {
		p.r.t.Fatalf("%s = %s: won %v, error %v; want it", key, value, won, err)
	}
}

func (p *proxy) wantNoLock(key quorum.Key, value string) {
	p.r.t.Helper()
	var short *quorum.UnavailableError
	if won, err := p.acquire(key, value, time.Second); won || err != nil && !errors.As(err, &short) {
		p.r.t.Fatalf("%s = %s: won %v, error %v; want nothing", key, value, won, err)
	}
}

// crash ends a server and its memory, and starts it again.
func (r *rig) crash(i int) {
	r.fakes[i].Restart()
	r.fakes[i].Wipe()
}

// holds is the client value that a backend has under a key, "block" for a block.
func (r *rig) holds(i int, key quorum.Key) string {
	h, _ := r.fakes[i].Peek(key)
	if h.Stored.IsBlock() {
		return "block"
	}
	return h.Stored.Value()
}

func (r *rig) rest() {
	time.Sleep(20 * oneWay)
	synctest.Wait()
}
