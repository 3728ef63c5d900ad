package e2e_test

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"redlockproxy/proxy/redistest"
	"redlockproxy/proxy/redistest/lockscripts"
)

// A lock can be in these states before a script comes. With several keys all are in
// it, but for the last ones, in which the second key is somebody else's.
var lockStates = []string{"free", "own", "foreign", "expired", "no ttl", "same prefix", "second taken", "own, second taken"}

// setUp are the values and times to live that a state is made with; the first
// argument of the pair is "" where the key is absent.
func setUp(state string, key int) (value, millis string) {
	switch {
	case key == 1 && strings.HasSuffix(state, "second taken"):
		return "you", "60000"
	case state == "own", state == "own, second taken":
		return lockscripts.Owner, "60000"
	case state == "foreign":
		return "you", "60000"
	case state == "expired":
		return lockscripts.Owner, "30"
	case state == "no ttl":
		return lockscripts.Owner, ""
	case state == "same prefix":
		return lockscripts.Owner + "2", "60000"
	}
	return "", ""
}

// routes are the ways in which clients have a script run.
var routes = map[string]func(text, sum string, words []string) [][]string{
	"EVAL": func(text, _ string, words []string) [][]string {
		return [][]string{slices.Concat([]string{"EVAL", text}, words)}
	},
	"EVALSHA, EVAL": func(text, sum string, words []string) [][]string {
		return [][]string{slices.Concat([]string{"EVALSHA", sum}, words), slices.Concat([]string{"EVAL", text}, words)}
	},
	"EVALSHA, LOAD, EVALSHA": func(text, sum string, words []string) [][]string {
		run := slices.Concat([]string{"EVALSHA", sum}, words)
		return [][]string{run, {"SCRIPT", "LOAD", text}, run}
	},
}

// A dialect is one script in one state by one route, with keys of its own.
type dialect struct {
	script lockscripts.Script
	state  string
	route  string
	keys   []string
}

func (d dialect) String() string {
	return fmt.Sprintf("%s|%s|%s|%d", d.script.Name, d.state, d.route, len(d.keys))
}

// dialects are all of them; those of one state, route and number of keys stand
// together.
func dialects() []dialect {
	var all []dialect
	for _, state := range lockStates {
		for route := range routes {
			for n := 1; n <= 3; n++ {
				for _, script := range lockscripts.Served() {
					if n == 1 && strings.HasSuffix(state, "second taken") || !slices.Contains(script.Count(), n) {
						continue
					}
					d := dialect{script: script, state: state, route: route, keys: make([]string, n)}
					for i := range d.keys {
						d.keys[i] = fmt.Sprintf("%s|k%d", d, i+1)
					}
					all = append(all, d)
				}
			}
		}
	}
	return all
}

// prepare brings all keys into their states on both. Those that expire are waited
// for.
func (x *twins) prepare(all []dialect) {
	x.w.t.Helper()
	var lines []line
	var expiring []string
	for _, d := range all {
		for i, key := range d.keys {
			value, millis := setUp(d.state, i)
			args := []string{"SET", key, value}
			if millis != "" {
				args = append(args, "PX", millis)
			}
			if value != "" {
				lines = append(lines, line{d, args})
			}
			if d.state == "expired" {
				expiring = append(expiring, key)
			}
		}
	}
	x.both(lines)
	redistest.Eventually(x.w.t, 5*time.Second, "what has to expire has expired", func() bool {
		for _, s := range append(slices.Clone(x.w.backends), x.plain) {
			if s.MustDo(append([]string{"EXISTS"}, expiring...)...) != int64(0) {
				return false
			}
		}
		return true
	})
}

func TestScriptsOfLockLibrariesDoWhatTheyDoOnOneRedis(t *testing.T) {
	x := newTwins(t)
	all := dialects()
	x.prepare(all)
	at := time.Now().Add(2 * time.Minute)
	for len(all) > 0 {
		n := 1
		for n < len(all) && all[n].state == all[0].state && all[n].route == all[0].route && len(all[n].keys) == len(all[0].keys) {
			n++
		}
		x.run(all[:n], at)
		all = all[n:]
	}
	x.compareHoldings()
}

