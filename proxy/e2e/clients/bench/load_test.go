//go:build linux

package bench

import (
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// repeated counts the slices of redis-benchmark that were run again.
var repeated int

// sliceTries bounds how often one slice is run again.
const sliceTries = 5

// setNX is a slice of redis-benchmark with SET NX PX on keys that are all but never
// the same.
func setNX(b *testing.B, addr string, clients int) func() figure {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		b.Fatal(err)
	}
	args := func(requests int) []string {
		return []string{"-h", host, "-p", port, "-c", strconv.Itoa(clients), "-n", strconv.Itoa(requests),
			"-r", "100000000", "--csv", "SET", "key:__rand_int__", "tok", "NX", "PX", "30000"}
	}
	requests := 2000 * clients / (clients + 3) // a first guess; each slice corrects it
	return func() figure {
		for range sliceTries {
			f, err := redisBenchmark(args(requests))
			if err == nil {
				requests = max(200, int(f.rate*slice.Seconds()))
				return f
			}
			// A shared machine may stand still for longer than a backend's vote may
			// take. The reply is then an error, as it should be.
			if !strings.Contains(err.Error(), "UNAVAILABLE") {
				b.Fatal(err)
			}
			repeated++
		}
		b.Fatalf("redis-benchmark got error replies in %d runs on end", sliceTries)
		return figure{}
	}
}

// redisBenchmark runs redis-benchmark and reads the last line that it prints: the
// name of the test, requests per second, and average, min, p50, p95, p99 and max of
// the latency in milliseconds.
func redisBenchmark(args []string) (figure, error) {
	out, err := exec.Command("redis-benchmark", args...).CombinedOutput()
	if err != nil {
		return figure{}, fmt.Errorf("redis-benchmark: %w: %s", err, out)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	fields := strings.Split(lines[len(lines)-1], ",")
	if len(fields) < 8 {
		return figure{}, fmt.Errorf("redis-benchmark printed %q", out)
	}
	fields = fields[len(fields)-7:]
	number := func(i int) float64 {
		n, e := strconv.ParseFloat(strings.Trim(fields[i], `"`), 64)
		if e != nil && err == nil {
			err = fmt.Errorf("redis-benchmark printed %q", out)
		}
		return n
	}
	f := figure{rate: number(0), p50: number(3), p99: number(5)}
	return f, err
}
