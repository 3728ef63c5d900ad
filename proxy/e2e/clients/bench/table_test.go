//go:build linux

package bench

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"

	"redlockproxy/proxy/redistest"
)

func TestMain(m *testing.M) { os.Exit(redistest.Main(m)) }

// A row is one comparison: the ratios, or sizes, that were found, and what the
// median of them should be.
type row struct {
	what   string
	target float64
	most   bool // the target is the most that is good, not the least
	unit   string
	values []float64
	detail string // absolute numbers, for a feeling
}

func (r row) String() string {
	least, middle, largest := spread(r.values)
	sign, met := "≥", middle >= r.target
	if r.most {
		sign, met = "≤", middle <= r.target
	}
	verdict := "no"
	if met {
		verdict = "yes"
	}
	return fmt.Sprintf("| %s | %s %g%s | %.2f | **%.2f** | %.2f | %s | %s |",
		r.what, sign, r.target, r.unit, least, middle, largest, verdict, r.detail)
}

// spread is the least, the median and the largest of the values.
func spread(values []float64) (least, middle, largest float64) {
	if len(values) == 0 {
		return 0, 0, 0
	}
	v := slices.Sorted(slices.Values(values))
	n := len(v)
	return v[0], (v[(n-1)/2] + v[n/2]) / 2, v[n-1]
}

func median(values []float64) float64 {
	_, middle, _ := spread(values)
	return middle
}

// BenchmarkTable prints the table. It fails only if something could not be
// measured: how fast a shared machine is at the moment is no fact to test.
func BenchmarkTable(b *testing.B) {
	before := load()
	group := redistest.StartGroup(b, 5)
	one := redistest.Start(b)
	proxy := startProxy(b, group)
	quiet := startProxy(b, group, "-log-level", "warn")

	rows := acquisitions(b, one.Addr(), proxy.addr, quiet.addr)
	rows = append(rows, latencies(b, one.Addr(), proxy.addr))
	rows = append(rows, pairs(b, proxy.addr, group.Addrs())...)
	rows = append(rows, outage(b, group, proxy.addr)...)
	rows = append(rows, memory(b, proxy))

	fmt.Printf("\n| what | target | min | median | max | met? | absolute, medians |\n|---|---|---|---|---|---|---|\n")
	for _, r := range rows {
		fmt.Println(r)
	}
	fmt.Printf("\n%s; load average %s before, %s after.\n", machine(), before, load())
	if repeated > 0 {
		fmt.Printf("redis-benchmark ends at the first error reply; %d slices met one and were run again.\n", repeated)
	}
}

// machine says in one line on what the table was made.
func machine() string {
	model := "unknown processor"
	text, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(text)) {
		if name, value, _ := strings.Cut(line, ":"); strings.TrimSpace(name) == "model name" {
			model = strings.TrimSpace(value)
			break
		}
	}
	kernel, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	server, _ := exec.Command("redis-server", "--version").Output()
	_, version, _ := strings.Cut(string(server), "v=")
	version, _, _ = strings.Cut(version, " ")
	return fmt.Sprintf("%s, %d cores for load, proxy and all servers; Linux %s, %s, Redis %s",
		model, runtime.NumCPU(), strings.TrimSpace(string(kernel)), runtime.Version(), version)
}

// load is the machine's load average of the last minute.
func load() string {
	text, _ := os.ReadFile("/proc/loadavg")
	first, _, _ := strings.Cut(string(text), " ")
	return first
}
