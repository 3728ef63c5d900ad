package faults_test

import (
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"redlockproxy/proxy/faults"
	"redlockproxy/proxy/redistest"
)

// What every attack has to leave to the honest client and to the machine.
const (
	// mostMemory bounds the proxy's memory, whatever clients do. Idle it has a tenth.
	mostMemory = 256 << 20
	// attackers is how many connections most attacks come on.
	attackers = 400
	// attackTime bounds each attack.
	attackTime = 1500 * time.Millisecond
	// slowestHonest bounds the wait for any answer: answer_within, and as much again, since
	// the proxy, the backends and the attackers are on the same machine.
	slowestHonest = 2 * time.Second
	// fewestHonest is how many answers come while an attack goes on, unless all attackers
	// are cut off in a moment. A free machine gives hundreds.
	fewestHonest = 5
)

// Where clients have to log in.
const (
	secret = "the-right-password"
	closed = "password = \"" + secret + "\"\n"
)

// attack is what hostile clients do, each on a connection of its own, until they are
// cut off or the time is up.
type attack struct {
	name     string
	settings string // of the proxy, beside the short time limits
	clients  int
	do       func(c net.Conn, number int, until time.Time) error
	frozen   bool // one of the backends takes nothing meanwhile
}

// limits are short where a test waits for them, and longer than usual where the
// attackers, who are on the same machine as the backends and the honest client, could make
// the honest one late.
const limits = `
[lane]
vote = "450ms"
[server]
answer_within = "1s"
half_command = "600ms"
write_stall = "600ms"
handshake = "600ms"
`

func TestAttacksBoundMemoryAndLeaveHonestClientsAlone(t *testing.T) {
	backends := redistest.StartGroup(t, 5)
	machine := redistest.WatchMachine(t)
	for _, a := range attacks() {
		t.Run(a.name, func(t *testing.T) {
			p := redistest.StartRelease(t, backends.Addrs(), settings(t, limits+a.settings)...)
			if a.settings == closed {
				p.Password = secret
			}
			awaitVoters(t, p, 5)
			before := faults.Files(t, p)
			honest := &load{addr: p.Addr(), password: p.Password, name: "honest:" + a.name, machine: machine}
			stop := honest.start(1)
			defer stop()
			redistest.Eventually(t, 5*time.Second, "the honest client works", func() bool { return honest.done() > 2 })
			if a.frozen {
				backends[4].Pause()
				defer backends[4].Resume()
			}
			ends, meanwhile, lasted := a.outlast(t, p, honest)
			calm := honest.done()
			redistest.Eventually(t, 5*time.Second, "the honest client goes on", func() bool { return honest.done() > calm+2 })
			stop()
			peak := peakMemory(t, p)
			faults.Figure(t, "attack %s: at most %d MB; %d of %d honest operations failed, the slowest took %s, %d ended within its %s; ends: %v",
				a.name, peak>>20, len(honest.failed), honest.ops, honest.slowest.Round(time.Millisecond), meanwhile, lasted.Round(time.Millisecond), ends)
			if peak > mostMemory {
				t.Errorf("the proxy took %d MB", peak>>20)
			}
			honest.wantService(t, meanwhile, lasted)
			redistest.Eventually(t, 5*time.Second, "the attackers' files are closed", func() bool { return faults.Files(t, p) <= before })
		})
	}
}

// wantService checks what an honest client got beside an attack, after it has stopped:
// how many answers meanwhile, how many of what it asked for, and how late.
func (l *load) wantService(t *testing.T, meanwhile int, lasted time.Duration) {
	t.Helper()
	if lasted > attackTime/2 && meanwhile < fewestHonest {
		t.Errorf("the honest client had %d answers during an attack of %s", meanwhile, lasted)
	}
	// One in twenty may be late: the attackers take their share of the machine.
	if 20*len(l.failed) > l.ops {
		t.Errorf("the honest client: %q", l.failed[:min(len(l.failed), 10)])
	}
	if l.excused > slowestHonest {
		t.Errorf("the honest client waited for %s, without the time in which the machine was not to be had", l.excused)
	}
}

