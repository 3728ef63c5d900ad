package checks

import (
	"os/exec"
	"path/filepath"
	"strings"
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
	// As conf says of a wrong configuration.
	err := exec.Command(redistest.Binary(t), "serve", "-config", filepath.Join(t.TempDir(), "missing")).Run()
	if exit, is := err.(*exec.ExitError); !is || setting(t, "RestartPreventExitStatus") != "2" || exit.ExitCode() != 2 {
		t.Errorf("without its configuration it ends with %v", err)
	}
}
