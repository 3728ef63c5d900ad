package lua

import (
	"math"
	"strconv"
	"strings"

	"redlockproxy/resp"
)

// A mapHost is a small Redis: strings with expiry times that stand still.
type mapHost struct {
	values map[string]string
	ttl    map[string]int64 // milliseconds; absent: none
	err    error            // if set, what every call fails with
	calls  int
}

var _ Host = (*mapHost)(nil)

func newMapHost() *mapHost {
	return &mapHost{values: map[string]string{}, ttl: map[string]int64{}}
}

const notInteger = resp.Error("ERR value is not an integer or out of range")

// arity of the commands, as COMMAND INFO tells it.
var arity = map[string]int{
	"get": 2, "set": -3, "setnx": 3, "setex": 4, "del": -2, "unlink": -2, "exists": -2,
	"expire": -3, "pexpire": -3, "pexpireat": -3, "persist": 2, "pttl": 2, "ttl": 2,
	"incr": 2, "mget": -2, "mset": -3, "msetnx": -3, "getrange": 4, "strlen": 2, "type": 2,
	"ping": -1, "echo": 2, "time": 1, "publish": 3,
}

func (h *mapHost) Call(args []string) (resp.Reply, error) {
	h.calls++
	if h.err != nil {
		return nil, h.err
	}
	name := strings.ToLower(args[0])
	switch name {
	case "multi", "subscribe", "eval":
		return resp.ErrNotInScript, nil
	}
	n, known := arity[name]
	switch {
	case !known:
		return resp.ErrUnknownInScript, nil
	case n > 0 && len(args) != n || n < 0 && len(args) < -n:
		return resp.ErrArityInScript, nil
	}
	return h.carryOut(name, args[1:]), nil
}

func (h *mapHost) carryOut(name string, a []string) resp.Reply {
	switch name {
	case "get":
		return h.get(a[0])
	case "set":
		return h.set(a[0], a[1], a[2:])
	case "setnx":
		if h.set(a[0], a[1], []string{"nx"}) == resp.Reply(resp.OK) {
			return resp.Int(1)
		}
		return resp.Int(0)
	case "setex":
		return h.set(a[0], a[2], []string{"ex", a[1]})
	case "del", "unlink", "exists":
		return h.count(a, name != "exists")
	case "expire", "pexpire", "pexpireat":
		return h.expire(name, a)
	case "persist":
		_, had := h.ttl[a[0]]
		delete(h.ttl, a[0])
		return boolean(had)
	case "pttl", "ttl":
		return h.remaining(a[0], name == "ttl")
	case "incr":
		return h.incr(a[0])
	case "mget":
		list := resp.Array{}
		for _, k := range a {
			list = append(list, h.get(k))
		}
		return list
	case "mset", "msetnx":
		return h.mset(a, name == "msetnx")
	case "getrange":
		return h.getRange(a)
	case "strlen":
		return resp.Int(len(h.values[a[0]]))
	case "type":
		if _, ok := h.values[a[0]]; ok {
			return resp.Status("string")
		}
		return resp.Status("none")
	case "ping":
		return resp.Status("PONG")
	case "publish":
		return resp.Int(0) // nobody listens
	case "time":
		return resp.Array{resp.Bulk("1700000000"), resp.Bulk("123456")}
	}
	return resp.Bulk(a[0])
}

func boolean(b bool) resp.Reply {
	if b {
		return resp.Int(1)
	}
	return resp.Int(0)
}

func (h *mapHost) get(k string) resp.Reply {
	if v, ok := h.values[k]; ok {
		return resp.Bulk(v)
	}
	return resp.Null{}
}

func (h *mapHost) set(k, v string, options []string) resp.Reply {
	_, present := h.values[k]
	ttl, refused := int64(0), false
	for i := 0; i < len(options); i++ {
		switch o := strings.ToLower(options[i]); o {
		case "nx":
			refused = refused || present
		case "xx":
			refused = refused || !present
		case "px", "ex", "pxat":
			i++
			if i >= len(options) {
				return resp.Error("ERR syntax error")
			}
			n, err := strconv.ParseInt(options[i], 10, 64)
			if err != nil {
				return notInteger
			}
			switch o {
			case "ex":
				n *= 1000
			case "pxat":
				n = 1000
			}
			ttl = n
		default:
			return resp.Error("ERR syntax error")
		}
	}
	if refused {
		return resp.Null{}
	}
	h.values[k] = v
	delete(h.ttl, k)
	if ttl > 0 {
		h.ttl[k] = ttl
	}
	return resp.OK
}

func (h *mapHost) count(keys []string, remove bool) resp.Reply {
	n := 0
	for _, k := range keys {
		if _, ok := h.values[k]; ok {
			n++
			if remove {
				delete(h.values, k)
				delete(h.ttl, k)
			}
		}
	}
	return resp.Int(n)
}

func (h *mapHost) expire(name string, a []string) resp.Reply {
	n, err := strconv.ParseInt(a[1], 10, 64)
	if err != nil {
		return notInteger
	}
	if _, ok := h.values[a[0]]; !ok {
		return resp.Int(0)
	}
	switch name {
	case "expire":
		n *= 1000
	case "pexpireat":
		n = 1000
	}
	h.ttl[a[0]] = n
	return resp.Int(1)
}

func (h *mapHost) remaining(k string, seconds bool) resp.Reply {
	if _, ok := h.values[k]; !ok {
		return resp.Int(-2)
	}
	n, ok := h.ttl[k]
	switch {
	case !ok:
		return resp.Int(-1)
	case seconds:
		return resp.Int((n + 500) / 1000)
	}
	return resp.Int(n)
}

func (h *mapHost) incr(k string) resp.Reply {
	v := h.values[k]
	if v == "" {
		v = "0"
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil {
		return notInteger
	}
	if n == math.MaxInt64 {
		return resp.Error("ERR increment or decrement would overflow")
	}
	h.values[k] = strconv.FormatInt(n+1, 10)
	return resp.Int(n + 1)
}

func (h *mapHost) mset(a []string, ifAbsent bool) resp.Reply {
	if len(a)%2 != 0 {
		return resp.Error("ERR wrong number of arguments for 'mset' command")
	}
	for i := 0; ifAbsent && i < len(a); i += 2 {
		if _, ok := h.values[a[i]]; ok {
			return resp.Int(0)
		}
	}
	for i := 0; i < len(a); i += 2 {
		h.values[a[i]] = a[i+1]
	}
	if ifAbsent {
		return resp.Int(1)
	}
	return resp.OK
}

func (h *mapHost) getRange(a []string) resp.Reply {
	v := h.values[a[0]]
	from, err1 := strconv.Atoi(a[1])
	to, err2 := strconv.Atoi(a[2])
	if err1 != nil || err2 != nil {
		return notInteger
	}
	if from < 0 {
		from = max(from+len(v), 0)
	}
	if to < 0 {
		to += len(v)
	}
	to = min(to, len(v)-1)
	if from > to {
		return resp.Bulk("")
	}
	return resp.Bulk(v[from : to+1])
}
