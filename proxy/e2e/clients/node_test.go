package clients

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"redlockproxy/proxy/redistest"
)

// node opens clients of one of the libraries that node/driver.js knows, in a database
// if one is named.
func node(library string, database ...string) func(testing.TB, string) (client, error) {
	return driven("node", append([]string{"node/driver.js", library}, database...)...)
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

// Its time limit is the shortest of all clients: a quarter of a second.
func TestGlideHearsOfEveryOutageWithinItsOwnTimeLimit(t *testing.T) {
	group := redistest.StartGroup(t, 5)
	proxy := redistest.StartRelease(t, group.Addrs()) // with its default limits
	c, err := node("glideAsItIs")(t, proxy.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	// The first command after backends were stopped is the one that waits for them. A
	// busy machine may be late for some: those are tried again from the start.
	for try := 1; ; try++ {
		awaitVotes(t, proxy, group)
		locked, why, err := glideOutage(t, c, group, try)
		if locked && err != nil && strings.Contains(err.Error(), "UNAVAILABLE") {
			return
		}
		t.Logf("try %d: with two backends stopped %v, %v; with three %v", try, locked, why, err)
		if try == 20 {
			t.Fatal("it never heard in time")
		}
	}
}

// glideOutage tells what comes of a lock while two backends are stopped, and of another
// while three are, which must not be had.
func glideOutage(t *testing.T, c client, group redistest.Group, try int) (locked bool, why, unavailable error) {
	t.Helper()
	defer func() {
		for _, s := range group[:3] {
			s.Resume()
		}
	}()
	group[0].Pause()
	group[1].Pause()
	locked, why = c.acquire(fmt.Sprint("lock:two:", try), time.Minute)
	group[2].Pause()
	taken, unavailable := c.acquire(fmt.Sprint("lock:three:", try), time.Minute)
	if taken {
		t.Fatal("a lock with three of five backends stopped")
	}
	return locked, why, unavailable
}

// What clients make of it that the database they are to use is refused. Those that go on
// lock in the first one, as they do on a Redis that has no other.
func TestClientsInAnotherDatabaseAreToldAndSomeLockInTheFirst(t *testing.T) {
	const refusal = "DB index is out of range"
	onBoth(t, func(t *testing.T, addr string) {
		p := proof{addr: addr}
		// These do not connect; glide does not tell why.
		for name, text := range map[string]string{"redis4": refusal, "redis5": refusal, "redis6": refusal, "glide": "Connection error"} {
			c, err := node(name, "1")(t, addr)
			if err == nil {
				c.close()
			}
			if err == nil || !strings.Contains(err.Error(), text) {
				t.Errorf("%s: %v", name, err)
			}
		}
		c := redis.NewClient(&redis.Options{Addr: addr, DB: 1})
		t.Cleanup(func() { _ = c.Close() })
		if ok, err := c.SetNX(t.Context(), "lock:go", "a", time.Minute).Result(); ok || err == nil || !strings.Contains(err.Error(), refusal) {
			t.Errorf("go-redis: %v, %v", ok, err)
		}
		if n := p.do(t, "EXISTS", "lock:go"); n != int64(0) {
			t.Errorf("go-redis has a lock in the first database")
		}
		for _, name := range []string{"ioredis4", "ioredis5", "ioredis6", "redis3"} { // they are told by an event, and go on
			c, err := node(name, "1")(t, addr)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(c.close)
			if ok, err := c.acquire("lock:"+name, time.Minute); !ok || err != nil || p.do(t, "EXISTS", "lock:"+name) != int64(1) {
				t.Errorf("%s: %v, %v; wanted a lock in the first database", name, ok, err)
			}
			redistest.Eventually(t, 5*time.Second, name+" is told by an event", func() bool {
				told, err := c.(*driver).call("told")
				return err == nil && strings.Contains(told, refusal)
			})
		}
	})
}
