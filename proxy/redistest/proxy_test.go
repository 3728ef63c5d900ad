package redistest

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// fakeProxyEnv makes this test's binary stand in for redlock-proxy.
const fakeProxyEnv = "REDISTEST_FAKE_PROXY"

// fakeProxy does what the harness needs of the binary: log where it listens,
// answer OK to everything, and end on SIGTERM unless told to ignore it.
func fakeProxy() {
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println("not JSON")
	fmt.Fprintf(os.Stderr, `{"level":"info","message":"listening","addr":%q,"setting":%q}`+"\n", l.Addr(), os.Getenv("REDLOCK_PROXY_X"))
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				buf := make([]byte, 1024)
				for _, err := conn.Read(buf); err == nil; _, err = conn.Read(buf) {
					_, _ = io.WriteString(conn, "+OK\r\n")
				}
			}()
		}
	}()
	for range term {
		if os.Getenv(fakeProxyEnv) == "end" {
			os.Exit(3)
		}
	}
}

func startFake(tb testing.TB, behaviour string) *Proxy {
	tb.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), fakeProxyEnv+"="+behaviour, "REDLOCK_PROXY_X=must not get through")
	return startProxy(tb, cmd)
}

func TestProxyAddressComesFromItsLog(t *testing.T) {
	p := startFake(t, "end")
	if reply := p.MustDo("PING"); reply != Status("OK") {
		t.Errorf("reply %v", reply)
	}
	if logs := p.Logs(); len(logs) != 1 || logs[0]["setting"] != "" {
		t.Errorf("logs %v", logs)
	}
	if !strings.Contains(p.Output(), "not JSON") {
		t.Errorf("output %q", p.Output())
	}
}

func TestStopReturnsTheExitCode(t *testing.T) {
	p := startFake(t, "end")
	if code := p.Stop(); code != 3 {
		t.Errorf("exit code %d", code)
	}
	if p.Running() {
		t.Error("runs after Stop")
	}
}

func TestPausedProxyIsSilentUntilResumed(t *testing.T) {
	p := startFake(t, "end")
	c := p.Client()
	p.Pause()
	if err := c.Send("PING"); err != nil {
		t.Fatal(err)
	}
	wantSilence(t, c)
	p.Resume()
	if reply, err := c.Receive(); err != nil || reply != Status("OK") {
		t.Errorf("after Resume: %v, %v", reply, err)
	}
}

func TestKillEndsAProxyThatIgnoresSIGTERM(t *testing.T) {
	p := startFake(t, "ignore")
	p.Signal(syscall.SIGTERM)
	if p.proc.wait(50 * time.Millisecond) {
		t.Fatal("ended on SIGTERM")
	}
	p.Kill()
	if p.Running() {
		t.Error("runs after Kill")
	}
}

func TestModuleRootHoldsGoMod(t *testing.T) {
	root, err := ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil || !strings.HasPrefix(string(text), "module "+module+"\n") {
		t.Errorf("%s: %v", root, err)
	}
}
