package status

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// Text shows facts at a terminal. before are those of a moment earlier, for rates; nil
// if there are none.
func Text(f Facts, before *Facts) string {
	var b strings.Builder
	fmt.Fprintf(&b, "redlock-proxy %s, group %s, %s, up %s\n%s\n\n", f.Version, f.Group, f.Topology,
		time.Duration(f.Uptime*float64(time.Second)).Round(time.Second), f.Votes)
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	row := func(cells ...any) { _, _ = fmt.Fprintln(table, line(cells)) } // the builder takes all
	row("BACKEND", "STATE", "FOR", "ROLE", "ROUND TRIP", "DRIFT", "RESTARTS", "REFILLS", "OWED", "LOST", "WAITING", "GRANTED", "REFUSED", "FAILED", "NOTE")
	for _, x := range f.Backends {
		row(x.Name, x.State, time.Duration(x.Since)*time.Second, dash(x.Role), trip(x.RoundTrip), drift(x.Drift),
			x.Restarts, x.Refills, x.Debts, x.DebtsLost, x.Waiting, x.Granted, x.Refused, x.Failed, dash(x.note()))
	}
	_ = table.Flush()
	fmt.Fprintf(&b, "\n%s commands/s, %s locks/s; decided by a quorum in five minutes: %.2f %%\n",
		rate(f, before, func(f Facts) int64 { return f.Commands }),
		rate(f, before, func(f Facts) int64 { return f.Operations["acquire"]["acquired"] }), 100*f.SuccessRate)
	fmt.Fprintf(&b, "%d of %d clients; %d stale fencing numbers refused; %d log lines dropped\n", f.Clients, f.MaxClients, f.Stale, f.LinesLost)
	if r := f.Replication; r != nil {
		lag := "unknown"
		if r.Known {
			lag = fmt.Sprintf("%.0f ms", r.Lag)
		}
		fmt.Fprintf(&b, "%d replicas, lag %s\n", r.Replicas, lag)
	}
	b.WriteString(counts("limits hit", f.Limits))
	for _, op := range sorted(f.Operations) {
		b.WriteString(counts(op, f.Operations[op]))
	}
	return b.String()
}

// note is why a backend has no vote, and what should be mended.
func (x Backend) note() string {
	if len(x.Warnings) == 0 {
		return x.Reason
	}
	needs := "needs a look: " + strings.Join(x.Warnings, ", ")
	if x.Reason == "" {
		return needs
	}
	return x.Reason + "; " + needs
}

func line(cells []any) string {
	texts := make([]string, len(cells))
	for i, c := range cells {
		texts[i] = fmt.Sprint(c)
	}
	return strings.Join(texts, "\t")
}

// counts is one line of named numbers, none if there is nothing.
func counts(title string, named map[string]int64) string {
	if len(named) == 0 {
		return ""
	}
	var parts []string
	for _, name := range sorted(named) {
		parts = append(parts, fmt.Sprintf("%s %d", name, named[name]))
	}
	return title + ": " + strings.Join(parts, ", ") + "\n"
}

func sorted[T any](m map[string]T) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// rate is how much a count rises in a second.
func rate(f Facts, before *Facts, count func(Facts) int64) string {
	if before == nil {
		return "-"
	}
	passed := f.At.Sub(before.At).Seconds()
	if passed <= 0 || f.Uptime < before.Uptime {
		return "-"
	}
	return fmt.Sprintf("%.0f", float64(count(f)-count(*before))/passed)
}

func trip(ms float64) string {
	if ms == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f ms", ms)
}

func drift(ms *float64) string {
	if ms == nil {
		return "-"
	}
	return fmt.Sprintf("%.1f ms", *ms)
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
