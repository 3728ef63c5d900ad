package e2e_test

import (
	"strings"

	"redlockproxy/proxy/redistest"
)

// stackExchangeBurst is one write. The echo of sixteen bytes completes it; the other
// replies may be errors, but not of another type: a text to CLUSTER NODES makes the
// server a cluster, and anything but an error to SENTINEL a sentinel.
func stackExchangeBurst(first ask) burst {
	name, version := setInfoAs("lib-name", "lib-ver", "SE.Redis", "3.1.0")
	return burst{
		first, call(ok, "CLIENT", "SETNAME", "host"), name, version,
		call(between(1, 1<<40), "CLIENT", "ID"),
		call(setting("timeout", "0"), "CONFIG", "GET", "timeout"),
		call(setting("replica-read-only", "yes"), "CONFIG", "GET", "replica-read-only"),
		newCall(setting("databases", "1"), "CONFIG", "GET", "databases"),
		call(refused("ERR unknown command 'SENTINEL'"), "SENTINEL", "MASTERS"),
		call(containing("role:master"), "INFO", "replication"),
		call(containing("redis_version:", "redis_mode:standalone"), "INFO", "server"),
		call(refused("ERR This instance has cluster support disabled"), "CLUSTER", "NODES"),
		call(nilOrUnavailable, "GET", "__Booksleeve_TieBreak"),
		call(sixteenBytes, "ECHO", sixteenBytes),
	}
}

// nilOrUnavailable is what a key that nobody has set is: also where no majority can
// be asked, which the handshake has to survive.
var nilOrUnavailable = need(func(reply any) string {
	if e, isError := reply.(redistest.Error); reply == nil || isError && strings.HasPrefix(string(e), "UNAVAILABLE ") {
		return ""
	}
	return "wanted null, or UNAVAILABLE"
})

func stackExchangeLocks(x *exchange) {
	key := x.prefix + "net"
	x.do(0, ok, "SET", key, binary, "EX", "10", "NX")
	x.do(1, nil, "SET", key, "t2", "PX", "10500", "NX")
	x.do(1, binary, "GET", key)
	x.doNew(0, ok, "SET", key, binary, "EX", "20", "IFEQ", binary)
	x.doNew(1, nil, "SET", key, "t2", "EX", "20", "IFEQ", "t2")
	x.doNew(1, int64(0), "DELEX", key, "IFEQ", "t2")
	x.doNew(0, int64(1), "DELEX", key, "IFEQ", binary)
	x.doNew(0, int64(0), "DELEX", key, "IFEQ", binary)
	x.doNew(0, nil, "SET", key, binary, "EX", "20", "IFEQ", binary)
	if x.old {
		x.do(0, int64(1), "DEL", key) // the release was left out
	}
	// In RESP3 it listens over the same connection, and goes on there.
	x.do(0, redistest.Push{"subscribe", masterChanged, int64(1)}, "SUBSCRIBE", masterChanged)
	x.do(0, containing("role:master"), "INFO", "replication") // its heartbeat
	x.do(0, nil, "GET", key)
}

// stackExchangeWatches: against a server that says it is older, ownership is watched.
// In RESP2 a second connection listens.
func stackExchangeWatches(x *exchange) {
	key := x.prefix + "net"
	x.do(0, ok, "SET", key, "t1", "EX", "10", "NX")
	x.do(1, nil, "SET", key, "t2", "EX", "10", "NX")

	x.send(0, call(ok, "WATCH", key), call("t1", "GET", key))
	x.send(0, call(ok, "MULTI"), call(queued, "EXPIRE", key, "20"), call([]any{int64(1)}, "EXEC"))
	x.send(1, call(ok, "WATCH", key), call("t1", "GET", key))
	x.do(1, ok, "UNWATCH") // not its own

	x.send(0, call(ok, "WATCH", key), call("t1", "GET", key))
	x.do(1, ok, "SET", key, "t2", "EX", "10")
	x.send(0, call(ok, "MULTI"), call(queued, "DEL", key), call(nil, "EXEC"))
	x.do(1, "t2", "GET", key)
	x.send(1, call(ok, "WATCH", key), call("t2", "GET", key))
	x.send(1, call(ok, "MULTI"), call(queued, "DEL", key), call([]any{int64(1)}, "EXEC"))

	x.do(1, []any{"subscribe", masterChanged, int64(1)}, "SUBSCRIBE", masterChanged)
	x.do(1, []any{"pong", ""}, "PING")
	x.do(1, refused("ERR Can't execute 'get'"), "GET", key)
}
