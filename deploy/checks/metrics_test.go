package checks

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/VictoriaMetrics/metricsql"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"sigs.k8s.io/yaml"

	"redlockproxy/proxy/redistest"
)

// An expression is one of a dashboard or a rule, and where it stands.
type expression struct{ where, text string }

// ruleFile is what is read of a file of alerts.
type ruleFile struct {
	Groups []struct {
		Rules []struct{ Alert, Expr string }
	}
}

func alerts(t *testing.T) (all []expression) {
	t.Helper()
	var file ruleFile
	if err := yaml.Unmarshal([]byte(deployed(t, "prometheus/rules.yml")), &file); err != nil {
		t.Fatal(err)
	}
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			all = append(all, expression{r.Alert, r.Expr})
		}
	}
	return all
}

func TestOperatorIsGivenTheSameAlerts(t *testing.T) {
	var file, rule struct {
		Groups any
		Spec   struct{ Groups any }
	}
	for text, into := range map[string]any{deployed(t, "prometheus/rules.yml"): &file, deployed(t, "kubernetes/prometheusrule.yaml"): &rule} {
		if err := yaml.Unmarshal([]byte(text), into); err != nil {
			t.Fatal(err)
		}
	}
	if file.Groups == nil || !reflect.DeepEqual(file.Groups, rule.Spec.Groups) {
		t.Error("kubernetes/prometheusrule.yaml does not have the groups of prometheus/rules.yml: copy them below spec")
	}
}

func panels(t *testing.T) (all []expression) {
	t.Helper()
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal([]byte(deployed(t, "grafana/dashboard.json")), &dashboard); err != nil {
		t.Fatal(err)
	}
	// What Grafana puts in place of its variables.
	variables := strings.NewReplacer("$__rate_interval", "1m", "$instance", ".*")
	for _, p := range dashboard.Panels {
		for _, target := range p.Targets {
			all = append(all, expression{"panel " + p.Title, variables.Replace(target.Expr)})
		}
	}
	return all
}

// series are what Prometheus would keep of a scrape: the labels of each, with its name
// and those that Prometheus adds.
type series []map[string]string

// exposed is what a proxy's real endpoint says.
func exposed(t *testing.T, address string) string {
	t.Helper()
	response, err := http.Get("http://" + address + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("status %d, %v", response.StatusCode, err)
	}
	return string(text)
}

// metric is the value of one without labels.
func metric(t *testing.T, address, name string) string {
	t.Helper()
	_, after, found := strings.Cut(exposed(t, address), "\n"+name+" ")
	if !found {
		t.Fatalf("no metric %s", name)
	}
	value, _, _ := strings.Cut(after, "\n")
	return value
}

// scrape takes it apart.
func scrape(t *testing.T, backends ...string) series {
	t.Helper()
	p := redistest.StartProxy(t, backends, "-admin", "127.0.0.1:0")
	address := ""
	for _, line := range p.Logs() {
		if line["message"] == "admin address" {
			address, _ = line["addr"].(string)
		}
	}
	text := exposed(t, address)
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	var all series
	for name, family := range families {
		for _, m := range family.Metric {
			labels := map[string]string{"__name__": name, "job": "redlock-proxy", "instance": address}
			for _, l := range m.Label {
				labels[l.GetName()] = l.GetValue()
			}
			all = append(all, labels)
			if h := m.Histogram; h != nil {
				for _, end := range []string{"_bucket", "_sum", "_count"} {
					part := maps.Clone(labels)
					part["__name__"] = name + end
					if end == "_bucket" {
						part["le"] = "+Inf"
					}
					all = append(all, part)
				}
			}
		}
	}
	return all
}

// finds tells whether a selector finds one of the series.
func (all series) finds(filters []metricsql.LabelFilter) bool {
	return slices.ContainsFunc(all, func(labels map[string]string) bool {
		for _, f := range filters {
			value, there := labels[f.Label]
			ok := there && value == f.Value
			if f.IsRegexp {
				ok = there && regexp.MustCompile("^(?:"+f.Value+")$").MatchString(value)
			}
			if f.IsNegative {
				ok = there && !ok
			}
			if !ok {
				return false
			}
		}
		return true
	})
}

// grouped are the labels that an expression groups by or matches on.
func grouped(e metricsql.Expr) (labels []string) {
	switch e := e.(type) {
	case *metricsql.AggrFuncExpr:
		labels = e.Modifier.Args
	case *metricsql.BinaryOpExpr:
		labels = slices.Concat(e.GroupModifier.Args, e.JoinModifier.Args)
	}
	return labels
}

