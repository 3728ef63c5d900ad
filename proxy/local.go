package proxy

import (
	"strconv"
	"strings"
	"time"

	"redlockproxy/resp"
)

// local answers what needs no backend. It works while all of them are down: a
// client that can't connect can't be told what is wrong.
func (c *session) local(name string, args []string) resp.Reply {
	switch name {
	case "ping":
		if c.proto == resp.RESP2 && c.listens.any() {
			return pong(args)
		}
		return ping(args)
	case "quit":
		c.ending = true
		return resp.OK
	case "reset":
		c.reset()
		return resp.Status("RESET")
	case "auth":
		return c.auth(args)
	case "hello":
		return c.hello(args)
	case "role":
		return resp.Array{resp.Bulk("master"), resp.Int(0), resp.Array{}}
	case "subscribe", "unsubscribe", "psubscribe", "punsubscribe", "ssubscribe", "sunsubscribe":
		return c.subscribe(name, args)
	case "config|get":
		return c.s.configGet(args[2:])
	}
	if reply := c.s.local(name, args); reply != nil {
		return reply
	}
	if strings.HasPrefix(name, "client|") {
		return c.client(name, args)
	}
	return resp.UnknownCommand(args)
}

// local answers what is the same for every connection, and for scripts; nil for all else.
func (s *Server) local(name string, args []string) resp.Reply {
	switch name {
	case "echo":
		return resp.Bulk(args[1])
	case "select":
		return selectDB(args[1])
	case "info":
		return resp.Verbatim(s.info(args[1:]))
	case "time":
		return serverTime()
	case "lolwut":
		return resp.Verbatim("redlock-proxy " + s.version + "\nRedis ver. " + s.cfg().Server.AdvertisedVersion + "\n")
	case "script|help", "config|help", "client|help", "command|help":
		parent, _, _ := strings.Cut(name, "|")
		return resp.HelpText(parent)
	}
	if strings.HasPrefix(name, "command") {
		return command(name, args)
	}
	return nil
}

func ping(args []string) resp.Reply {
	switch len(args) {
	case 1:
		return resp.Status("PONG")
	case 2:
		return resp.Bulk(args[1])
	}
	return resp.WrongArity("ping")
}

func serverTime() resp.Reply {
	now := time.Now()
	return resp.Array{
		resp.Bulk(strconv.FormatInt(now.Unix(), 10)),
		resp.Bulk(strconv.Itoa(now.Nanosecond() / 1000)),
	}
}

// selectDB knows one database: pretending that there are more would merge the locks
// of applications that believe they are apart.
func selectDB(n string) resp.Reply {
	switch i, ok := resp.Integer(n); {
	case !ok:
		return resp.ErrNotInteger
	case i != int64(int32(i)):
		return resp.ErrDBNotInt32
	case i != 0:
		return resp.ErrDBIndex
	}
	return resp.OK
}

// reset makes the connection as new.
func (c *session) reset() {
	c.multi.forget()
	c.proto = resp.RESP2
	c.mu.Lock()
	c.name, c.listens = "", subscriptions{}
	c.mu.Unlock()
	c.setAuthed(!c.s.cfg().Server.Password.IsSet())
}
