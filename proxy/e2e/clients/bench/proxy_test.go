//go:build linux

package bench

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"redlockproxy/proxy/redistest"
)

// A proxy is the real binary, with its log going to a file as a service manager
// would have it: a pipe to this process would put the reading of the log on the
// load's account.
type proxy struct {
	addr string
	pid  int
}

// startTries is how often another port is tried if the chosen one was taken between
// looking and binding.
const startTries = 5

// startProxy starts a proxy and has it killed when the benchmark ends.
func startProxy(b *testing.B, group redistest.Group, extra ...string) *proxy {
	b.Helper()
	for range startTries {
		if p := launch(b, group, extra); p != nil {
			return p
		}
	}
	b.Fatal("redlock-proxy does not start; run it by hand to see why")
	return nil
}

// launch starts a proxy and waits until it answers; nil if it ended instead.
func launch(b *testing.B, group redistest.Group, extra []string) *proxy {
	b.Helper()
	addr := freeAddr(b)
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		b.Fatal(err)
	}
	defer null.Close()
	args := []string{"serve", "-listen", addr, "-admin", "", "-backends", strings.Join(group.Addrs(), ",")}
	cmd := exec.Command(redistest.Binary(b), append(args, extra...)...)
	cmd.Stdout, cmd.Stderr = null, null
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // it is killed in the end, which is an error to Wait
		close(ended)
	}()
	stop := func() {
		_ = cmd.Process.Kill() // it may have ended
		<-ended
	}
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		select {
		case <-ended:
			return nil
		default:
		}
		if reply, err := do(addr, "PING"); err == nil && reply == redistest.Status("PONG") {
			b.Cleanup(stop)
			p := &proxy{addr: addr, pid: cmd.Process.Pid}
			awaitVotes(b, group, addr)
			return p
		}
	}
	stop()
	return nil
}

func freeAddr(b *testing.B) string {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// resident is the memory that the process takes, in MiB.
func (p *proxy) resident(b *testing.B) float64 {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.pid))
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) >= 2 && f[0] == "VmRSS:" {
			kib, err := strconv.Atoi(f[1])
			if err != nil {
				b.Fatal(err)
			}
			return float64(kib) / 1024
		}
	}
	b.Fatalf("no VmRSS in the status of process %d", p.pid)
	return 0
}
