package e2e_test

import (
	"strings"
	"testing"
	"time"

	"redlockproxy/proxy/redistest"
)

// What a proxy would say is needed most when there is none to ask, and then nobody has
// refilled what has forgotten.
func TestInspectCountsTheVotesThatAProxyWouldCount(t *testing.T) {
	args := redistest.Patient(t)
	group := redistest.StartGroup(t, 5)
	inspect := func(code int, parts ...string) {
		t.Helper()
		wantProgram(t, code, parts, append(args[:2:2], "inspect", "lock:job", "-backends", strings.Join(group.Addrs(), ","))...)
	}
	inspect(1, "lock:job: unavailable; the group is not founded", "no vote: it has no marker: it is new, or has forgotten")

	w := &world{t: t, backends: group, addrs: group.Addrs()}
	w.start(args...)
	w.lock(ok, "lock:job", "T0ken", "60000")
	redistest.Eventually(t, 5*time.Second, "it is on all backends", func() bool { return group.Holding("lock:job") == 5 })
	w.proxy.Stop()
	inspect(0, "lock:job: held on 5 of 5 backends", "agreed")

	group[0].MustDo("FLUSHALL")
	inspect(0, "lock:job: held on 4 of 5 backends", "no vote: it has no marker", "agreed")
	for _, s := range group[1:3] {
		s.MustDo("FLUSHALL")
	}
	inspect(1, "lock:job: unavailable; 2 of 5 backends vote, and 3 must")
	for _, s := range group[3:] {
		s.MustDo("FLUSHALL")
	}
	inspect(1, "lock:job: unavailable; the group is not founded")
}

// After a majority has forgotten, locks can be taken and numbers can't be had until all
// backends can be asked for the highest.
func TestVotersAboutLocksAloneAreShownAsSuch(t *testing.T) {
	args := redistest.Patient(t)
	w := newWorld(t, append(args, "-admin", "127.0.0.1:0")...)
	w.backends[4].Kill()
	for _, s := range w.backends[:3] {
		s.MustDo("SET", redistest.Marker, strings.Replace(s.Get(redistest.Marker), " voter ", " locker ", 1))
	}
	w.awaitInfo("\nvoters:4", "number_voters:1", "it votes about locks; and not yet about numbers")
	for _, line := range []string{"redlock_proxy_voters 4", "redlock_proxy_number_voters 1"} {
		if !strings.Contains(w.get("/metrics"), "\n"+line+"\n") {
			t.Errorf("the metrics do not show %s", line)
		}
	}
	w.lock(ok, "lock:job", "T0ken", "60000")
	w.wantUnavailable("INCR", "lock:job:fence")
	wantProgram(t, 0, []string{"lock:job: held on 4 of 5 backends", "agreed; it votes about locks, and not yet about numbers"},
		append(args[:2:2], "inspect", "lock:job", "-backends", strings.Join(w.addrs, ","))...)
}

func TestInspectTrustsASingleBackend(t *testing.T) {
	s := redistest.Start(t)
	s.MustDo("SET", "lock:job", "T0ken", "PX", "60000")
	wantProgram(t, 0, []string{"lock:job: held on 1 of 1 backends", "agreed"}, append(redistest.Patient(t), "inspect", "lock:job", "-backends", s.Addr())...)
}
