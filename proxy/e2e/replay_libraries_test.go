package e2e_test

import (
	"redlockproxy/proxy/redistest"
)

const (
	pong   = redistest.Status("PONG")
	queued = redistest.Status("QUEUED")

	masterChanged = "__Booksleeve_MasterChanged"

	evalOnly     = "EVAL"
	evalNext     = "EVALSHA, EVAL"
	loadNext     = "EVALSHA, LOAD, EVALSHA"
	binary       = "\x00\r\n\xff+$*binary token!!\x01" // some write tokens of any bytes
	sixteenBytes = "\x00\x01\r\n\xfe\xff+OK\r\n$-1\r"
)

// maintenance is what several clients ask for right behind HELLO 3. They take an
// error quietly; OK would promise pushes that never come.
func maintenance(words ...string) ask {
	return call(refused("ERR "), append([]string{"CLIENT", "MAINT_NOTIFICATIONS", "ON"}, words...)...)
}

func libraryBurst(first ask, name, version string) burst {
	a, b := setInfo(name, version)
	return burst{first, a, b}
}

// replays are the libraries in the versions of 2026.
var replays = []replay{
	{
		library: "redis-py 8",
		connect: redisPyConnects(),
		take:    setNX,
		owner: []way{
			byScript(int64(1), int64(0), loadNext, "extend: replace", "TOKEN TTL 1"),
			byScript(int64(1), int64(0), loadNext, "extend: constants", "TOKEN TTL"),
			byScript(int64(1), int64(0), loadNext, "release: constants", "TOKEN"),
		},
		locks: redisPyLocks,
	},
	{
		library: "Jedis 8 with ShedLock",
		connect: []burst{
			one(greeting(3), "HELLO", "3"),
			libraryBurst(call(ok, "CLIENT", "SETNAME", "pool"), "jedis", "8.0.0"),
			one(pong, "PING"),
		},
		take: setNX,
		owner: []way{
			blindly(ok, "SET", "KEY", "TOKEN", "XX", "PX", "TTL"),
			blindly(int64(1), "DEL", "KEY"),
		},
		locks: shedLockLocks,
	},
	{
		library: "Jedis 7 with ShedLock, safe updates",
		connect: []burst{libraryBurst(call(ok, "CLIENT", "SETNAME", "pool"), "jedis", "7.0.0"), one(ok, "SELECT", "0"), one(pong, "PING")},
		take:    setNX,
		owner: []way{
			byScript(int64(1), int64(0), evalOnly, "extend", "TOKEN TTL"),
			byScript(int64(1), int64(0), evalOnly, "release", "TOKEN"),
		},
		locks: shedLockSafeLocks,
	},
	{
		library: "Lettuce 7 with Spring's lock registry",
		connect: lettuceConnects(),
		take:    byScript(int64(1), nil, evalNext, "acquire: true or nil", "TOKEN TTL"),
		owner: []way{
			byScript(int64(1), nil, evalNext, "extend: true or nil", "TOKEN TTL"),
			newCommand(ok, nil, "SET KEY TOKEN PX TTL IFEQ TOKEN"),
			byScript(int64(1), nil, evalNext, "release: unlink", "TOKEN"),
			newCommand(int64(1), int64(0), "DELEX KEY IFEQ TOKEN"),
		},
		locks: springLocks,
	},
	{
		library: "StackExchange.Redis 3",
		connect: []burst{stackExchangeBurst(call(greeting(3), "HELLO", "3"))},
		take:    command(ok, nil, "SET KEY TOKEN PX TTL NX"),
		owner: []way{
			newCommand(ok, nil, "SET KEY TOKEN PX TTL IFEQ TOKEN"),
			newCommand(int64(1), int64(0), "DELEX KEY IFEQ TOKEN"),
		},
		locks: stackExchangeLocks,
	},
	{
		library: "StackExchange.Redis 2 before 8.4",
		connect: []burst{stackExchangeBurst(call(ok, "CLIENT", "SETNAME", "host(SE.Redis-v2)"))},
		take:    command(ok, nil, "SET KEY TOKEN PX TTL NX"),
		owner: []way{
			watched("PEXPIRE KEY TTL"),
			watched("DEL KEY"),
		},
		locks: stackExchangeWatches,
	},
	{
		library: "redis-client for Ruby with redlock",
		connect: []burst{libraryBurst(call(greeting(3), "HELLO", "3"), "redis-client", "0.30.0")},
		take:    byScript(ok, nil, loadNext, "acquire: only if asked", "TOKEN TTL yes"),
		owner: []way{
			byScript(ok, nil, loadNext, "acquire: only if asked", "TOKEN TTL no"),
			byScript(int64(1), int64(0), loadNext, "release", "TOKEN"),
		},
		locks: rubyRedlockLocks,
	},
	{
		library: "redis-rs with rslock",
		connect: []burst{libraryBurst(call(pong, "PING"), "redis-rs", "1.6.0")},
		take:    setNX,
		owner: []way{
			byScript(int64(1), int64(0), loadNext, "extend: set again", "TOKEN TTL"),
			byScript(int64(1), int64(0), loadNext, "release", "TOKEN"),
		},
		locks: rustLocks,
	},
	{
		library: "redis-rs in RESP3",
		connect: []burst{libraryBurst(call(greeting(3), "HELLO", "3"), "redis-rs", "1.6.0")},
		take:    setNX,
		owner: []way{
			byScript(int64(1), int64(0), loadNext, "extend: set again", "TOKEN TTL"),
			byScript(int64(1), int64(0), loadNext, "release", "TOKEN"),
		},
		locks: rustLocks,
	},
	{
		library: "Redisson's buckets and counters",
		connect: []burst{one(ok, "CLIENT", "SETNAME", "redisson"), one(pong, "PING")},
		take:    command(ok, nil, "SET KEY TOKEN PX TTL NX"),
		owner: []way{
			blindly(int64(1), "EVAL", redissonExpires, "1", "KEY", "TTL", ""),
			byScript(int64(1), int64(0), evalOnly, "release", "TOKEN"),
		},
		locks: redissonBuckets,
	},
}

