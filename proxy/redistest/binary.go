package redistest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// module is the module whose binary is built.
const module = "redlockproxy"

var (
	buildOnce  sync.Once
	buildDir   string // removed by Main
	binaryPath string
	buildErr   error
)

// Main runs a package's tests and removes the binary that they built. A package
// that uses Binary or StartProxy calls it from its TestMain:
//
//	func TestMain(m *testing.M) { os.Exit(redistest.Main(m)) }
func Main(m *testing.M) int {
	code := m.Run()
	if buildDir != "" {
		if err := os.RemoveAll(buildDir); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	return code
}

// Binary is the path of the redlock-proxy binary, built from the sources of this
// module once per test process, with the race detector if the test runs with it.
func Binary(tb testing.TB) string {
	tb.Helper()
	buildOnce.Do(func() { binaryPath, buildErr = build() })
	if buildErr != nil {
		tb.Fatal(buildErr)
	}
	return binaryPath
}

func build() (string, error) {
	root, err := ModuleRoot()
	if err != nil {
		return "", err
	}
	if buildDir, err = os.MkdirTemp("", "redlock-proxy"); err != nil {
		return "", err
	}
	path := filepath.Join(buildDir, "redlock-proxy")
	args := []string{"build", "-o", path}
	if raceBuild {
		args = append(args, "-race")
	}
	cmd := exec.Command("go", append(args, ".")...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building redlock-proxy: %w\n%s", err, out)
	}
	return path, nil
}

// ModuleRoot is the folder of the module redlockproxy, also when the test is in
// a module nested in it.
func ModuleRoot() (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		return "", fmt.Errorf("where the module %s is: %w", module, err)
	}
	return strings.TrimSpace(string(out)), nil
}