// run runs dialects of one route side by side. Neither server knows any of the
// scripts at first.
func (x *twins) run(all []dialect, at time.Time) {
	x.w.t.Helper()
	x.both([]line{{all[0], []string{"SCRIPT", "FLUSH"}}})
	var steps [][]line
	for _, d := range all {
		sum := sha1.Sum([]byte(d.script.Text))
		for i, args := range routes[d.route](d.script.Text, hex.EncodeToString(sum[:]), d.script.Words(d.keys, at)) {
			if i == len(steps) {
				steps = append(steps, nil)
			}
			steps[i] = append(steps[i], line{d, args})
		}
	}
	for i, lines := range steps {
		for j, reply := range x.both(lines) {
			l := lines[j]
			if e, isError := reply.(redistest.Error); i == 0 && l.args[0] == "EVALSHA" && (!isError || e.Code() != "NOSCRIPT") {
				x.w.t.Fatalf("%s: EVALSHA of a script that nobody sent: %v", l.about, reply)
			}
		}
	}
}

func TestAdditiveExtensionLevelsUnevenBackends(t *testing.T) {
	w := newWorld(t, redistest.Patient(t)...)
	w.lock(ok, "lock:uneven", lockscripts.Owner, "5000")
	redistest.Eventually(t, time.Second, "all five hold the lock", func() bool { return w.backends.Holding("lock:uneven") == 5 })
	for i, millis := range []string{"9000", "5000", "4000", "", "9000"} {
		if millis == "" {
			w.backends[i].MustDo("DEL", "lock:uneven")
		} else {
			w.backends[i].MustDo("PEXPIRE", "lock:uneven", millis)
		}
	}
	script := lockscripts.Additive
	w.want(int64(1), slices.Concat([]string{"EVAL", script.Text}, script.Words([]string{"lock:uneven"}, time.Time{}))...)
	const drift = (90_000+9000)/100 + 2
	redistest.Eventually(t, time.Second, "all keep the lock equally long, the one that had lost it, too", func() bool {
		var ends []int64
		for _, s := range w.backends {
			if end := s.MustDo("PEXPIRETIME", "lock:uneven").(int64); end > 0 {
				ends = append(ends, end)
			}
		}
		return len(ends) == 5 && slices.Max(ends)-slices.Min(ends) <= drift && time.Until(time.UnixMilli(slices.Min(ends))) > 90*time.Second
	})
}

func TestScriptsOverOtherTypesFailAtTheirFirstCommandAndWriteNothing(t *testing.T) {
	w := newWorld(t, redistest.Patient(t)...)
	c := w.proxy.Client()
	for _, r := range lockscripts.Refused() {
		key := "lock:" + r.Name
		keys := []string{key, key + ":more"}[:r.Count()[0]]
		w.lock(ok, key, lockscripts.Owner, "60000")
		if strings.HasPrefix(r.Name, "acquire") {
			w.want(int64(1), "DEL", key)
			w.gone(w.backends, key)
		}
		redistest.Eventually(t, time.Second, "the lock is everywhere or nowhere", func() bool { return w.backends.Holding(key)%5 == 0 })
		var before []map[string]held
		for _, s := range w.backends {
			before = append(before, holding(t, s))
		}
		reply, err := c.Do(slices.Concat([]string{"EVAL", r.Text}, r.Words(keys, time.Time{}))...)
		if e, isError := reply.(redistest.Error); err != nil || !isError || !strings.HasPrefix(string(e), "UNSUPPORTED "+r.Command+": ") {
			t.Errorf("%s: %v, %v; wanted UNSUPPORTED %s", r.Name, reply, err, r.Command)
		}
		time.Sleep(20 * time.Millisecond) // a write that must not be: there is nothing to wait for
		for i, s := range w.backends {
			after := holding(t, s)
			for _, k := range keys {
				if before[i][k] != after[k] {
					t.Errorf("%s: backend %d holds %v under %s, before %v", r.Name, i, after[k], k, before[i][k])
				}
			}
		}
	}
}
