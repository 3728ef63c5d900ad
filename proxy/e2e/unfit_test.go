package e2e_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"redlockproxy/proxy/redistest"
)

// An unfitness is what makes the last of five backends one that can't hold a lock.
type unfitness struct {
	name  string
	make  func(w *world)
	state string // in INFO
	also  string // in INFO, too
	why   string // in the log, in INFO and in the table of check
}

// last is the backend that becomes unfit.
func (w *world) last() *redistest.Server { return w.backends[4] }

// replaced leads the last address to another server, which takes the place of the one
// that was there.
func (w *world) replaced(server *redistest.Server) {
	w.backends[4] = server
	w.relays[4].Retarget(server.Addr())
}

// set changes settings of the last backend, given as names and values.
func set(settings ...string) func(*world) {
	return func(w *world) {
		server := w.last()
		server.MustDo(append([]string{"CONFIG", "SET"}, settings...)...)
	}
}

// replica makes the last backend follow a server that is none of the group.
func replica(readOnly string) func(*world) {
	return func(w *world) {
		server := w.last()
		host, port, _ := strings.Cut(redistest.Start(w.t, redistest.Args("--repl-diskless-sync-delay", "0")).Addr(), ":")
		server.MustDo("CONFIG", "SET", "replica-read-only", readOnly)
		server.MustDo("REPLICAOF", host, port)
		redistest.Eventually(w.t, 10*time.Second, "it follows", func() bool { return server.Info("master_link_status") == "up" })
	}
}

// failedSave makes the last backend fail to save its data: there is a directory where the
// file should be.
func failedSave(w *world) {
	server := w.last()
	dir := server.MustDo("CONFIG", "GET", "dir").([]any)[1].(string)
	if err := os.Mkdir(filepath.Join(dir, "dump.rdb"), 0o700); err != nil {
		w.t.Fatal(err)
	}
	server.MustDo("CONFIG", "SET", "save", "3600 1000000", "stop-writes-on-bgsave-error", "yes")
	server.MustDo("BGSAVE")
	redistest.Eventually(w.t, 10*time.Second, "the save fails", func() bool { return server.Info("rdb_last_bgsave_status") == "err" })
}

// otherGroups marks the last backend as one of another group.
func otherGroups(w *world) {
	server := w.last()
	words := strings.Fields(server.Get(redistest.Marker))
	words[1] = "other-group"
	server.MustDo("SET", redistest.Marker, strings.Join(words, " "))
}

func unfitnesses() []unfitness {
	return []unfitness{
		{"replica", replica("yes"), "unfit", "role=replica", "it is a replica"},
		{"replica that takes writes", replica("no"), "unfit", "role=replica", "it is a replica"},
		{"cluster node", func(w *world) { w.replaced(redistest.Start(w.t, redistest.Args("--cluster-enabled", "yes"))) },
			"unfit", "", "it is in cluster mode"},
		{"same server under two names", func(w *world) { w.relays[4].Retarget(w.backends[0].Addr()) }, "unfit", "", "it must not vote twice"},
		{"another group's marker", otherGroups, "unfit", "", "it is marked as other-group 5/5"},
		{"policy that drops locks", set("maxmemory", "100mb", "maxmemory-policy", "allkeys-lru"), "unfit", "", "it drops locks when that is reached"},
		{"full", set("maxmemory", "1"), "voter", "warnings=writes", "its memory is full (maxmemory): it takes no locks"},
		{"no replicas to write to", set("min-replicas-to-write", "1"), "voter", "warnings=writes", "it takes no locks and no releases: NOREPLICAS"},
		{"failed save", failedSave, "voter", "warnings=writes", "it takes no locks and no releases: MISCONF"},
		{"loading", func(w *world) { w.last().RestartLoading() }, "down", "", "LOADING Redis is loading"},
	}
}

// Whatever a backend can't be used for is said in the log, in INFO and by check, and it
// has no vote about a lock, neither as one of five nor where it is needed for three.
func TestUnfitBackendHasNoVoteAndItIsSaidWhy(t *testing.T) {
	for _, u := range unfitnesses() {
		t.Run(u.name, func(t *testing.T) {
			t.Parallel() // they wait most of the time
			w := newRelayedWorld(t, redistest.Patient(t)...)
			wantRow(t, w, 0, " fit ")
			u.make(w)
			w.awaitRow(append(strings.Fields(u.also), "state="+u.state+",", u.why)...)
			w.wantLogged(u.why)
			wantRow(t, w, 1, " unfit ", u.why)

			before := w.granted()
			w.lock(ok, "lock:of-four", "a", "60000")
			w.backends[1].Kill()
			w.backends[2].Kill()
			w.wantUnavailable("SET", "lock:of-two", "a", "NX", "PX", "60000")
			if after := w.granted(); after != before {
				t.Errorf("granted=%s, and %s before it was unfit", after, before)
			}
			fit := redistest.Group{w.backends[0], w.backends[3]}
			w.gone(fit, "lock:of-two")
			if n := fit.Holding("lock:of-four"); n != 2 {
				t.Errorf("%d of 2 fit backends hold the lock", n)
			}
			w.wantNoLocks()
		})
	}
}

