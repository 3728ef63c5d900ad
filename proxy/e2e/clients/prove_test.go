package clients

import (
	"strings"
	"testing"
	"time"

	"redlockproxy/proxy/redistest"
)

// client is one user of a library, as the proofs see it. An error is the library's
// own; that a lock is somebody else's is none.
type client interface {
	// ping shows that the connection is well.
	ping() error
	// acquire tries once to take the lock and tells whether it did.
	acquire(key string, ttl time.Duration) (bool, error)
	// extend lets a lock that this client took last for ttl from now on; false if
	// the lock isn't its own any more.
	extend(key string, ttl time.Duration) (bool, error)
	// release gives a lock that this client took back.
	release(key string) (verdict, error)
	// close ends its connections.
	close()
}

// verdict is what a library says about a lock that it was to release.
type verdict string

const (
	released verdict = "released" // it was held until now
	notHeld  verdict = "not held" // it was gone, or another's
	untold   verdict = "untold"   // the library doesn't say
)

// subject is a library to be proven.
type subject struct {
	name string
	// open connects a client as the library does by default. Of t it uses Cleanup
	// and Log only.
	open func(t testing.TB, addr string) (client, error)

	// The rest is what the library can't do, or does in another way.

	keys      func(lock string) []string // the keys that hold a lock; nil: the one of its name
	noExtend  bool                       // there is no way to extend a lock
	untold    bool                       // a release doesn't say whether the lock was held
	swallows  []string                   // methods that keep a server's errors to themselves
	keepsLock bool                       // it extends by itself, so that a lock is lost only by deletion
}

// lock is the name of one of the subject's locks; no other subject uses it.
func (s *subject) lock(name string) string {
	return "lock:" + strings.NewReplacer(" ", "-", "/", "-").Replace(s.name) + ":" + name
}

func (s *subject) keysOf(lock string) []string {
	if s.keys == nil {
		return []string{lock}
	}
	return s.keys(lock)
}

// proof is a subject on its way through the stages, with two of its clients. Once a
// stage failed, no other is tried.
type proof struct {
	*subject
	addr     string
	one, two client
}

// prove takes all subjects through all stages. They share five backends and a
// proxy, and go through each stage at the same time.
func prove(t *testing.T, subjects []subject) {
	plain := redistest.Start(t)
	stage(t, "one Redis", proofs(subjects, plain.Addr()), func(p *proof, t *testing.T) {
		p.connect(t, t)
		p.works(t)
	})

	group := redistest.StartGroup(t, 5)
	patient := redistest.Patient(t)
	proxy := redistest.StartProxyToReturn(t, group.Addrs(), patient...)
	awaitVotes(t, proxy, group)
	all := proofs(subjects, proxy.Addr())
	stage(t, "five backends", all, func(p *proof, st *testing.T) {
		p.connect(t, st)
		p.works(st)
		p.holdsNothing(st, group, "work")
	})

	group[1].Kill()
	group[4].Kill()
	running := redistest.Group{group[0], group[2], group[3]}
	stage(t, "two of five stopped", all, func(p *proof, t *testing.T) {
		p.works(t)
		p.holdsNothing(t, running, "work")
		p.want(t, "a lock to be kept", true)(p.one.acquire(p.lock("kept"), time.Minute))
	})

	if code := proxy.Stop(); code != 0 {
		t.Errorf("the proxy ended with %d", code)
	}
	proxy = redistest.StartProxy(t, group.Addrs(), append(patient, "-listen", proxy.Addr())...)
	awaitVotes(t, proxy, running)
	stage(t, "the proxy restarted", all, (*proof).reconnects)

	group[2].Kill()
	running = redistest.Group{group[0], group[3]}
	stage(t, "three of five stopped", all, func(p *proof, t *testing.T) {
		p.fails(t)
		p.holdsNothing(t, running, "again")
	})
}

func proofs(subjects []subject, addr string) []*proof {
	all := make([]*proof, len(subjects))
	for i := range subjects {
		all[i] = &proof{subject: &subjects[i], addr: addr}
	}
	return all
}

// stage runs one stage for all that are still in the race.
func stage(t *testing.T, name string, all []*proof, run func(*proof, *testing.T)) {
	failed := make([]bool, len(all))
	t.Run(name, func(t *testing.T) {
		for i, p := range all {
			if p.subject == nil {
				continue
			}
			t.Run(p.name, func(t *testing.T) {
				t.Parallel()
				defer func() { failed[i] = t.Failed() }()
				run(p, t)
			})
		}
	})
	for i := range all {
		if failed[i] {
			all[i].subject = nil
		}
	}
}

// awaitVotes waits until locks reach all of the group.
func awaitVotes(t *testing.T, proxy *redistest.Proxy, group redistest.Group) {
	t.Helper()
	redistest.Eventually(t, 10*time.Second, "the proxy's locks reach its backends", func() bool {
		reply, err := proxy.Do("SET", "probe", "x", "PX", "60000")
		return err == nil && reply == redistest.Status("OK") && group.Holding("probe") == len(group)
	})
}

// startFive starts a proxy in front of five backends of its own.
func startFive(t *testing.T, extraArgs ...string) *redistest.Proxy {
	t.Helper()
	group := redistest.StartGroup(t, 5)
	proxy := redistest.StartProxy(t, group.Addrs(), append(redistest.Patient(t), extraArgs...)...)
	awaitVotes(t, proxy, group)
	return proxy
}
