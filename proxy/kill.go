package proxy

import (
	"slices"
	"strings"
	"time"

	"redlockproxy/resp"
)

// A killing is a CLIENT KILL: which connections it is about. A zero field is about all.
type killing struct {
	id          int64
	addr, laddr *string
	kind        string
	age         time.Duration
	spareSelf   bool
}

// kill is CLIENT KILL, in its old form with an address and in its new one with filters.
func (c *session) kill(args []string) resp.Reply {
	if len(args) == 3 {
		if c.end(killing{addr: &args[2]}) == 0 {
			return resp.ErrNoSuchClient
		}
		return resp.OK
	}
	k := killing{spareSelf: true}
	for words := args[2:]; len(words) > 0; words = words[2:] {
		if len(words) < 2 {
			return resp.ErrSyntax
		}
		if refusal := k.filter(words[0], words[1]); refusal != "" {
			return refusal
		}
	}
	return resp.Int(c.end(k))
}

func (k *killing) filter(name, value string) resp.Error {
	switch resp.UpperASCII(name) {
	case "ID":
		id, ok := resp.Integer(value)
		if !ok || id < 1 {
			return resp.ErrClientID
		}
		k.id = id
	case "ADDR":
		k.addr = &value
	case "LADDR":
		k.laddr = &value
	case "TYPE":
		kind, refusal := clientType(value)
		if refusal != "" {
			return refusal
		}
		k.kind = kind
	case "USER":
		if value != "default" {
			return resp.ErrNoSuchUser(value)
		}
	case "MAXAGE":
		age, ok := resp.Integer(value)
		if !ok || age < 1 {
			return resp.ErrMaxAge
		}
		k.age = time.Duration(min(age, int64(time.Duration(1<<63-1)/time.Second))) * time.Second
	case "SKIPME":
		switch resp.UpperASCII(value) {
		case "YES":
			k.spareSelf = true
		case "NO":
			k.spareSelf = false
		default:
			return resp.ErrSyntax
		}
	default:
		return resp.ErrSyntax
	}
	return ""
}

// clientType is a type of client, by Redis's present name.
func clientType(word string) (string, resp.Error) {
	switch kind := resp.LowerASCII(word); kind {
	case "normal", "master", "replica", "pubsub":
		return kind, ""
	case "slave":
		return "replica", ""
	}
	return "", resp.ErrClientType(word)
}

// end closes the connections that k is about and returns how many. The client itself
// gets its reply first. What the others had begun is carried out, and what they would
// have been told that they hold is undone.
func (c *session) end(k killing) int {
	n := 0
	for _, o := range c.s.clients.list() {
		switch {
		case !o.meets(k):
		case o != c:
			n++
			c.s.clients.remove(o) // from here on it is none, and can't be ended twice
			_ = o.conn.Close()
		case !k.spareSelf:
			n++
			c.ending = true
		}
	}
	return n
}

func (c *session) meets(k killing) bool {
	return (k.id == 0 || c.id == k.id) && isAt(k.addr, c.addr) && isAt(k.laddr, c.conn.LocalAddr().String()) &&
		(k.kind == "" || c.kind() == k.kind) && (k.age == 0 || time.Since(c.since) >= k.age)
}

// isAt tells whether an address is the one that is wanted. None is nobody's, also where
// clients of a Unix socket have none.
func isAt(wanted *string, addr string) bool {
	return wanted == nil || *wanted == addr && addr != ""
}

// kind is the client's type, as CLIENT LIST and CLIENT KILL take it.
func (c *session) kind() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.listens.any() {
		return "pubsub"
	}
	return "normal"
}

// clientList is CLIENT LIST [TYPE type] [ID id ...].
func (c *session) clientList(args []string) resp.Reply {
	chosen := func(*session) bool { return true }
	if len(args) > 2 {
		switch word := resp.UpperASCII(args[2]); {
		case word == "TYPE" && len(args) == 4:
			kind, refusal := clientType(args[3])
			if refusal != "" {
				return refusal
			}
			chosen = func(o *session) bool { return o.kind() == kind }
		case word == "ID" && len(args) > 3:
			var ids []int64
			for _, a := range args[3:] {
				id, ok := resp.Integer(a)
				if !ok {
					return resp.ErrInvalidID
				}
				ids = append(ids, id)
			}
			chosen = func(o *session) bool { return slices.Contains(ids, o.id) }
		default:
			return resp.ErrSyntax
		}
	}
	var b strings.Builder
	for _, o := range c.s.clients.list() {
		if chosen(o) {
			b.WriteString(o.line())
		}
	}
	return resp.Verbatim(b.String())
}
