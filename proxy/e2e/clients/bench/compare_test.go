//go:build linux

package bench

import (
	"fmt"
	"testing"
	"time"

	"redlockproxy/proxy/redistest"
)

const (
	clients = 50              // of a load with many clients
	slice   = 2 * time.Second // about how long one side is loaded at a time
	idle    = 1000            // clients that do nothing, for the memory
)

// A figure is what one slice of load found. Times are in milliseconds.
type figure struct{ rate, p50, p99 float64 }

// alternate loads the sides one after the other, the given number of times, every
// second time in the reverse order, and returns each side's figures in the order of
// time. The first slice of each side is thrown away: caches and pools fill in it.
func alternate(times int, sides ...func() figure) [][]figure {
	found := make([][]figure, len(sides))
	for n := range times + 1 {
		for i := range sides {
			if n%2 == 1 {
				i = len(sides) - 1 - i
			}
			f := sides[i]()
			if n > 0 {
				found[i] = append(found[i], f)
			}
		}
	}
	return found
}

// ratios divides neighbours.
func ratios(above, below []figure, field func(figure) float64) []float64 {
	r := make([]float64, len(above))
	for i := range r {
		r[i] = field(above[i]) / field(below[i])
	}
	return r
}

func rate(f figure) float64 { return f.rate }
func p50(f figure) float64  { return f.p50 }
func p99(f figure) float64  { return f.p99 }

// describe is the medians of one side's figures.
func describe(name string, figures []figure) string {
	var rates, halves, tails []float64
	for _, f := range figures {
		rates, halves, tails = append(rates, f.rate), append(halves, f.p50), append(tails, f.p99)
	}
	return fmt.Sprintf("%s %.0f/s, p50 %.2f ms, p99 %.2f ms", name, median(rates), median(halves), median(tails))
}

func versus(a string, as []figure, b string, bs []figure) string {
	return describe(a, as) + "; " + describe(b, bs)
}

// acquisitions compares SET NX PX of many clients with one Redis.
func acquisitions(b *testing.B, one, proxy, quiet string) []row {
	f := alternate(6, setNX(b, one, clients), setNX(b, proxy, clients), setNX(b, quiet, clients))
	what := fmt.Sprintf("SET NX PX, %d clients: throughput / one Redis hit directly", clients)
	return []row{
		{what: what, target: 0.4, values: ratios(f[1], f[0], rate), detail: versus("proxy", f[1], "Redis", f[0])},
		{what: what + ", log level warn", target: 0.4, values: ratios(f[2], f[0], rate), detail: describe("proxy", f[2])},
	}
}

// latencies compares SET NX PX of one client with one Redis.
func latencies(b *testing.B, one, proxy string) row {
	f := alternate(5, setNX(b, one, 1), setNX(b, proxy, 1))
	return row{what: "SET NX PX, 1 client: p50 / one Redis hit directly", target: 4, most: true,
		values: ratios(f[1], f[0], p50), detail: versus("proxy", f[1], "Redis", f[0])}
}

// pairs compares lock + release with a library that asks the backends itself: once by
// clients with a connection each, and once by as many callers of one client.
func pairs(b *testing.B, proxy string, backends []string) []row {
	f := alternate(5, throughProxy(b, proxy), throughMultiplexer(b, proxy), throughRedsync(b, backends))
	const rival = "throughput / go-redsync over the same five"
	return []row{
		{what: fmt.Sprintf("lock + release, %d clients with a connection each: %s", clients, rival),
			target: 4, values: ratios(f[0], f[2], rate), detail: versus("proxy", f[0], "redsync", f[2])},
		{what: fmt.Sprintf("lock + release, %d callers of one pipelining client (rueidis): %s", clients, rival),
			target: 4, values: ratios(f[1], f[2], rate), detail: describe("proxy", f[1])},
	}
}

// outage compares a group with one backend paused with the whole group.
func outage(b *testing.B, group redistest.Group, proxy string) []row {
	healthy := setNX(b, proxy, clients)
	paused := func() figure {
		group[2].Pause()
		defer awaitVotes(b, group, proxy)
		defer group[2].Resume()
		return healthy()
	}
	f := alternate(5, healthy, paused)
	return []row{
		{what: "one backend paused: throughput / healthy", target: 0.9, values: ratios(f[1], f[0], rate),
			detail: versus("paused", f[1], "healthy", f[0])},
		{what: "one backend paused: p99 / healthy", target: 2, most: true, values: ratios(f[1], f[0], p99)},
	}
}

// awaitVotes waits until every backend takes part again.
func awaitVotes(b *testing.B, group redistest.Group, proxy string) {
	n := 0
	redistest.Eventually(b, 10*time.Second, "a lock reaches all backends", func() bool {
		n++
		key := fmt.Sprintf("probe:%d:%d", time.Now().UnixNano(), n)
		reply, err := do(proxy, "SET", key, "x", "NX", "PX", "30000")
		return err == nil && reply == redistest.Status("OK") && group.Holding(key) == len(group)
	})
}

// memory is what the proxy takes that has carried all the load before, with many
// clients connected that do nothing.
func memory(b *testing.B, p *proxy) row {
	for range idle {
		c, err := redistest.Dial(p.addr)
		if err != nil {
			b.Fatal(err)
		}
		defer c.Close()
		if reply, err := c.Do("PING"); err != nil || reply != redistest.Status("PONG") {
			b.Fatalf("PING: %v, %v", reply, err)
		}
	}
	return row{what: fmt.Sprintf("memory (RSS) with %d idle clients, after all of the above", idle),
		target: 64, most: true, unit: " MiB", values: []float64{p.resident(b)}}
}

func do(addr string, args ...string) (any, error) {
	c, err := redistest.Dial(addr)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return c.Do(args...)
}
