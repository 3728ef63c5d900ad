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

// A container is a backend as one of the manifests starts it, run here: its shell lines
// find their files in a folder of their own, and its port is free.
type container struct {
	t            *testing.T
	dir, port    string
	start, probe string
	here         *strings.Replacer // what the lines are to say here
	server       *exec.Cmd
	ended        chan error
	said         strings.Builder
}

// inContainers runs a test with the backend of each manifest.
func inContainers(t *testing.T, test func(*testing.T, *container)) {
	t.Helper()
	service := project(t).Services["redis-1"]
	spec := get[*apps.StatefulSet](t, shared(t), "redis").Spec.Template.Spec
	pod := spec.Containers[0]
	t.Run("compose", func(t *testing.T) {
		var sees []string
		for _, s := range service.Secrets {
			sees = append(sees, s.Source)
		}
		test(t, newContainer(t, service.Command[2], service.HealthCheck.Test[1], "/run/secrets/", sees))
	})
	t.Run("kubernetes", func(t *testing.T) {
		var sees []string
		for path := range secretFiles(t, spec, pod) {
			sees = append(sees, filepath.Base(path))
		}
		test(t, newContainer(t, pod.Command[2], pod.ReadinessProbe.Exec.Command[2], "/run/secrets/redlock/", sees))
	})
}

func newContainer(t *testing.T, start, probe, secrets string, sees []string) *container {
	t.Helper()
	_, port, _ := net.SplitHostPort(redistest.FreeAddr(t))
	c := &container{t: t, dir: t.TempDir(), port: port, start: start, probe: probe}
	for _, name := range sees {
		write(t, c.dir+"/"+name, map[string]string{"backends": "s3cret", "admin": "4dmin"}[name]+"\n")
	}
	write(t, c.dir+"/rights.acl", rights(t)+"\n")
	write(t, c.dir+"/redis.conf", deployed(t, "redis/redis.conf")+"\nbind 127.0.0.1\nport "+port+"\ndir "+c.dir+"\n")
	// A container's "$" is written "$$" for Compose, whose reader of files leaves it so.
	c.here = strings.NewReplacer("/etc/redlock", c.dir, secrets, c.dir+"/", " secrets/", " "+c.dir+"/", "$$", "$", "redis-cli ", "redis-cli -p "+port+" ")
	c.run()
	t.Cleanup(c.end)
	return c
}

// run starts the backend and waits until the probe says that it is well.
func (c *container) run() {
	c.t.Helper()
	c.server = exec.Command("sh", "-c", c.here.Replace(c.start))
	c.server.WaitDelay = time.Second // a child that is left behind does not keep its output open
	c.server.Stdout, c.server.Stderr = &c.said, &c.said
	if err := c.server.Start(); err != nil {
		c.t.Fatal(err)
	}
	ended := make(chan error, 1)
	server := c.server
	go func() { ended <- server.Wait() }()
	c.ended = ended
	redistest.Eventually(c.t, 20*time.Second, "the probe says that it is well", func() bool {
		return exec.Command("sh", "-c", c.here.Replace(c.probe)).Run() == nil
	})
}

// end waits for the end of a backend that is told to.
func (c *container) end() {
	_ = c.server.Process.Signal(syscall.SIGTERM)
	c.awaitEnd()
	if c.t.Failed() {
		c.t.Logf("it said:\n%s", &c.said)
	}
}

func (c *container) awaitEnd() {
	c.t.Helper()
	select {
	case err := <-c.ended:
		if err != nil {
			c.t.Errorf("it did not end as it should: %v", err)
		}
	case <-time.After(10 * time.Second):
		_ = c.server.Process.Kill()
		c.t.Error("it does not end")
	}
}

// check is what the program's check says of the backend, with a password.
func (c *container) check(password string) (string, error) {
	c.t.Helper()
	args := append(redistest.Patient(c.t), "check", "-backends", "redis://redlock-proxy:"+password+"@127.0.0.1:"+c.port)
	out, err := exec.Command(redistest.Binary(c.t), args...).CombinedOutput()
	return string(out), err
}

