package clients

import (
	"testing"
	"time"

	"redlockproxy/proxy/redistest"
)

// node opens clients of one of the libraries that node/driver.js knows.
func node(library string) func(testing.TB, string) (client, error) {
	return driven("node", "node/driver.js", library)
}

func prefixed(prefix string) func(string) []string {
	return func(lock string) []string { return []string{prefix + lock} }
}

// TestNodeClients proves clients of npm that send commands, and lock libraries on them.
func TestNodeClients(t *testing.T) {
	simpleMutex := prefixed("@simple-redis-mutex:lock-")
	prove(t, []subject{
		{name: "ioredis 4", open: node("ioredis4")},
		{name: "ioredis 5", open: node("ioredis5")},
		{name: "ioredis 6", open: node("ioredis6")},
		{name: "redis 3", open: node("redis3")},
		{name: "redis 4", open: node("redis4")},
		{name: "redis 5", open: node("redis5")},
		{name: "redis 6", open: node("redis6")},
		{name: "valkey-glide", open: node("glide")},
		{name: "redlock", open: node("redlock")},
		{name: "sesamecare redlock", open: node("sesamecare")},
		{name: "redis-semaphore", open: node("semaphore"), keys: prefixed("mutex:"), untold: true},
		// It listens to a channel for released locks, here by either protocol. Its only
		// extension is to start the lock's own time anew.
		{name: "simple-redis-mutex on redis 5", open: node("simpleMutex5"), keys: simpleMutex, noExtend: true, untold: true},
		{name: "simple-redis-mutex on redis 6", open: node("simpleMutex6"), keys: simpleMutex, noExtend: true, untold: true},
	})
}

// TestRedisSemaphoreKeepsItsLockAndHearsOfItsLoss lets a lock live for longer than
// its time, by the library's own extensions, and then takes it away.
func TestRedisSemaphoreKeepsItsLockAndHearsOfItsLoss(t *testing.T) {
	proxy := startFive(t)
	c, err := node("semaphore")(t, proxy.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	d := c.(*driver)
	if ok, err := d.told("hold", "lock", "1000"); !ok || err != nil {
		t.Fatalf("a free lock: %v, %v", ok, err)
	}
	taken := time.Now()
	redistest.Eventually(t, 10*time.Second, "twice the lock's time passes", func() bool {
		if proxy.MustDo("EXISTS", "mutex:lock") != int64(1) {
			t.Fatalf("the lock was gone %s after it was taken", time.Since(taken))
		}
		return time.Since(taken) > 2*time.Second
	})
	if lost, err := d.told("lost", "lock"); lost || err != nil {
		t.Errorf("lost before it was: %v, %v", lost, err)
	}
	proxy.MustDo("DEL", "mutex:lock")
	redistest.Eventually(t, 10*time.Second, "the holder hears of the loss", func() bool {
		lost, err := d.told("lost", "lock")
		if err != nil {
			t.Fatal(err)
		}
		return lost
	})
}
