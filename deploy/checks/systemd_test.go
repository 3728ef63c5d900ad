package checks

import (
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"redlockproxy/proxy/redistest"
)

// unit is the unit with the binary in the place where it was built, written to a file.
func unit(t *testing.T) string {
	t.Helper()
	text := strings.Replace(deployed(t, "systemd/redlock-proxy.service"), "ExecStart=/usr/local/bin/redlock-proxy", "ExecStart="+redistest.Binary(t), 1)
	path := filepath.Join(t.TempDir(), "redlock-proxy.service")
	write(t, path, text)
	return path
}

// setting is the value of one setting of the unit.
func setting(t *testing.T, name string) string {
	t.Helper()
	_, after, found := strings.Cut(deployed(t, "systemd/redlock-proxy.service"), "\n"+name+"=")
	if !found {
		t.Fatalf("no %s in the unit", name)
	}
	value, _, _ := strings.Cut(after, "\n")
	return value
}

func TestUnitIsValidAndHardened(t *testing.T) {
	path := unit(t)
	out, err := exec.Command("systemd-analyze", "verify", "--man=no", path).CombinedOutput()
	if err != nil || strings.Contains(string(out), "redlock-proxy.service:") {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
	// In tenths; 2 is far on the safe side of "OK", which ends at 5.
	if out, err := exec.Command("systemd-analyze", "security", "--no-pager", "--offline=true", "--threshold=20", path).CombinedOutput(); err != nil {
		t.Errorf("systemd-analyze security: %v\n%s", err, out)
	}
}

func TestUnitStartsTheProxyWithItsConfiguration(t *testing.T) {
	words := strings.Fields(setting(t, "ExecStart"))
	c := configured(t, nil, map[string]string{"/etc/redlock-proxy/redlock-proxy.toml": "[group]\nname = \"from-the-file\""}, words[1:]...)
	if c.Group.Name != "from-the-file" {
		t.Errorf("%q runs the group %s", words, c.Group.Name)
	}
}

func TestUnitIsDownAfterAWrongConfigurationAndNotAfterACrash(t *testing.T) {
	head, _, _ := strings.Cut(deployed(t, "systemd/redlock-proxy.service"), "\n[Service]\n")
	if !strings.Contains(head, "\nStartLimitIntervalSec=0\n") {
		t.Error("systemd would leave it down after a few crashes in a row: [Unit] has no StartLimitIntervalSec=0")
	}
	prevents, err := strconv.Atoi(setting(t, "RestartPreventExitStatus"))
	if err != nil || setting(t, "Restart") != "on-failure" {
		t.Fatalf("Restart=%s but for %v", setting(t, "Restart"), err)
	}
	for _, wrong := range [][]string{{"serve", "-config", filepath.Join(t.TempDir(), "missing")}, {"serve", "-no-such-flag"}} {
		err := exec.Command(redistest.Binary(t), wrong...).Run()
		if exit, is := err.(*exec.ExitError); !is || exit.ExitCode() != prevents {
			t.Errorf("%q ends with %v, the unit knows %d", wrong, err, prevents)
		}
	}
	p := redistest.StartProxy(t, nil)
	p.Signal(syscall.SIGQUIT) // which Go ends a program for as for a panic
	if code := p.Wait(); code == 0 || code == prevents {
		t.Errorf("after a crash with exit status %d systemd would leave it down", code)
	}
}

func TestSysusersMakesTheUserOfTheUnit(t *testing.T) {
	file, err := filepath.Abs("../systemd/redlock-proxy.sysusers.conf")
	if err != nil {
		t.Fatal(err)
	}
	// An empty root: this machine's users do not matter.
	out, err := exec.Command("systemd-sysusers", "--dry-run", "--root="+t.TempDir(), file).CombinedOutput()
	if err != nil {
		t.Errorf("systemd-sysusers: %v", err)
	}
	for _, made := range []string{"group '" + setting(t, "Group"), "user '" + setting(t, "User")} {
		if !strings.Contains(string(out), "Creating "+made+"'") {
			t.Errorf("systemd-sysusers does not make the %s':\n%s", made, out)
		}
	}
}
