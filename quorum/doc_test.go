package quorum_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every invariant of the package comment names tests, and they exist.
func TestEveryInvariantNamesItsTests(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var tests strings.Builder
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		tests.Write(text)
	}
	invariants := regexp.MustCompile(`(?s)//   - I\d+\..*?\[(.*?)\]`).FindAllStringSubmatch(string(doc), -1)
	if len(invariants) != 15 {
		t.Errorf("%d invariants with tests, want 15", len(invariants))
	}
	for _, named := range invariants {
		for _, name := range regexp.MustCompile(`\w+`).FindAllString(named[1], -1) {
			if !strings.Contains(tests.String(), "func "+name+"(t ") {
				t.Errorf("there is no test %s", name)
			}
		}
	}
}
