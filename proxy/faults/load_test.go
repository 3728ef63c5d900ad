package faults_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"redlockproxy/proxy/redistest"
)

const (
	ok = redistest.Status("OK")

	releaseScript = `if redis.call("get",KEYS[1]) == ARGV[1] then return redis.call("del",KEYS[1]) else return 0 end`
	extendScript  = `if redis.call("get",KEYS[1]) == ARGV[1] then return redis.call("pexpire",KEYS[1],ARGV[2]) else return 0 end`
	// Another way to extend a lock: it is written again.
	setAgainScript = `if redis.call("get",KEYS[1]) == ARGV[1] then return redis.call("set",KEYS[1],ARGV[1],"XX","PX",ARGV[2]) else return 0 end`
)

// awaitVoters waits until the proxy counts on n backends.
func awaitVoters(t *testing.T, p *redistest.Proxy, n int) {
	t.Helper()
	redistest.Eventually(t, 10*time.Second, fmt.Sprintf("the proxy counts on %d backends", n), func() bool { return p.Voters() == n })
}

// load is clients that each go through the life of a lock again and again, on keys of
// their own, and draw numbers.
type load struct {
	addr     string
	password string             // "" for none
	name     string             // of the keys
	machine  *redistest.Machine // nil for none

	mu      sync.Mutex
	cycles  int
	ops     int
	failed  []string // what did not succeed, and why
	slowest time.Duration
	excused time.Duration // the slowest, without what it waited for the machine alone
}

// start lets n clients work until stop is called, which waits for them.
func (l *load) start(n int) (stop func()) {
	var clients sync.WaitGroup
	over := make(chan struct{})
	for i := range n {
		clients.Go(func() { l.client(fmt.Sprintf("%s:%d", l.name, i), over) })
	}
	return sync.OnceFunc(func() {
		close(over)
		clients.Wait()
	})
}

func (l *load) client(name string, stop <-chan struct{}) {
	c, err := redistest.Dial(l.addr)
	if err != nil {
		l.note(0, 0, err.Error())
		return
	}
	defer func() { _ = c.Close() }()
	if l.password != "" {
		if reply, err := c.Do("AUTH", l.password); err != nil || reply != ok {
			l.note(0, 0, fmt.Sprintf("AUTH: %v, %v", reply, err))
			return
		}
	}
	last := int64(0) // number drawn
	for i := 1; ; i++ {
		select {
		case <-stop:
			return
		default:
		}
		key := fmt.Sprintf("%s:%d", name, i)
		for _, step := range []struct {
			wanted  any
			command []string
		}{
			{ok, []string{"SET", key, "a", "NX", "PX", "30000"}},
			{int64(1), []string{"EVAL", extendScript, "1", key, "a", "30000"}},
			{"a", []string{"GET", key}},
			{last + 1, []string{"INCR", name + ":fence"}},
			{int64(1), []string{"EVAL", releaseScript, "1", key, "a"}},
		} {
			start, late := time.Now(), l.late()
			reply, err := c.Do(step.command...)
			took := time.Since(start)
			late = l.late() - late
			complaint := ""
			if err != nil || reply != step.wanted {
				complaint = fmt.Sprintf("%s: %v, %v", step.command[0], reply, err)
			}
			if number, isNumber := reply.(int64); isNumber && step.command[0] == "INCR" && number > last {
				complaint, last = "", number // numbers may be left out
			}
			l.note(took, late, complaint)
			if err != nil {
				return
			}
			if complaint != "" {
				time.Sleep(5 * time.Millisecond) // as clients do that are refused
			}
		}
		l.mu.Lock()
		l.cycles++
		l.mu.Unlock()
	}
}

func (l *load) late() time.Duration {
	if l.machine == nil {
		return 0
	}
	return l.machine.Late()
}

func (l *load) note(took, late time.Duration, complaint string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ops++
	l.slowest, l.excused = max(l.slowest, took), max(l.excused, took-late)
	if complaint != "" {
		l.failed = append(l.failed, complaint)
	}
}

// done is how many lives of locks were gone through, or far too many if work has
// failed so often that there is no point in going on.
func (l *load) done() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.failed) > 100 {
		return 1 << 30
	}
	return l.cycles
}

// answered is how many operations have ended, well or not.
func (l *load) answered() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ops
}

// spoilt tells whether the work was not as it should be.
func (l *load) spoilt() bool { return len(l.failed) > 0 || l.slowest > slowestAnswer }
