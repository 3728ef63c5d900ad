package switches

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

var (
	throw = flag.Bool("switches", false, "break each rule and see that tests fail")
	only  = flag.String("only", "", "break only the rules with this text in them")
	of    = flag.String("of", "", "break only the rules of packages whose path begins so")
	whole = flag.Bool("whole", false, "run the package's other tests too, to see which more of them notice")
)

// root is the module's folder as seen from here.
const root = "../../.."

// atOnce is how many switches are thrown at the same time: on a small machine more
// would only get in each other's way, and in that of the tests' real servers.
const atOnce = 2

// limit is how long one switch may take to be compiled and caught, also where others
// need the processors. A rule that ends a wait may leave a test hanging; that is a catch.
const limit = 5 * time.Minute

// broken is the source with the breach.
func (b breach) broken() ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(root, b.file))
	if err != nil {
		return nil, err
	}
	for _, edit := range [][2]string{{b.old, b.new}, b.also} {
		if edit[0] == "" {
			continue
		}
		if n := bytes.Count(text, []byte(edit[0])); n != 1 {
			return nil, fmt.Errorf("stale: the text is %d times in %s, want once:\n%s", n, b.file, edit[0])
		}
		text = bytes.Replace(text, []byte(edit[0]), []byte(edit[1]), 1)
	}
	return text, nil
}

func TestSwitchesFitTheSources(t *testing.T) {
	rules := map[string]bool{}
	for _, b := range breaches() {
		if rules[b.rule] {
			t.Errorf("%s: there twice", b.rule)
		}
		rules[b.rule] = true
		text, err := b.broken()
		if err != nil {
			t.Errorf("%s: %v", b.rule, err)
			continue
		}
		if _, err := format.Source(text); err != nil {
			t.Errorf("%s: %v", b.rule, err)
		}
		if len(b.tests) == 0 {
			t.Errorf("%s: no test is expected to fail", b.rule)
		}
		for _, name := range b.tests {
			if !exists(t, b.pkg, name) {
				t.Errorf("%s: there is no %s in %s", b.rule, name, b.pkg)
			}
		}
	}
	if len(rules) < 24 {
		t.Errorf("%d switches are too few to show anything", len(rules))
	}
}

// exists tells whether a package has a test of that name.
func exists(t *testing.T, pkg, test string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, pkg, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(text, []byte("\nfunc "+test+"(t ")) {
			return true
		}
	}
	return false
}

func TestEverySwitchIsCaught(t *testing.T) {
	if !*throw {
		t.Skip("make switches throws them")
	}
	all := slices.DeleteFunc(breaches(), func(b breach) bool {
		return !strings.Contains(b.rule, *only) || !strings.HasPrefix(b.pkg, *of)
	})
	caught := make([][]string, len(all))
	free := make(chan struct{}, atOnce)
	var under sync.WaitGroup
	for i, b := range all {
		free <- struct{}{}
		under.Go(func() {
			defer func() { <-free }()
			var err error
			began := time.Now()
			if caught[i], err = b.throw(t.Context(), t.TempDir()); err != nil {
				t.Errorf("%s (%s): %v", b.rule, b.file, err)
			}
			t.Logf("%4.1f s: %s", time.Since(began).Seconds(), b.rule)
		})
	}
	under.Wait()
	t.Logf("%d rules, and the tests that noticed when each was broken:\n%s", len(all), list(all, caught))
}

// throw compiles the package with the breach and runs the tests that are to notice, or
// with -whole all but the slow ones. It gives back those that failed; it is an error if
// an expected one is not among them.
func (b breach) throw(ctx context.Context, dir string) (failed []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	overlay, err := b.overlay(dir)
	if err != nil {
		return nil, err
	}
	run := "^(" + strings.Join(b.tests, "|") + ")$"
	if *whole {
		run = ""
	}
	cmd := exec.CommandContext(ctx, "go", "test", "-overlay", overlay, "-vet=off", "-count=1",
		"-timeout", "60s", "-run", run, "-skip", slow, "./"+b.pkg)
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return nil, err
	}
	failed = failures(out)
	switch {
	case err == nil:
		return nil, fmt.Errorf("no test noticed; %s should have", strings.Join(b.tests, ", "))
	case len(failed) == 0:
		return nil, fmt.Errorf("no test ran: %v\n%s", ctx.Err(), end(out))
	}
	for _, name := range b.tests {
		if !slices.Contains(failed, name) {
			return failed, fmt.Errorf("%s did not fail, but %s", name, strings.Join(failed, ", "))
		}
	}
	return failed, nil
}

// overlay writes the broken file, and the file that names it to the go command.
func (b breach) overlay(dir string) (name string, err error) {
	text, err := b.broken()
	if err != nil {
		return "", err
	}
	file, err := filepath.Abs(filepath.Join(root, b.file))
	if err != nil {
		return "", err
	}
	instead := filepath.Join(dir, filepath.Base(b.file))
	if err := os.WriteFile(instead, text, 0o600); err != nil {
		return "", err
	}
	what, err := json.Marshal(map[string]map[string]string{"Replace": {file: instead}})
	if err != nil {
		return "", err
	}
	name = filepath.Join(dir, "overlay.json")
	return name, os.WriteFile(name, what, 0o600)
}

var (
	failedLine = regexp.MustCompile(`(?m)^--- FAIL: (\w+)`)
	// A test that hung is named when the time is over.
	hungLine = regexp.MustCompile(`(?m)^\t\t(Test\w+)(?:/\S*)? \(`)
)

// failures are the tests that failed, in order.
func failures(out []byte) (names []string) {
	for _, m := range failedLine.FindAllSubmatch(out, -1) {
		names = append(names, string(m[1]))
	}
	if _, hung, ok := bytes.Cut(out, []byte("\npanic: test timed out")); ok {
		for _, m := range hungLine.FindAllSubmatch(hung, -1) {
			names = append(names, string(m[1]))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// end is the last part of a long output.
func end(out []byte) string {
	const most = 2000
	return string(out[max(0, len(out)-most):])
}

// list is a table for people: each rule, and the tests that caught its breach, the
// expected ones first.
func list(all []breach, caught [][]string) string {
	var out strings.Builder
	for i, b := range all {
		var names []string
		for _, name := range slices.Concat(b.tests, caught[i]) {
			if slices.Contains(caught[i], name) && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		if len(names) == 0 {
			names = []string{"NOT CAUGHT"}
		}
		const most = 4
		more := ""
		if len(names) > most {
			more = fmt.Sprintf(" and %d more", len(names)-most)
			names = names[:most]
		}
		fmt.Fprintf(&out, "  %-58s %s: %s%s\n", b.rule, b.pkg, strings.Join(names, ", "), more)
	}
	return out.String()
}
