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
		if !validName(args[2]) {
			return resp.ErrClientName
		}
		c.setName(args[2])
		return resp.OK
	case "client|setinfo":
		return c.setInfo(args[2], args[3])
	case "client|info":
		return resp.Verbatim(c.line())
	case "client|list":
		var b strings.Builder
		for _, o := range c.s.clients.list() {
			b.WriteString(o.line())
		}
		return resp.Verbatim(b.String())
	}
	return resp.OK // NO-EVICT, NO-TOUCH, CAPA: nothing here is evicted or touched
}

func (c *session) setName(name string) {
	c.mu.Lock()
	c.name = name
	c.mu.Unlock()
}

func (c *session) setInfo(what, value string) resp.Reply {
	if !validName(value) {
		return resp.ErrClientInfo(what)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch strings.ToUpper(what) {
	case "LIB-NAME":
		c.library = value
	case "LIB-VER":
		c.version = value
	default:
		return resp.ErrClientOption(what)
	}
	return resp.OK
}

// validName tells whether Redis would take a word for a name in CLIENT LIST.
func validName(s string) bool {
	for i := range len(s) {
		if s[i] < '!' || s[i] > '~' {
			return false
		}
	}
	return true
}

// line is the connection's line in CLIENT LIST, in Redis's form.
func (c *session) line() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	last := c.last
	if last == "" {
		last = "NULL" // an unknown name may be anything, a password typed too early too
	}
	return fmt.Sprintf("id=%d addr=%s laddr=%s name=%s age=%d idle=%d flags=N db=0 sub=0 psub=0 ssub=0 multi=-1 cmd=%s user=default lib-name=%s lib-ver=%s\n",
		c.id, c.addr, c.conn.LocalAddr(), c.name, int(now.Sub(c.since).Seconds()), int(now.Sub(c.active).Seconds()),
		last, c.library, c.version)
}