// redisPyConnects: each command is sent and awaited alone; any error to HELLO, or
// another protocol than 3 in its reply, is fatal.
func redisPyConnects() []burst {
	name, version := setInfo("redis-py", "8.1.0")
	return []burst{
		one(greeting(3), "HELLO", "3"), {maintenance("moving-endpoint-type", "internal-ip")},
		one(ok, "CLIENT", "SETNAME", "worker"), {name}, {version}, one(ok, "SELECT", "0"),
	}
}

func redisPyLocks(x *exchange) {
	key, fence := x.prefix+"py", "fence:"+x.library
	x.do(0, ok, "SET", key, "t1", "NX", "PX", "10000")
	x.do(1, nil, "SET", key, "t2", "NX", "PX", "10000")
	x.do(1, "t1", "GET", key)
	x.script(0, int64(1), loadNext, "extend: add", key, "t1", "10000", "0")
	x.do(0, between(15_000, 20_000), "PTTL", key)
	x.script(0, int64(1), loadNext, "extend: replace", key, "t1", "5000", "1")
	x.script(0, int64(1), loadNext, "extend: constants", key, "t1", "10000")
	x.script(1, int64(0), loadNext, "extend: constants", key, "t2", "10000")
	x.script(1, int64(0), loadNext, "release: constants", key, "t2")
	x.script(0, int64(1), loadNext, "release: constants", key, "t1")
	x.script(0, int64(0), loadNext, "release: constants", key, "t1") // it was lost: the library raises
	x.do(0, nil, "GET", key)

	// A pipeline is a transaction unless told otherwise; incr() is INCRBY.
	x.do(1, int64(0), "DEL", fence, key)
	x.send(0, call(ok, "MULTI"), call(queued, "SET", key, "t3", "NX", "PX", "10000"), call(queued, "INCRBY", fence, "1"),
		call([]any{ok, int64(1)}, "EXEC"))
	x.send(1, call(ok, "MULTI"), call(queued, "SET", key, "t4", "NX", "PX", "10000"), call(queued, "GET", key),
		call([]any{nil, "t3"}, "EXEC"))
	x.do(0, int64(2), "DEL", key, fence)
}

func shedLockLocks(x *exchange) {
	key := x.prefix + "job"
	x.do(0, ok, "SET", key, "at host", "NX", "PX", "10000")
	x.do(1, nil, "SET", key, "at host", "NX", "PX", "10000")
	x.do(0, ok, "SET", key, "at host", "XX", "PX", "20000") // it asks nobody whose it is
	x.do(1, between(10_001, 20_000), "PTTL", key)
	x.do(0, ok, "SET", key, "at host", "XX", "PX", "5000") // released, but not before the job's shortest time
	x.do(0, int64(1), "DEL", key)
	x.do(0, nil, "SET", key, "at host", "XX", "PX", "5000")
}

func shedLockSafeLocks(x *exchange) {
	key := x.prefix + "job"
	x.do(0, ok, "SET", key, "t1", "NX", "PX", "10000")
	x.do(1, nil, "SET", key, "t2", "NX", "PX", "10000")
	x.script(0, int64(1), evalOnly, "extend", key, "t1", "20000")
	x.script(1, int64(0), evalOnly, "extend", key, "t2", "20000")
	x.script(1, int64(0), evalOnly, "release", key, "t2")
	x.script(0, int64(1), evalOnly, "release", key, "t1")
	x.script(0, int64(0), evalOnly, "extend", key, "t1", "20000")
	x.script(0, int64(0), evalOnly, "release", key, "t1")
}

// lettuceConnects: the subcommands' words are in lower case.
func lettuceConnects() []burst {
	name, version := setInfoAs("lib-name", "lib-ver", "Lettuce", "7.8.0")
	return []burst{one(greeting(3), "HELLO", "3", "SETNAME", "spring"), {name, version, maintenance("moving-endpoint-type", "internal-ip")}}
}

