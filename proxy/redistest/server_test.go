package redistest

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if os.Getenv(fakeProxyEnv) != "" {
		fakeProxy()
		return
	}
	goleak.VerifyTestMain(cleaning{m})
}

// cleaning runs tests as Main does.
type cleaning struct{ m *testing.M }

func (c cleaning) Run() int { return Main(c.m) }

// Where there is no redis-server a test fails and says what to install: a suite that
// skips, or goes on with something else, would have tested nothing.
func TestWithoutRedisServerATestFails(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.v", "-test.run", "^TestServerAnswersOnPortAndSocket$")
	cmd.Env = append(os.Environ(), "PATH="+t.TempDir())
	out, err := cmd.CombinedOutput()
	var failed *exec.ExitError
	if !errors.As(err, &failed) {
		t.Fatalf("%v: %s", err, out)
	}
	for _, wanted := range []string{"--- FAIL: TestServerAnswersOnPortAndSocket", "apt-get install redis-server"} {
		if !strings.Contains(string(out), wanted) {
			t.Errorf("no %q in: %s", wanted, out)
		}
	}
}

func TestServerAnswersOnPortAndSocket(t *testing.T) {
	s := Start(t)
	for _, addr := range []string{s.Addr(), s.Socket()} {
		c, err := Dial(addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if reply, err := c.Do("PING"); err != nil || reply != Status("PONG") {
			t.Errorf("PING at %s: %v, %v", addr, reply, err)
		}
	}
	if port := s.Info("tcp_port"); net.JoinHostPort("127.0.0.1", port) != s.Addr() {
		t.Errorf("tcp_port %s of the server at %s", port, s.Addr())
	}
}

func TestPausedServerAnswersAfterResume(t *testing.T) {
	s := Start(t)
	c := s.Client()
	s.Pause()
	if err := c.Send("SET", "k", "v"); err != nil {
		t.Fatal(err)
	}
	c.Timeout = 50 * time.Millisecond
	if reply, err := c.Receive(); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("a paused server said %v, %v", reply, err)
	}
	s.Resume()
	c.Timeout = 5 * time.Second
	if reply, err := c.Receive(); err != nil || reply != Status("OK") {
		t.Fatalf("after Resume: %v, %v", reply, err)
	}
}

func TestKilledServerRefusesAndRestartsEmptyOnItsAddress(t *testing.T) {
	s := Start(t)
	s.MustDo("SET", "k", "v")
	before := s.Info("run_id")
	s.Kill()
	if _, err := Dial(s.Addr()); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("dialling a killed server: %v", err)
	}
	s.Restart()
	if keys := s.Keys(); len(keys) != 0 {
		t.Errorf("restarted with %v", keys)
	}
	if after := s.Info("run_id"); after == before || after == "" {
		t.Errorf("run_id %q after %q", after, before)
	}
}

func TestPersistentServerKeepsItsDataWhenKilled(t *testing.T) {
	s := Start(t, Persistent())
	s.MustDo("SET", "k", "v")
	s.RestartWithData()
	if got := s.Get("k"); got != "v" {
		t.Errorf("after RestartWithData: %q", got)
	}
	s.Restart()
	if keys := s.Keys(); len(keys) != 0 {
		t.Errorf("after Restart: %v", keys)
	}
}

