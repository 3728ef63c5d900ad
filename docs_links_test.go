package main

import (
	"io/fs"
	"maps"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"redlockproxy/conf"
	"redlockproxy/proxy/metrics"
)

// documents are the texts for people, by their path.
func documents(t *testing.T) map[string]string {
	t.Helper()
	paths, err := filepath.Glob("docs/*.md")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no docs: %v", err)
	}
	all := map[string]string{}
	for _, p := range append(paths, "README.md", "CONTRIBUTING.md", "deploy/README.md") {
		text, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		all[p] = string(text)
	}
	return all
}

// each calls f with every text that the expression finds in the documents: its first
// group.
func each(t *testing.T, expression string, f func(path, found string)) {
	t.Helper()
	n := 0
	for path, text := range documents(t) {
		for _, m := range regexp.MustCompile(expression).FindAllStringSubmatch(text, -1) {
			n++
			f(path, m[1])
		}
	}
	if n == 0 {
		t.Fatalf("nothing is found by %s", expression)
	}
}

// anchors are what the headings of a document can be linked by.
func anchors(text string) (all []string) {
	for _, m := range regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllStringSubmatch(text, -1) {
		name := regexp.MustCompile(`[^\w\- ]`).ReplaceAllString(strings.ToLower(m[1]), "")
		all = append(all, strings.ReplaceAll(name, " ", "-"))
	}
	return all
}

func TestLinksInDocumentsLeadSomewhere(t *testing.T) {
	all := documents(t)
	each(t, `\]\(([^)\s]+)\)`, func(path, link string) {
		if strings.Contains(link, "://") {
			return
		}
		file, anchor, _ := strings.Cut(link, "#")
		target := path
		if file != "" {
			target = filepath.Join(filepath.Dir(path), file)
		}
		if _, err := os.Stat(target); err != nil {
			t.Errorf("%s: %s leads nowhere", path, link)
		}
		if anchor != "" && !slices.Contains(anchors(all[target]), anchor) {
			t.Errorf("%s: there is no heading %s in %s", path, anchor, target)
		}
	})
}

func TestSettingsThatDocumentsNameExist(t *testing.T) {
	example, err := os.ReadFile("conf/redlock-proxy.example.toml")
	if err != nil {
		t.Fatal(err)
	}
	settings := map[string]bool{}
	name := ""
	for line := range strings.Lines(string(example)) {
		if m := regexp.MustCompile(`^\[(\w+)\]`).FindStringSubmatch(line); m != nil {
			name = m[1]
		}
		if m := regexp.MustCompile(`^(?:# )?(\w+) = `).FindStringSubmatch(line); m != nil {
			settings[name+"."+m[1]] = true
		}
	}
	each(t, "`((?:server|group|lock|lane|script|log)\\.\\w+)\\b[^`.]*`", func(path, setting string) {
		if !settings[setting] {
			t.Errorf("%s names %s, which is no setting", path, setting)
		}
	})
}

func TestCommandsThatDocumentsNameExist(t *testing.T) {
	each(t, "`redlock-proxy ([a-z]+)", func(path, command string) {
		if !strings.Contains(conf.HelpText(), "\n  "+command+" ") {
			t.Errorf("%s names the command %s, which the help text does not have", path, command)
		}
	})
}

// bareSource is a metrics.Source of one backend.
type bareSource struct{}

func (bareSource) Backends() []metrics.Backend { return []metrics.Backend{{Name: "b", State: "voter"}} }
func (bareSource) Server() metrics.Server {
	return metrics.Server{Limits: map[string]int64{"idle": 0}}
}

func TestMetricsThatDocumentsNameExist(t *testing.T) {
	served := ""
	for _, topology := range []string{"single", "redlock"} {
		r := httptest.NewRecorder()
		metrics.New(metrics.Options{Topology: topology, Backends: []string{"b"}, Source: bareSource{}}).Handler().
			ServeHTTP(r, httptest.NewRequest("GET", "/metrics", nil))
		served += r.Body.String()
	}
	each(t, "`((?:redlock_proxy|lock|replication|stale|redis_clock)_[a-z_]+)", func(path, name string) {
		if !strings.Contains(served, "\n"+name+"{") && !strings.Contains(served, "\n"+name+" ") &&
			!strings.Contains(served, "# TYPE "+name+" ") {
			t.Errorf("%s names the metric %s, which is not served", path, name)
		}
	})
}

func TestEveryAlertIsExplained(t *testing.T) {
	rules, err := os.ReadFile("deploy/prometheus/rules.yml")
	if err != nil {
		t.Fatal(err)
	}
	names := func(expression, text string) []string {
		found := map[string]bool{}
		for _, m := range regexp.MustCompile(expression).FindAllStringSubmatch(text, -1) {
			found[m[1]] = true
		}
		return slices.Sorted(maps.Keys(found))
	}
	alerts, headings := names(`- alert: (\w+)`, string(rules)), names(`(?m)^### (Redlock\w+)$`, documents(t)["docs/operations.md"])
	if len(alerts) == 0 || !slices.Equal(alerts, headings) {
		t.Errorf("alerts:   %v\nheadings: %v", alerts, headings)
	}
}

func TestLogLinesThatDocumentsQuoteAreWritten(t *testing.T) {
	sources := ""
	for _, dir := range []string{"proxy", "quorum"} {
		err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			sources += strings.ReplaceAll(string(text), `\"`, `"`)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	table := section(t, documents(t)["docs/operations.md"], "## Log lines")
	lines := regexp.MustCompile("(?m)^\\| `([^`]+)` \\| \\w+ \\|").FindAllStringSubmatch(table, -1)
	if len(lines) < 10 {
		t.Fatalf("%d lines were found", len(lines))
	}
	for _, m := range lines {
		if !strings.Contains(sources, m[1]) {
			t.Errorf("nothing logs %q", m[1])
		}
	}
}

func TestReadmeShowsTheRightsOfTheBackendsUser(t *testing.T) {
	text, err := os.ReadFile("deploy/redis/rights.acl")
	if err != nil {
		t.Fatal(err)
	}
	words := strings.Fields(string(text))
	shown := strings.Join(strings.Fields(section(t, readme(t), "## Configuration")), " ")
	// All keys in the file, those of locks and the proxy's own one in the example.
	if want := "~lock:* ~~redlock-proxy:marker " + strings.Join(words[1:], " "); words[0] != "~*" || !strings.Contains(strings.ReplaceAll(shown, "\\ ", ""), want) {
		t.Errorf("the README does not show %q", want)
	}
}
