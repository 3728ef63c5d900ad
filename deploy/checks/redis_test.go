package checks

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	apps "k8s.io/api/apps/v1"

	"redlockproxy/proxy/redistest"
)

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// The shell lines that start a backend in a container, and that ask whether it is
// well, are run here on a folder with the files that they find there.
func TestCommandsOfContainersStartABackendThatIsFit(t *testing.T) {
	service := project(t).Services["redis-1"]
	pod := get[*apps.StatefulSet](t, shared(t), "redis").Spec.Template.Spec.Containers[0]
	t.Run("compose", func(t *testing.T) {
		backendIsFit(t, service.Command[2], service.HealthCheck.Test[1], "/run/secrets")
	})
	t.Run("kubernetes", func(t *testing.T) {
		backendIsFit(t, pod.Command[2], pod.ReadinessProbe.Exec.Command[2], "/run/secrets/redlock")
	})
}

func backendIsFit(t *testing.T, start, probe, secrets string) {
	t.Helper()
	dir := t.TempDir()
	port := freePort(t)
	write(t, filepath.Join(dir, "backends"), "s3cret\n")
	write(t, filepath.Join(dir, "rights.acl"), rights(t)+"\n")
	write(t, filepath.Join(dir, "redis.conf"), deployed(t, "redis/redis.conf")+"\nbind 127.0.0.1\nport "+port+"\ndir "+dir+"\n")
	// A container's "$" is written "$$" for Compose, whose reader of files leaves it so.
	here := strings.NewReplacer("/etc/redlock", dir, secrets+"/", dir+"/", "$$", "$", "redis-cli ", "redis-cli -p "+port+" ")
	server := exec.Command("sh", "-c", here.Replace(start))
	server.WaitDelay = time.Second // a child that is left behind does not keep its output open
	var said strings.Builder
	server.Stdout, server.Stderr = &said, &said
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Wait() }()
	t.Cleanup(func() {
		_ = server.Process.Signal(syscall.SIGTERM)
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("it did not end as it should: %v", err)
			}
		case <-time.After(10 * time.Second):
			_ = server.Process.Kill()
			t.Error("it does not hear SIGTERM")
		}
		if t.Failed() {
			t.Logf("it said:\n%s", &said)
		}
	})
	redistest.Eventually(t, 10*time.Second, "the probe says that it is well", func() bool {
		return exec.Command("sh", "-c", here.Replace(probe)).Run() == nil
	})
	if out, err := exec.Command("sh", "-c", strings.Replace(here.Replace(probe), "backends)", "backends)x", 1)).CombinedOutput(); err == nil {
		t.Errorf("the probe is content with a wrong password: %s", out)
	}
	out, err := exec.Command(redistest.Binary(t), "check", "-backends", "redis://redlock-proxy:s3cret@127.0.0.1:"+port).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "  fit  ") {
		t.Errorf("check: %v\n%s", err, out)
	}
	command, err := os.ReadFile("/proc/" + pid(server) + "/cmdline")
	if err != nil || strings.Contains(string(command), "s3cret") {
		t.Errorf("its arguments are %q, %v", command, err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// freePort is one that nobody listens on, for a server that can't be told to take any.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return port
}

func pid(c *exec.Cmd) string { return strconv.Itoa(c.Process.Pid) }
