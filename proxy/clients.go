package proxy

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"redlockproxy/resp"
)

// clients is who is connected; never more than the guard lets in.
type clients struct {
	mu   sync.Mutex
	last int64
	all  map[int64]*session
}

// add gives a new session its number.
func (r *clients) add(c *session) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last++
	c.id = r.last
	if r.all == nil {
		r.all = make(map[int64]*session)
	}
	r.all[c.id] = c
}

func (r *clients) remove(c *session) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.all, c.id)
}

func (r *clients) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.all)
}

// list is all sessions, oldest first.
func (r *clients) list() []*session {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]*session, 0, len(r.all))
	for _, c := range r.all {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b *session) int { return int(a.id - b.id) })
	return all
}

// client answers the subcommands of CLIENT.
func (c *session) client(name string, args []string) resp.Reply {
	switch name {
	case "client|id":
		return resp.Int(c.id)
	case "client|getname":
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.name == "" {
			return resp.Null{}
		}
		return resp.Bulk(c.name)
	case "client|setname":
		if refusal := checkName(args[2], resp.ErrClientName); refusal != "" {
			return refusal
		}
		c.setName(args[2])
		return resp.OK
	case "client|setinfo":
		return c.setInfo(args[2], args[3])
	case "client|info":
		return resp.Verbatim(c.line())
	case "client|list":
		return c.clientList(args)
	case "client|kill":
		return c.kill(args)
	case "client|unblock":
		return unblock(args)
	case "client|reply", "client|tracking", "client|trackinginfo", "client|caching", "client|getredir":
		return pushes(name, args)
	case "client|no-evict", "client|no-touch":
		if word := resp.LowerASCII(args[2]); word != "on" && word != "off" {
			return resp.ErrSyntax
		}
	}
	return resp.OK // NO-EVICT, NO-TOUCH, CAPA: nothing here is evicted or touched
}

// unblock is CLIENT UNBLOCK: nobody is blocked here.
func unblock(args []string) resp.Reply {
	if len(args) > 4 {
		return resp.SubcommandSyntax("client", args[1])
	}
	if len(args) == 4 && resp.LowerASCII(args[3]) != "timeout" && resp.LowerASCII(args[3]) != "error" {
		return resp.ErrUnblock
	}
	if _, ok := resp.Integer(args[2]); !ok {
		return resp.ErrNotInteger
	}
	return resp.Int(0)
}

// pushes answers what is about replies that are not sent, or sent unasked. A client that
// wants no replies could not know what it holds; one that believes to be told of changes
// would trust what it has cached.
func pushes(name string, args []string) resp.Reply {
	switch name {
	case "client|trackinginfo":
		return resp.Map{
			resp.Bulk("flags"), resp.Unordered{resp.Bulk("off")},
			resp.Bulk("redirect"), resp.Int(-1),
			resp.Bulk("prefixes"), resp.Array{},
		}
	case "client|getredir":
		return resp.Int(-1)
	case "client|caching":
		return resp.ErrNotTracking
	}
	word := resp.LowerASCII(args[2])
	switch {
	case name == "client|reply" && word == "on", name == "client|tracking" && word == "off":
		return resp.OK
	case name == "client|reply" && (word == "off" || word == "skip"):
		return resp.ErrReplyOff
	case name == "client|tracking" && word == "on":
		return resp.ErrTracking
	}
	return resp.ErrSyntax
}

// setName keeps a copy, as setInfo does, that does not hold the command in memory.
func (c *session) setName(name string) {
	c.mu.Lock()
	c.name = strings.Clone(name)
	c.mu.Unlock()
}

func (c *session) setInfo(what, value string) resp.Reply {
	var field *string
	switch resp.UpperASCII(what) {
	case "LIB-NAME":
		field = &c.library
	case "LIB-VER":
		field = &c.version
	default:
		return resp.ErrClientOption(what)
	}
	if refusal := checkName(value, resp.ErrClientInfo(what)); refusal != "" {
		return refusal
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	*field = strings.Clone(value)
	return resp.OK
}

// maxName is how many bytes the names of a connection may have, each: it keeps them as
// long as it is there, and CLIENT LIST shows those of all.
const maxName = 256

// checkName is why a word is no name in CLIENT LIST: invalid where Redis would not take
// it either.
func checkName(s string, invalid resp.Error) resp.Error {
	for i := range len(s) {
		if s[i] < '!' || s[i] > '~' {
			return invalid
		}
	}
	if len(s) > maxName {
		return resp.ErrLongName
	}
	return ""
}

// line is the connection's line in CLIENT LIST, with all the fields of Redis 7.0, since some
// clients fail where one is missing. What is 0 or always the same is not known here.
func (c *session) line() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	now, queuing := time.Now(), c.queuing.Load()
	last := c.last
	if last == "" {
		last = "NULL" // an unknown name may be anything, a password typed too early too
	}
	flags := ""
	if c.listens.any() {
		flags += "P"
	}
	if queuing >= 0 {
		flags += "x"
	}
	if flags == "" {
		flags = "N"
	}
	return fmt.Sprintf("id=%d addr=%s laddr=%s fd=0 name=%s age=%d idle=%d flags=%s db=0 sub=%d psub=%d ssub=%d multi=%d"+
		" qbuf=0 qbuf-free=0 argv-mem=0 multi-mem=0 rbs=0 rbp=0 obl=0 oll=0 omem=0 tot-mem=0 events=r cmd=%s user=default redir=-1 resp=%d"+
		" lib-name=%s lib-ver=%s\n",
		c.id, c.addr, c.conn.LocalAddr(), c.name, int(now.Sub(c.since).Seconds()), int(now.Sub(c.active).Seconds()), flags,
		len(c.listens.channels), len(c.listens.patterns), len(c.listens.shards), queuing, last, c.speaks.Load(), c.library, c.version)
}
