package clients

import "testing"

// node opens clients of one of the libraries that node/driver.js knows.
func node(library string) func(testing.TB, string) (client, error) {
	return driven("node", "node/driver.js", library)
}

func prefixed(prefix string) func(string) []string {
	return func(lock string) []string { return []string{prefix + lock} }
}

// TestNodeClients proves clients of npm that send commands.
func TestNodeClients(t *testing.T) {
	prove(t, []subject{
		{name: "ioredis 4", open: node("ioredis4")},
		{name: "ioredis 5", open: node("ioredis5")},
		{name: "ioredis 6", open: node("ioredis6")},
		{name: "redis 3", open: node("redis3")},
		{name: "redis 4", open: node("redis4")},
		{name: "redis 5", open: node("redis5")},
		{name: "redis 6", open: node("redis6")},
		{name: "valkey-glide", open: node("glide")},
	})
}

// TestNodeLocks proves lock libraries of npm.
func TestNodeLocks(t *testing.T) {
	prove(t, []subject{
		{name: "redlock", open: node("redlock")},
		{name: "sesamecare redlock", open: node("sesamecare")},
		{name: "redis-semaphore", open: node("semaphore"), keys: prefixed("mutex:"), untold: true},
	})
}

// TestNodeLocksThatListen proves a library of npm that is told of releases by
// messages, on a client of each protocol. Its only extension is to start the lock's
// own time anew.
func TestNodeLocksThatListen(t *testing.T) {
	keys := prefixed("@simple-redis-mutex:lock-")
	prove(t, []subject{
		{name: "simple-redis-mutex on redis 5", open: node("simpleMutex5"), keys: keys, noExtend: true, untold: true},
		{name: "simple-redis-mutex on redis 6", open: node("simpleMutex6"), keys: keys, noExtend: true, untold: true},
	})
}