func TestPasswordIsAskedForAndGiven(t *testing.T) {
	s := Start(t, Password("secret"), Args("--maxclients", "77"))
	s.MustDo("SET", "k", "v")
	c, err := Dial(s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	reply, err := c.Do("GET", "k")
	if e, ok := reply.(Error); err != nil || !ok || e.Code() != "NOAUTH" {
		t.Errorf("without password: %v, %v", reply, err)
	}
	if got := s.MustDo("CONFIG", "GET", "maxclients"); !slices.Equal(got.([]any), []any{"maxclients", "77"}) {
		t.Errorf("maxclients: %v", got)
	}
}

func TestGroupServersAreIndependent(t *testing.T) {
	g := StartGroup(t, 5)
	g[1].MustDo("SET", "k", "v")
	g[3].MustDo("LPUSH", "k", "v")
	if n := g.Holding("k"); n != 2 {
		t.Errorf("%d servers hold k", n)
	}
	addrs := g.Addrs()
	slices.Sort(addrs)
	if len(slices.Compact(addrs)) != 5 {
		t.Errorf("addresses %v", addrs)
	}
}

func TestMonitorSeesEveryCommandOnce(t *testing.T) {
	s := Start(t)
	m := s.Monitor()
	binary := "a \"quoted\" \\ \x00\xff\r\n value"
	s.MustDo("SET", "k", binary)
	for range 100 {
		s.MustDo("INCR", "n")
	}
	s.MustDo("EVAL", "return redis.call('DEL', KEYS[1])", "1", "n")
	if n := m.Count("incr", "n"); n != 100 {
		t.Errorf("%d INCRs", n)
	}
	if n := m.Count("DEL", "n"); n != 0 {
		t.Errorf("%d DELs by clients", n)
	}
	commands := m.Commands()
	if first := commands[0]; !slices.Equal(first.Args, []string{"SET", "k", binary}) {
		t.Errorf("first: %q", first.Args)
	}
	last := commands[len(commands)-1]
	if last.From != "lua" || !slices.Equal(last.Args, []string{"DEL", "n"}) {
		t.Errorf("last: %q from %s", last.Args, last.From)
	}
}

func TestClientReadsEveryTypeOfItsProtocolAndNoOther(t *testing.T) {
	s := Start(t)
	c := s.Client()
	reply, err := c.Do("EVAL", "return {1, 'two', false, {redis.status_reply('s'), redis.error_reply('E x')}}", "0")
	if err != nil {
		t.Fatal(err)
	}
	items := reply.([]any)
	nested := items[3].([]any)
	if items[0] != int64(1) || items[1] != "two" || items[2] != nil || nested[0] != Status("s") || nested[1] != Error("E x") {
		t.Errorf("RESP2: %#v", reply)
	}
	reply, err = c.Hello3()
	if hello, ok := reply.(Map); err != nil || !ok || hello[0] != "server" {
		t.Errorf("HELLO 3: %#v, %v", reply, err)
	}
	if reply, err = c.Do("GET", "none"); err != nil || reply != nil {
		t.Errorf("null: %#v, %v", reply, err)
	}
	c.Proto = 2
	if reply, err = c.Do("GET", "none"); err == nil {
		t.Errorf("a RESP3 null was read as RESP2: %#v", reply)
	}
	c = s.Client()
	c.Proto = 3
	if reply, err = c.Do("GET", "none"); err == nil {
		t.Errorf("a RESP2 null was read as RESP3: %#v", reply)
	}
}

func TestTornServerForgetsItsLastCommandsOnly(t *testing.T) {
	s := Start(t, Persistent())
	s.MustDo("SET", "first", "v")
	s.MustDo("SET", "last", "v")
	s.RestartTorn(3)
	if keys := s.Keys(); !slices.Equal(keys, []string{"first"}) {
		t.Errorf("after the loss of a few bytes: %v", keys)
	}
}

func TestLoadingServerSaysSoUntilItIsToldToHurry(t *testing.T) {
	s := Start(t)
	s.MustDo("SET", "k", "v")
	s.RestartLoading()
	if reply, err := s.Do("GET", "k"); err != nil || !isLoading(reply) {
		t.Errorf("while it loads: %v, %v", reply, err)
	}
	s.FinishLoading()
	if got := s.Get("k"); got != "v" {
		t.Errorf("when it has loaded: %q", got)
	}
	s.Restart()
	if keys := s.Keys(); len(keys) != 0 {
		t.Errorf("restarted with %d keys", len(keys))
	}
}
