package e2e_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"redlockproxy/proxy/redistest"
	"redlockproxy/proxy/redistest/lockscripts"
)

// refusal is a library that locks with other data types than strings, or wants more
// than a majority can give. The last of its steps is the first that fails.
type refusal struct {
	library string
	steps   []ask
	then    []ask // what it sends all the same
}

// scriptSteps are the steps of a script that can't be served, by its digest first;
// the last needs the error for that command.
func scriptSteps(t *testing.T, name string, keys ...string) []ask {
	t.Helper()
	all := lockscripts.Refused()
	i := slices.IndexFunc(all, func(r lockscripts.Refusal) bool { return r.Name == name })
	if i < 0 {
		t.Fatalf("no script is called %q", name)
	}
	r, sum := all[i], digest(all[i].Text)
	words := r.Words(keys, time.Time{})
	run := append([]string{"EVALSHA", sum}, words...)
	return []ask{
		call(refused("NOSCRIPT No matching script. Please use EVAL."), run...),
		call(sum, "SCRIPT", "LOAD", r.Text),
		call(refused("UNSUPPORTED "+r.Command+": "), run...),
	}
}

func refusals(t *testing.T) []refusal {
	steps := func(asks ...ask) []ask { return asks }
	return []refusal{
		{"Redisson's lock", scriptSteps(t, "acquire: hash", "lock:rlock"), nil},
		{"Redisson's fenced lock", scriptSteps(t, "acquire: hash with fencing number", "lock:rfenced", "redisson_lock_token:{lock}"), nil},
		{"Redisson's fair lock", scriptSteps(t, "acquire: in turn", "lock:rfair", "redisson_lock_queue:{lock}"), nil},
		{"Redisson's semaphore", append(
			steps(call(ok, "SET", "lock:permits", "3", "PX", "60000")),
			scriptSteps(t, "acquire: a permit", "lock:permits")...), nil},
		{"Symfony's lock since 5.2", append(
			steps(call(int64(1), "EVAL", "redis.replicate_commands() redis.call('TIME') return 1", "1", "symfony_check_support_time")),
			scriptSteps(t, "acquire: sorted set by the server's clock", "lock:symfony")...), nil},
		{"redis-semaphore's semaphore", scriptSteps(t, "acquire: sorted set", "lock:semaphore"), nil},
		{"unique jobs of Sidekiq", scriptSteps(t, "acquire: a job's digest", "lock:unique", "lock:unique:queued"), nil},
		{"python-redis-lock", append(
			steps(call(nil, "GET", "lock:prl"), call(ok, "SET", "lock:prl", lockscripts.Owner, "NX", "EX", "60")),
			scriptSteps(t, "release: wakes by a list", "lock:prl", "lock-signal:prl")...), nil},
		{"python-redis-lock, waiting", steps(call(nil, "SET", "lock:taken", "t", "NX", "EX", "60"),
			call(refused("UNSUPPORTED BLPOP: "), "BLPOP", "lock-signal:taken", "1")), nil},
		{"locks by time stamps", steps(call(int64(1), "SETNX", "lock:stamp", "1"), call("1", "GET", "lock:stamp"),
			call(refused("UNSUPPORTED GETSET: "), "GETSET", "lock:stamp", "2")), nil},
		{"a semaphore of lists", steps(call(refused("UNSUPPORTED GETSET: "), "GETSET", "lock:list:exists", "1")), nil},
		{"Celery's broker", steps(call(pong, "PING"), call(ok, "MULTI"), call(queued, "SET", "lock:celery", "t"),
			call(refused("UNSUPPORTED SADD: "), "SADD", "_kombu.binding.celery", "celery")),
			steps(call(refused("EXECABORT "), "EXEC"))},
		{"rueidis with its cache", steps(call(refused("UNSUPPORTED CLIENT TRACKING ON: "), "CLIENT", "TRACKING", "ON", "OPTIN")), nil},
		{"redlock4j", steps(call(refused("UNSUPPORTED CONFIG SET: "), "CONFIG", "SET", "notify-keyspace-events", "Kgx")), nil},
	}
}

func TestLibrariesThatCanNotBeServedAreToldAtOnceAndLeaveNothing(t *testing.T) {
	w := newWorld(t, redistest.Patient(t)...)
	w.lock(ok, "lock:taken", "somebody else's", "60000")
	for _, r := range refusals(t) {
		for _, proto := range []string{"2", "3"} {
			x := replay{library: r.library + " in RESP" + proto, connect: []burst{one(anything, "HELLO", proto)}}.open(t, w.proxy.Addr(), false, 1)
			x.do(0, ok, "SCRIPT", "FLUSH")
			last := len(r.steps) - 1
			for _, a := range r.steps[:last] {
				x.send(0, a)
			}
			before := w.settled()
			x.send(0, r.steps[last])
			x.send(0, r.then...)
			x.do(0, pong, "PING")
			time.Sleep(20 * time.Millisecond) // a write that must not be: there is nothing to wait for
			for i, s := range w.backends {
				if after := holding(t, s); !maps.Equal(before[i], after) {
					t.Errorf("%s: backend %d holds %v, before %v", x.library, i, after, before[i])
				}
			}
			x.do(0, anything, "DEL", "lock:prl", "lock:stamp", "lock:permits")
		}
	}
}

// settled is what each backend holds, values and expiries, as soon as they agree.
func (w *world) settled() []map[string]held {
	w.t.Helper()
	all := make([]map[string]held, len(w.backends))
	redistest.Eventually(w.t, 5*time.Second, "all backends hold the same", func() bool {
		for i, s := range w.backends {
			all[i] = holding(w.t, s)
		}
		return !slices.ContainsFunc(all, func(m map[string]held) bool { return !maps.Equal(values(m), values(all[0])) })
	})
	return all
}

// values leaves out the expiries, which differ by a moment from backend to backend.
func values(all map[string]held) map[string]string {
	some := make(map[string]string, len(all))
	for key, h := range all {
		some[key] = h.value
	}
	return some
}
