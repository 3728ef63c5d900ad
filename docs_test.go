package main

import (
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"redlockproxy/conf"
	"redlockproxy/proxy/metrics"
	"redlockproxy/resp"
)

func readme(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestReadmeNamesEveryServedCommand(t *testing.T) {
	table := section(t, readme(t), "## Commands")
	for _, info := range resp.Commands() {
		if name := strings.ToUpper(info.Name); !strings.Contains(table, name) {
			t.Errorf("the command table does not have %s", name)
		}
	}
}

func TestReadmeAndHelpShowTheSameCommandLine(t *testing.T) {
	text := section(t, readme(t), "## Configuration")
	for _, word := range []string{"serve", "check", "top", "inspect KEY", "init", "version", "-config", "-listen", "-admin", "-backends", "-log-level", "-log-format", "-ping"} {
		if !strings.Contains(text, word) {
			t.Errorf("the README does not show %s", word)
		}
		if !strings.Contains(conf.HelpText(), word) {
			t.Errorf("the help text does not show %s", word)
		}
	}
}

func TestReadmeNamesEveryMetric(t *testing.T) {
	text := section(t, readme(t), "## Running it")
	group := metrics.Options{Backends: []string{"a"}, Source: nothing{}}
	for _, group.Topology = range []string{"single", "redlock"} {
		r := httptest.NewRecorder()
		metrics.New(group).Handler().ServeHTTP(r, httptest.NewRequest("GET", "/metrics", nil))
		for line := range strings.Lines(r.Body.String()) {
			name, isMetric := strings.CutPrefix(line, "# TYPE ")
			name, _, _ = strings.Cut(name, " ")
			if !isMetric || strings.HasPrefix(name, "go_") || strings.HasPrefix(name, "process_") {
				continue
			}
			short := name
			for _, family := range []string{"redlock_proxy_backend_", "redlock_proxy_"} {
				if rest, ok := strings.CutPrefix(short, family); ok {
					short = "…_" + rest
				}
			}
			if !strings.Contains(text, "`"+name+"`") && !strings.Contains(text, "`"+short+"`") {
				t.Errorf("the README does not name %s", name)
			}
		}
	}
}

// nothing is a source of metrics that has one backend.
type nothing struct{}

func (nothing) Backends() []metrics.Backend { return []metrics.Backend{{Name: "a"}} }
func (nothing) Server() metrics.Server      { return metrics.Server{Limits: map[string]int64{"x": 1}} }

func TestReadmeQuotesTheUnavailableReplyAsItIs(t *testing.T) {
	want := string(resp.Unavailable(2, 0, 3, 5, 3))
	if !strings.Contains(readme(t), want) {
		t.Errorf("the README does not show %q", want)
	}
}

// section is what stands below a heading, up to the next one of its kind.
func section(t *testing.T, text, heading string) string {
	t.Helper()
	_, after, found := strings.Cut(text, "\n"+heading+"\n")
	if !found {
		t.Fatalf("no section %q", heading)
	}
	before, _, _ := strings.Cut(after, "\n## ")
	return before
}
