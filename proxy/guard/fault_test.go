package guard

import (
	"os"
	"regexp"
	"slices"
	"testing"
)

// TestCausesAreAllThatThereAre reads the source: what is missing is counted nowhere.
func TestCausesAreAllThatThereAre(t *testing.T) {
	source, err := os.ReadFile("fault.go")
	if err != nil {
		t.Fatal(err)
	}
	declared := regexp.MustCompile(`(?m)^(?:\t|const )Cause\w+\s+Cause = "(\w+)"$`).FindAllSubmatch(source, -1)
	for _, d := range declared {
		if !slices.Contains(Causes(), Cause(d[1])) {
			t.Errorf("%s is not among the causes", d[1])
		}
	}
	if len(declared) != len(Causes()) {
		t.Errorf("%d causes are declared, and there are %d", len(declared), len(Causes()))
	}
}
