package clients

import "testing"

// python is Debian's, which has Debian's python3-redis.
const python = "/usr/bin/python3"

func TestRedisPyLocks(t *testing.T) {
	drive(t, library{
		works: script(python, "python/lock.py", "works"),
		fails: script(python, "python/lock.py", "fails"),
	})
}

func TestNodeRedlockLocksOneKey(t *testing.T) {
	drive(t, library{
		works: script("node", "node/redlock.js", "works-1"),
		fails: script("node", "node/redlock.js", "fails-1"),
	})
}

func TestNodeRedlockLocksTwoKeys(t *testing.T) {
	drive(t, library{
		works: script("node", "node/redlock.js", "works-2"),
		fails: script("node", "node/redlock.js", "fails-2"),
	})
}