func TestCommandsOfContainersStartABackendThatIsFit(t *testing.T) {
	inContainers(t, func(t *testing.T, c *container) {
		if out, err := exec.Command("sh", "-c", strings.Replace(c.here.Replace(c.probe), "backends)", "backends)x", 1)).CombinedOutput(); err == nil {
			t.Errorf("the probe is content with a wrong password: %s", out)
		}
		if out, err := c.check("s3cret"); err != nil || !strings.Contains(out, "  fit  ") {
			t.Errorf("check: %v\n%s", err, out)
		}
		command, err := os.ReadFile("/proc/" + strconv.Itoa(c.server.Process.Pid) + "/cmdline")
		if err != nil || strings.Contains(string(command), "s3cret") || strings.Contains(string(command), "4dmin") {
			t.Errorf("its arguments are %q, %v", command, err)
		}
	})
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// blocks are the indented lines below a heading of docs/operations.md, each run of them
// as one text.
func blocks(t *testing.T, heading string) (all []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "operations.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, below, found := strings.Cut(string(text), "\n"+heading+"\n")
	if !found {
		t.Fatalf("no section %s", heading)
	}
	below, _, _ = strings.Cut(below, "\n## ")
	for part := range strings.SplitSeq(below, "\n\n") {
		if strings.HasPrefix(part, "    ") {
			all = append(all, part)
		}
	}
	return all
}

// Docker and kubectl as the lines call them, for containers that are processes here:
// what is to be executed in one, a signal, and a secret. One backend of the five is real;
// the others say what it says when it is well.
const stage = `
real() { name=$1 first=$2; shift 2; case "$name" in "$first") "$@";; redis-[1-4] | redis-5) cat >/dev/null; echo OK;; *) return 1;; esac; }
docker() { case "$2" in exec) name=$4; shift 4; real "$name" redis-1 "$@";; kill) kill -s "$4" "$PROXY";; *) return 1;; esac; }
kubectl() { case "$3" in exec) name=$5; shift 6; real "$name" redis-0 "$@";; patch) sed 's/.*"backends":"\(.*\)".*/\1/' > "$BACKENDS";; rollout) ;; *) return 1;; esac; }
openssl() { echo n3w; }
`

// shell runs a block of the document with the container and the proxy.
func (c *container) shell(block string, proxy *redistest.Proxy) string {
	c.t.Helper()
	cmd := exec.Command("sh", "-c", stage+c.here.Replace(block))
	cmd.Env = append(os.Environ(), "PROXY="+strconv.Itoa(proxy.PID()), "BACKENDS="+c.dir+"/backends", "old=s3cret", "new=n3w")
	out, err := cmd.CombinedOutput()
	if err != nil {
		c.t.Fatalf("%v\n%s\n%s", err, block, out)
	}
	return string(out)
}

func TestPasswordOfBackendsInContainersChangesByTheLinesOfTheRunbook(t *testing.T) {
	lines := blocks(t, "## Changing the backends' password, backend by backend")
	if len(lines) != 4 {
		t.Fatalf("%d blocks of lines, wanted two for Compose and two for Kubernetes", len(lines))
	}
	inContainers(t, func(t *testing.T, c *container) {
		entry := "redis://redlock-proxy@127.0.0.1:" + c.port + "?password_file=" + c.dir + "/backends"
		start := func() *redistest.Proxy { return redistest.StartProxy(t, []string{entry}, redistest.Patient(t)...) }
		proxy, add, remove := start(), lines[0], lines[1]
		if strings.HasSuffix(t.Name(), "kubernetes") {
			add, remove = lines[2], lines[3]
		}
		if said := c.shell(add, proxy); strings.Count(said, "OK\n") != 5 {
			t.Fatalf("a second password on five backends: %s", said)
		}
		if strings.HasSuffix(t.Name(), "kubernetes") {
			proxy = start() // what the Deployment's restart does
		} else {
			redistest.Eventually(t, 20*time.Second, "the proxy logs in with it", func() bool {
				return strings.Contains(proxy.Output(), "the backend has taken the new credentials")
			})
		}
		if said := c.shell(remove, proxy); strings.Count(said, "OK\n") != 5 {
			t.Fatalf("the old password away on five backends: %s", said)
		}
		c.wantPassword("n3w", "s3cret")
		redistest.Eventually(t, 20*time.Second, "the proxy votes", func() bool { return proxy.Voters() == 1 })

		// And it stays so when the backend starts again.
		c.maintain("SLOWLOG", "GET", "1")
		c.maintain("SHUTDOWN")
		c.awaitEnd()
		c.run()
		c.wantPassword("n3w", "s3cret")
	})
}

func (c *container) wantPassword(right, wrong string) {
	c.t.Helper()
	if out, err := c.check(right); err != nil {
		c.t.Errorf("with the password %s: %v\n%s", right, err, out)
	}
	if out, err := c.check(wrong); err == nil || !strings.Contains(out, "WRONGPASS") {
		c.t.Errorf("with the password %s: %v\n%s", wrong, err, out)
	}
}

// maintain sends a command as the administrator.
func (c *container) maintain(args ...string) {
	c.t.Helper()
	cmd := exec.Command("redis-cli", append([]string{"-e", "-p", c.port, "--user", "admin"}, args...)...)
	cmd.Env = append(os.Environ(), "REDISCLI_AUTH=4dmin")
	if out, err := cmd.CombinedOutput(); err != nil {
		c.t.Errorf("%q: %v\n%s", args, err, out)
	}
}