// outlast lets the attackers loose, again and again until the honest client has had its
// answers meanwhile: on a busy machine once may be too short for them.
func (a attack) outlast(t *testing.T, p *redistest.Proxy, honest *load) (ends map[string]int, meanwhile int, lasted time.Duration) {
	t.Helper()
	for range 8 {
		begun, earlier := time.Now(), honest.answered()
		ends = a.strike(t, p)
		lasted += time.Since(begun)
		if meanwhile += honest.answered() - earlier; meanwhile >= fewestHonest || lasted < attackTime/2 {
			break
		}
	}
	return ends, meanwhile, lasted
}

// strike lets the attackers loose and waits for them. It returns how their connections
// ended.
func (a attack) strike(t *testing.T, p *redistest.Proxy) map[string]int {
	t.Helper()
	until := time.Now().Add(attackTime)
	var mu sync.Mutex
	var all sync.WaitGroup
	ends := map[string]int{}
	for i := range a.clients {
		all.Go(func() {
			end := "time is up"
			if c, err := net.DialTimeout("tcp", p.Addr(), 2*time.Second); err != nil {
				end = "not connected"
			} else {
				defer func() { _ = c.Close() }()
				_ = c.SetDeadline(until.Add(time.Second))
				end = ending(a.do(c, i, until))
			}
			mu.Lock()
			defer mu.Unlock()
			ends[end]++
		})
	}
	all.Wait()
	return ends
}

// ending says in a word how a connection ended.
func ending(err error) string {
	switch {
	case err == nil:
		return "time is up"
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "cut off"
	case errors.Is(err, os.ErrDeadlineExceeded):
		return "stuck"
	}
	return err.Error()
}

func attacks() []attack {
	big := strings.Repeat("x", 500_000)
	script := func(text string) string { return array("EVAL", text, "1", "k") }
	return []attack{
		{"silence", "", attackers, wait, false},
		{"a byte now and then", "", attackers, after("*3\r\n$3\r\nSET\r\n$400\r\n", again("x", 50*time.Millisecond)), false},
		{"huge commands, never ended", "", attackers, after("*3\r\n$3\r\nSET\r\n$500000\r\n"+big+"\r\n$500000\r\n"+big, wait), false},
		{"huge commands", "", 32, reading(again(array("SET", "k", big, "PX", "100"), 5*time.Millisecond)), false},
		{"huge commands, and a frozen backend", "", 32, reading(again(array("SET", "k", big, "PX", "100"), 5*time.Millisecond)), true},
		{"many elements", "", attackers, after("*1024\r\n"+strings.Repeat("$1\r\nx\r\n", 1023), wait), false},
		{"replies that nobody reads", "", 100, again(strings.Repeat(array("ECHO", big), 4), 0), false},
		{"small replies that nobody reads", "", 100, again(strings.Repeat(array("PING"), 10_000), 0), false},
		{"endless pipelines", "", 20, reading(again(strings.Repeat(array("SET", "k", "v", "NX", "PX", "5"), 500), 0)), false},
		{"endless loops in scripts", "", 50, ask(script("while true do end")), false},
		{"texts that grow in scripts", "", 50, ask(script("local s = 'x' while true do s = s .. s end")), false},
		{"tables that grow in scripts", "", 50, ask(script("local t = {} while true do t[#t + 1] = {} end")), false},
		{"patterns that backtrack in scripts", "", 50, ask(script("return string.find(string.rep('a', 4000), string.rep('a-', 20) .. 'b')")), false},
		{"scripts by the thousand", "", 20, reading(manyScripts), false},
		{"garbage", "", attackers, garbage, false},
		{"resets in the middle", "", 50, resets, false},
		{"huge commands, then silence", "", 200, hugeThenSilent(array("SET", "k", big, "NX")), false},
		{"strangers without the password", closed, 100, strangers(big), false},
		{"more clients than may be", "max_clients = 100\n", 5 * attackers / 4, wait, false},
	}
}