// row is what INFO says of the last backend.
func (w *world) row() string {
	w.t.Helper()
	info, _ := w.do("INFO", "quorum").(string)
	_, row, _ := strings.Cut(info, "backend4:")
	row, _, _ = strings.Cut(row, "\r\n")
	return row
}

// awaitRow waits until INFO says all that of the last backend.
func (w *world) awaitRow(parts ...string) {
	w.t.Helper()
	redistest.Eventually(w.t, 10*time.Second, "INFO says of it "+strings.Join(parts, " "), func() bool {
		row := w.row()
		return !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(row, part) })
	})
}

// granted is how often the last backend has voted for something.
func (w *world) granted() string {
	_, rest, _ := strings.Cut(w.row(), ",granted=")
	n, _, _ := strings.Cut(rest, ",")
	return n
}

// wantLogged waits for a line of the log that gives a reason about the last backend.
func (w *world) wantLogged(why string) {
	w.t.Helper()
	redistest.Eventually(w.t, 5*time.Second, "the log names the backend and says why", func() bool {
		return slices.ContainsFunc(w.proxy.Logs(), func(line map[string]any) bool {
			reason, _ := line["reason"].(string)
			return line["backend"] == w.addrs[4] && line["level"] == "warn" && strings.Contains(reason, why)
		})
	})
}

// wantRow checks what check says of the last backend, that the others are fit, and how
// it exits.
func wantRow(t *testing.T, w *world, code int, parts ...string) {
	t.Helper()
	out, errs, got := program(t, append(redistest.Patient(t), "check", "-backends", strings.Join(w.addrs, ","))...)
	if got != code {
		t.Errorf("exit code %d, wanted %d", got, code)
	}
	for row := range strings.Lines(out) {
		addr, _, _ := strings.Cut(row, " ")
		switch slices.Index(w.addrs, addr) {
		case -1: // the heading
		case 4:
			for _, part := range parts {
				if !strings.Contains(row, part) {
					t.Errorf("the row of the backend does not say %q", part)
				}
			}
		default:
			if !strings.Contains(row, " fit ") {
				t.Errorf("%s is not fit", addr)
			}
		}
	}
	if strings.Count(out, "\n") != 6 || t.Failed() {
		t.Errorf("check printed:\n%s%s", out, errs)
	}
}

// wantNoLocks checks that the last backend holds no lock.
func (w *world) wantNoLocks() {
	w.t.Helper()
	server := w.last()
	server.FinishLoading()
	for _, key := range server.Keys() {
		if strings.HasPrefix(key, "lock:") {
			w.t.Errorf("the unfit backend holds %s", key)
		}
	}
}

// A backend that reads its data keeps no proxy from starting, and each takes it up when
// it has finished: it is refilled, and votes.
func TestBackendThatHasLoadedItsDataIsTakenUpAgain(t *testing.T) {
	t.Parallel() // it waits most of the time, and allows for much
	w := newRelayedWorld(t, redistest.Patient(t)...)
	w.lock(ok, "lock:before", "a", "60000")
	redistest.Eventually(t, 5*time.Second, "it is on all backends", func() bool { return w.backends.Holding("lock:before") == 5 })
	w.last().RestartLoading()
	w.awaitRow("state=down,", "LOADING")
	w.lock(ok, "lock:meanwhile", "a", "60000")
	w.release(int64(1), "lock:before", "a")
	second := redistest.StartProxy(t, w.addrs, redistest.Patient(t)...)
	redistest.Eventually(t, 10*time.Second, "the second proxy has four voters", func() bool { return second.Voters() == 4 })

	w.last().FinishLoading()
	for _, proxy := range []*redistest.Proxy{w.proxy, second} {
		w.awaitVotes(proxy, w.backends...)
	}
	w.gone(w.backends, "lock:before")
	if n := w.backends.Holding("lock:meanwhile"); n != 5 {
		t.Errorf("%d of 5 backends hold what was locked meanwhile", n)
	}
	w.backends[1].Kill()
	w.backends[2].Kill()
	w.lock(ok, "lock:after", "a", "60000")
	w.lock(nil, "lock:meanwhile", "b", "60000")
	if !holds(w.last(), "lock:after", "a") {
		t.Error("the lock was taken without its vote")
	}
}