func TestDashboardAndAlertsUseTheMetricsAsTheyAre(t *testing.T) {
	group := redistest.StartGroup(t, 5)
	all := append(scrape(t, group.Addrs()...), scrape(t, group[0].Addr())...)
	all = append(all, map[string]string{"__name__": "up", "job": "redlock-proxy", "instance": "x"}) // Prometheus's own
	known := map[string]bool{}
	for _, labels := range all {
		for l := range labels {
			known[l] = true
		}
	}
	rules, shown := alerts(t), panels(t)
	if len(rules) < 10 || len(shown) < 20 {
		t.Fatalf("%d alerts and %d expressions of the dashboard were found", len(rules), len(shown))
	}
	for _, x := range slices.Concat(rules, shown) {
		parsed, err := metricsql.Parse(x.text)
		if err != nil {
			t.Errorf("%s: %v", x.where, err)
			continue
		}
		selectors := 0
		metricsql.VisitAll(parsed, func(e metricsql.Expr) {
			for _, l := range grouped(e) {
				if !known[l] {
					t.Errorf("%s: groups by %s, which no metric has", x.where, l)
				}
			}
			m, is := e.(*metricsql.MetricExpr)
			if !is {
				return
			}
			for _, filters := range m.LabelFilterss {
				selectors++
				if !all.finds(filters) {
					t.Errorf("%s: nothing is found by %s", x.where, m.AppendString(nil))
				}
			}
		})
		if selectors == 0 {
			t.Errorf("%s: selects nothing: %s", x.where, x.text)
		}
	}
	texts := deployed(t, "prometheus/rules.yml") + deployed(t, "grafana/dashboard.json")
	for _, m := range regexp.MustCompile(`\{\{ *(?:\$labels\.)?([a-z]\w*) *\}\}`).FindAllStringSubmatch(texts, -1) {
		if !known[m[1]] {
			t.Errorf("a text shows the label %s, which no metric has", m[1])
		}
	}
}

func TestAlertsFireWhenTheyShould(t *testing.T) {
	tested := deployed(t, "prometheus/rules_test.yml")
	for _, a := range alerts(t) {
		if !strings.Contains(tested, "alertname: "+a.where+"\n") || !strings.Contains(tested, "alertname: "+a.where+",") {
			t.Errorf("%s is not tested both to fire and to be quiet", a.where)
		}
	}
	promtool(t, "../prometheus", "check", "config", "prometheus.yml")
	promtool(t, "../prometheus", "test", "rules", "rules_test.yml")
}

// promtool's parser is Prometheus's own, and stricter than the one above.
func TestPrometheusTakesTheDashboardsExpressions(t *testing.T) {
	text := "groups:\n- name: dashboard\n  rules:\n"
	for i, x := range panels(t) {
		text += fmt.Sprintf("  - record: panel_%d\n    expr: %q\n", i, x.text)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "dashboard.yml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	promtool(t, dir, "check", "rules", "dashboard.yml")
}

func promtool(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("promtool", args...)
	cmd.Dir = dir
	cmd.WaitDelay = time.Second
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("promtool %v: %v\n%s", args, err, out)
	}
}

func TestPanelsOfTheDashboardHavePlacesOfTheirOwn(t *testing.T) {
	var dashboard struct {
		Panels []struct {
			ID      int
			Title   string
			GridPos struct{ X, Y, W, H int }
		}
	}
	if err := json.Unmarshal([]byte(deployed(t, "grafana/dashboard.json")), &dashboard); err != nil {
		t.Fatal(err)
	}
	ids := map[int]bool{}
	cells := map[[2]int]string{}
	for _, p := range dashboard.Panels {
		if ids[p.ID] {
			t.Errorf("two panels have the number %d", p.ID)
		}
		ids[p.ID] = true
		for x := range p.GridPos.W { // 24 columns
			for y := range p.GridPos.H {
				cell := [2]int{p.GridPos.X + x, p.GridPos.Y + y}
				if other := cells[cell]; other != "" || cell[0] >= 24 {
					t.Fatalf("%s is where %q is, or beyond the right edge", p.Title, other)
				}
				cells[cell] = p.Title
			}
		}
	}
	if len(ids) < 20 {
		t.Errorf("%d panels were found", len(ids))
	}
}
