package clients

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"redlockproxy/proxy/redistest"
)

// A pool notices that its connections were closed for being idle, and its user does not.
func TestPoolOutlivesConnectionsThatWereIdle(t *testing.T) {
	const connections = 20
	file := filepath.Join(t.TempDir(), "proxy.toml")
	if err := os.WriteFile(file, []byte("[server]\nidle = \"1s\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	proxy := redistest.StartProxy(t, redistest.StartGroup(t, 5).Addrs(), "-config", file)
	redistest.Eventually(t, 20*time.Second, "all vote", func() bool { return proxy.Voters() == 5 })
	c := redis.NewClient(&redis.Options{Addr: proxy.Addr(), MinIdleConns: connections, PoolSize: connections})
	t.Cleanup(func() { _ = c.Close() })
	connected := func(n int) func() bool {
		return func() bool {
			info, _ := proxy.MustDo("INFO", "clients").(string)
			return strings.Contains(info, fmt.Sprintf("connected_clients:%d\r\n", n))
		}
	}
	if err := c.Ping(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	redistest.Eventually(t, 5*time.Second, "the pool is full", connected(connections+1))
	redistest.Eventually(t, 10*time.Second, "all are closed", connected(1))
	var all sync.WaitGroup
	for i := range connections {
		all.Go(func() {
			if won, err := c.SetNX(t.Context(), fmt.Sprint("lock:", i), "a", time.Minute).Result(); err != nil || !won {
				t.Errorf("lock %d: %v, %v", i, won, err)
			}
		})
	}
	all.Wait()
}
