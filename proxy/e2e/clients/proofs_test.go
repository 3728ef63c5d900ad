package clients

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"redlockproxy/proxy/redistest"
)

// connect opens the two clients; they live as long as owner.
func (p *proof) connect(owner, t *testing.T) {
	t.Helper()
	for _, c := range []*client{&p.one, &p.two} {
		opened, err := p.open(owner, p.addr)
		if err != nil {
			t.Fatalf("connect: %v", err)
		}
		owner.Cleanup(opened.close)
		*c = opened
	}
}

// want checks what a client's method returned.
func (p *proof) want(t *testing.T, what string, wanted bool) func(bool, error) {
	return func(got bool, err error) {
		t.Helper()
		if err != nil || got != wanted {
			t.Fatalf("%s: %v, %v; wanted %v", what, got, err, wanted)
		}
	}
}

// wantRelease checks what a release said; where a library says nothing, nothing is
// what it must say.
func (p *proof) wantRelease(t *testing.T, what string, wanted verdict) func(verdict, error) {
	if p.untold {
		wanted = untold
	}
	return func(got verdict, err error) {
		t.Helper()
		if err != nil || got != wanted {
			t.Fatalf("%s: %s, %v; wanted: %s", what, got, err, wanted)
		}
	}
}

// do sends a command of the test's own to where the clients are connected.
func (p *proof) do(t *testing.T, args ...string) any {
	t.Helper()
	c, err := redistest.Dial(p.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	reply, err := c.Do(args...)
	if e, ok := reply.(redistest.Error); ok {
		err = e
	}
	if err != nil {
		t.Fatalf("%s: %v", args[0], err)
	}
	return reply
}

// wantLeft checks how long a lock will last, by each of its keys. A library that
// needs most of several takes the rest in the background.
func (p *proof) wantLeft(t *testing.T, what, lock string, least, most time.Duration) {
	t.Helper()
	for _, key := range p.keysOf(lock) {
		left := int64(0)
		defer func() {
			if t.Failed() {
				t.Logf("PTTL of %s is %d", key, left)
			}
		}()
		what := fmt.Sprintf("%s: PTTL of %s is more than %s, at most %s", what, key, least, most)
		redistest.Eventually(t, 2*time.Second, what, func() bool {
			left, _ = p.do(t, "PTTL", key).(int64)
			return left > least.Milliseconds() && left <= most.Milliseconds()
		})
	}
}

// wantFree checks that nothing holds a lock.
func (p *proof) wantFree(t *testing.T, what, lock string) {
	t.Helper()
	for _, key := range p.keysOf(lock) {
		if left := p.do(t, "PTTL", key); left != int64(-2) {
			t.Fatalf("%s: PTTL of %s is %v; wanted -2", what, key, left)
		}
	}
}

// works takes, contends for, extends, releases and loses a lock, as with one healthy
// Redis.
func (p *proof) works(t *testing.T) {
	for _, c := range []client{p.one, p.two} {
		if err := c.ping(); err != nil {
			t.Fatal(err)
		}
	}
	lock := p.lock("work")
	p.want(t, "a free lock", true)(p.one.acquire(lock, 10*time.Second))
	p.wantLeft(t, "a lock of 10 s", lock, 5*time.Second, 10*time.Second)
	p.want(t, "a taken lock", false)(p.two.acquire(lock, 10*time.Second))
	if !p.noExtend {
		p.want(t, "extension of a held lock", true)(p.one.extend(lock, 30*time.Second))
		if !p.keepsLock {
			p.wantLeft(t, "extended to 30 s", lock, 20*time.Second, 30*time.Second)
		}
		p.want(t, "a lock that was extended", false)(p.two.acquire(lock, 10*time.Second))
	}
	p.wantRelease(t, "release of a held lock", released)(p.one.release(lock))
	p.wantFree(t, "after the release", lock)
	p.want(t, "a released lock", true)(p.two.acquire(lock, 10*time.Second))
	p.wantRelease(t, "release by the next owner", released)(p.two.release(lock))
	p.loses(t, lock)
}

// loses lets one's lock be gone and two take it.
func (p *proof) loses(t *testing.T, lock string) {
	t.Helper()
	ttl := 300 * time.Millisecond
	if p.keepsLock {
		ttl = 10 * time.Second
	}
	p.want(t, "a lock to be lost", true)(p.one.acquire(lock, ttl))
	if p.keepsLock {
		p.wantLeft(t, "a lock to be lost", lock, 0, ttl)
		p.do(t, append([]string{"DEL"}, p.keysOf(lock)...)...)
	}
	redistest.Eventually(t, 10*time.Second, "a lost lock is taken by another", func() bool {
		ok, err := p.two.acquire(lock, 10*time.Second)
		if err != nil {
			t.Fatalf("taking a lock that expires: %v", err)
		}
		return ok
	})
	if !p.noExtend {
		p.want(t, "extension of a lost lock", false)(p.one.extend(lock, 30*time.Second))
	}
	p.wantRelease(t, "release of a lost lock", notHeld)(p.one.release(lock))
	p.wantLeft(t, "the lock of who took over", lock, 5*time.Second, 10*time.Second)
	p.wantRelease(t, "release by who took over", released)(p.two.release(lock))
	p.wantFree(t, "at the end", lock)
}

// holdsNothing waits until no backend has anything of a lock, and for a while longer:
// a write whose reply nobody waited for may still come, with its undo behind it.
func (p *proof) holdsNothing(t *testing.T, group redistest.Group, name string) {
	t.Helper()
	exists := append([]string{"EXISTS"}, p.keysOf(p.lock(name))...)
	redistest.Settles(t, 100*time.Millisecond, 5*time.Second, "no backend that runs has "+p.lock(name), func() bool {
		return !slices.ContainsFunc(group, func(s *redistest.Server) bool {
			n, err := s.Do(exists...)
			if err != nil {
				t.Fatal(err)
			}
			return n != int64(0)
		})
	})
}

// inARow is how many rounds in a row show that a client has no connection left that
// broke without being noticed. It is for clients with several, up to four here, that
// choose one by chance and find out about it then.
const inARow = 25

// reconnects shows that both clients go on after the proxy was away, each in its own
// time, and that a lock of before is still its owner's.
func (p *proof) reconnects(t *testing.T) {
	for _, c := range []client{p.one, p.two} {
		redistest.Eventually(t, 20*time.Second, "a client is back after the proxy restarted", func() bool {
			good := 0
			for good < inARow && p.round(c) {
				good++
			}
			return good == inARow
		})
	}
	kept := p.lock("kept")
	p.want(t, "a lock of before", false)(p.two.acquire(kept, time.Minute))
	if !p.noExtend {
		p.want(t, "extension of a lock of before", true)(p.one.extend(kept, time.Minute))
	}
}

// round takes a lock and releases it. The lock of a round that failed is gone soon.
func (p *proof) round(c client) bool {
	lock := p.lock("again")
	if c.ping() != nil {
		return false
	}
	if ok, err := c.acquire(lock, 500*time.Millisecond); !ok || err != nil {
		return false
	}
	said, err := c.release(lock)
	return err == nil && said != notHeld
}

// fails does all that while a majority is gone: no lock, no refusal, and an error
// that says why.
func (p *proof) fails(t *testing.T) {
	kept, free := p.lock("kept"), p.lock("again")
	if err := p.one.ping(); err != nil {
		t.Error(err)
	}
	for _, what := range []string{"acquire", "extend", "release"} {
		var got any
		var err error
		start := time.Now()
		switch what {
		case "acquire":
			got, err = p.one.acquire(free, time.Minute)
		case "extend":
			if p.noExtend {
				continue
			}
			got, err = p.one.extend(kept, time.Minute)
		case "release":
			got, err = p.one.release(kept)
		}
		switch {
		case got == true || got == released || got == notHeld:
			t.Errorf("%s with three of five backends down: %v, %v", what, got, err)
		case slices.Contains(p.swallows, what):
		case err == nil || !strings.Contains(err.Error(), "UNAVAILABLE"):
			t.Errorf("%s with three of five backends down: %v, %v; wanted UNAVAILABLE", what, got, err)
		}
		// A library that silently sends again, or waits, shows here.
		if took := time.Since(start); took > 2*time.Second {
			t.Errorf("%s took %s", what, took)
		}
	}
}