// springLocks: one value for all locks of an application; where the server is new
// enough the renewal and the release are single commands.
func springLocks(x *exchange) {
	key := x.prefix + "spring"
	const take, renew, free = "acquire: true or nil", "extend: true or nil", "release: unlink"
	x.script(0, int64(1), evalNext, take, key, "registry-1", "10000")
	x.script(1, nil, evalNext, take, key, "registry-2", "10000")
	x.script(0, int64(1), evalNext, take, key, "registry-1", "10000")
	x.doNew(0, ok, "SET", key, "registry-1", "PX", "20000", "IFEQ", "registry-1")
	x.doNew(1, nil, "SET", key, "registry-2", "PX", "20000", "IFEQ", "registry-2")
	x.script(0, int64(1), evalNext, renew, key, "registry-1", "20000")
	x.script(1, nil, evalNext, renew, key, "registry-2", "20000")
	x.doNew(1, int64(0), "DELEX", key, "IFEQ", "registry-2")
	x.script(1, nil, evalNext, free, key, "registry-2")
	x.script(0, int64(1), evalNext, free, key, "registry-1")

	// Where it waits for messages it releases by a script that tells of it.
	x.script(0, int64(1), evalNext, take, key, "registry-1", "10000")
	x.script(1, nil, evalNext, "release: tells a channel", key, "registry-2", "registry-channel:locks")
	x.script(0, int64(1), evalNext, "release: tells a channel", key, "registry-1", "registry-channel:locks")

	x.script(0, nil, evalNext, renew, key, "registry-1", "20000")
	x.script(0, nil, evalNext, free, key, "registry-1")
	x.doNew(0, int64(0), "DELEX", key, "IFEQ", "registry-1")
	x.doNew(0, nil, "SET", key, "registry-1", "PX", "20000", "IFEQ", "registry-1")
}

// rubyRedlockLocks: all scripts are loaded at once when one is missing.
func rubyRedlockLocks(x *exchange) {
	key := x.prefix + "rb"
	const take, free, look = "acquire: only if asked", "release", "inspect: pair"
	for _, name := range []string{take, free, look} {
		x.do(0, digest(scriptText(x.t, name)), "SCRIPT", "LOAD", scriptText(x.t, name))
	}
	x.script(0, []any{nil, int64(-2)}, loadNext, look, key)
	x.script(0, ok, loadNext, take, key, "t1", "10000", "yes")
	x.script(1, nil, loadNext, take, key, "t2", "10000", "yes")
	x.script(0, ok, loadNext, take, key, "t1", "20000", "no")
	x.script(1, nil, loadNext, take, key, "t2", "20000", "no")
	x.script(1, int64(0), loadNext, free, key, "t2")
	x.script(0, int64(1), loadNext, free, key, "t1")
	x.script(0, nil, loadNext, take, key, "t1", "20000", "no")
	x.script(0, int64(0), loadNext, free, key, "t1")
}

func rustLocks(x *exchange) {
	key := x.prefix + "rs"
	x.do(0, ok, "SET", key, binary, "NX", "PX", "10000")
	x.do(1, nil, "SET", key, binary+"2", "NX", "PX", "10000")
	x.do(1, binary, "GET", key)
	x.script(0, int64(1), loadNext, "extend: set again", key, binary, "20000")
	x.script(1, int64(0), loadNext, "extend: set again", key, binary+"2", "20000")
	x.do(0, between(10_001, 20_000), "PTTL", key)
	x.script(1, int64(0), loadNext, "release", key, binary+"2")
	x.script(0, int64(1), loadNext, "release", key, binary)
	x.script(0, int64(0), loadNext, "extend: set again", key, binary, "20000")
	x.script(0, int64(0), loadNext, "release", key, binary)
}

// redissonExpires is what expire() runs. A bucket knows no owner: nothing extends it
// only if it has a value, so the extension is blind. A release that looks is
// compareAndSet() to nothing, and a script; delete() does not look.
const redissonExpires = `local any = 0 for _, k in ipairs(KEYS) do if redis.call('pexpire', k, ARGV[1]) == 1 then any = 1 end end return any`

// redissonBuckets: what it does with plain strings. With a topology of one server it
// does not wait for replicas; where it asks, it gives that up at this error.
func redissonBuckets(x *exchange) {
	key, fence := x.prefix+"bucket", "fence:"+x.library
	x.do(1, int64(0), "DEL", key, fence)
	x.do(0, ok, "SET", key, binary, "PX", "10000", "NX")
	x.do(1, nil, "SET", key, "t2", "PX", "10000", "NX")
	x.do(0, int64(1), "INCR", fence)
	x.do(1, int64(2), "INCR", fence)
	x.do(0, between(1, 10_000), "PTTL", key)
	x.do(0, int64(2), "DEL", key, fence)
	x.doNew(0, refused("ERR unknown command 'WAIT', with args beginning with: '1' '1000' "), "WAIT", "1", "1000")
	x.doNew(0, refused("ERR unknown command 'WAITAOF', with args beginning with: "), "WAITAOF", "0", "1", "1000")
	x.do(0, containing("role:master"), "INFO", "ALL")
}
