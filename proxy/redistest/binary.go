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

// A built is a binary, made once per test process.
type built struct {
	once sync.Once
	path string
	err  error
}

var (
	usual   built // with the race detector if the test runs with it
	release built // as it is shipped

	scratchMu  sync.Mutex
	scratchDir string // removed by Main
)

// scratch is a folder for what is built once per test process.
func scratch() (string, error) {
	scratchMu.Lock()
	defer scratchMu.Unlock()
	var err error
	if scratchDir == "" {
		scratchDir, err = os.MkdirTemp("", "redlock-proxy")
	}
	return scratchDir, err
}

// Main runs a package's tests and removes what they built. A package that uses
// Binary, StartProxy, StartRelease or OwnClock calls it from its TestMain:
//
//	func TestMain(m *testing.M) { os.Exit(redistest.Main(m)) }
func Main(m *testing.M) int {
	code := m.Run()
	if scratchDir != "" {
		if err := os.RemoveAll(scratchDir); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	return code
}

// Binary is the path of the redlock-proxy binary, built from the sources of this
// module once per test process, with the race detector if the test runs with it.
func Binary(tb testing.TB) string {
	tb.Helper()
	return usual.get(tb, "redlock-proxy", raceBuild)
}

// ReleaseBinary is the path of the binary as `make build` makes it, without the race
// detector, which takes several times the memory and the processors' time: for tests
// of either.
func ReleaseBinary(tb testing.TB) string {
	tb.Helper()
	return release.get(tb, "redlock-proxy-release", false)
}

func (b *built) get(tb testing.TB, name string, race bool) string {
	tb.Helper()
	b.once.Do(func() { b.path, b.err = build(name, race) })
	if b.err != nil {
		tb.Fatal(b.err)
	}
	return b.path
}

func build(name string, race bool) (string, error) {
	root, err := ModuleRoot()
	if err != nil {
		return "", err
	}
	dir, err := scratch()
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, name)
	args := []string{"build", "-o", path}
	if race {
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
