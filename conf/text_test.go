package conf

import (
	"flag"
	"os"
	"reflect"
	"strings"
	"testing"
)

const exampleFile = "redlock-proxy.example.toml"

var update = flag.Bool("update", false, "write "+exampleFile+" anew")

func TestExampleFileIsMadeOfTheTable(t *testing.T) {
	if *update {
		if err := os.WriteFile(exampleFile, []byte(Example()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(exampleFile)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != Example() {
		t.Errorf("%s is not what the table says; write it with: go test ./conf -run %s -update", exampleFile, t.Name())
	}
}

func TestExampleFileLoadsAndHasTheDefaults(t *testing.T) {
	c, _, err := Load([]string{"-config", exampleFile}, nil, os.ReadFile)
	if err != nil {
		t.Fatal(err)
	}
	want := Default()
	want.Embedded = true
	if !reflect.DeepEqual(c, want) {
		t.Errorf("the example file gives\n%s\nwant\n%s", c, want)
	}
	settings, err := readTOML("", []byte(Example()))
	if err != nil {
		t.Fatal(err)
	}
	if len(settings) != len(keys())-1 {
		t.Errorf("%d settings in the example, %d in the table; all but the backends must be there", len(settings), len(keys()))
	}
	// The one that is a comment must be right as well.
	if c, err := loadTOML(strings.Replace(Example(), "# backends =", "backends =", 1)); err != nil || len(c.Group.Backends) != 5 {
		t.Errorf("with its backends: %v, %d of them", err, len(c.Group.Backends))
	}
}

func TestEveryRowIsDocumented(t *testing.T) {
	var c Config
	for _, f := range table(&c) {
		if f.doc == "" || f.bounds == "" {
			t.Errorf("%s has no documentation", f.key)
		}
		if first, _, _ := strings.Cut(f.doc, "\n"); !strings.ContainsAny(first[max(0, len(first)-2):], ".") {
			t.Errorf("%s: the help text shows only the first line, which must be a sentence: %q", f.key, first)
		}
		for line := range strings.SplitSeq(f.doc, "\n") {
			if len(line) > 100 || strings.TrimSpace(line) != line {
				t.Errorf("%s: a line of its documentation is too long or has spaces at its ends: %q", f.key, line)
			}
		}
	}
}

// A printed Config is a file that gives the same Config, secrets apart.
func TestPrintedConfigLoadsAgain(t *testing.T) {
	c, _ := load(t, []string{"-backends", "h:1,rediss://h:2,unix:/r.sock", "-listen", "[::1]:5"}, []string{
		"REDLOCK_PROXY_GROUP_MAX_TTL=90m", "REDLOCK_PROXY_GROUP_PAD_TTL=false", "REDLOCK_PROXY_LANE_VOTE=15500us",
	}, nil)
	again, err := loadTOML(c.String())
	if err != nil || !reflect.DeepEqual(c, again) {
		t.Errorf("%v\n%s\nbecame\n%s", err, c, again)
	}
}
