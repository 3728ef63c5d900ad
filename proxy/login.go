package proxy

import (
	"crypto/sha256"
	"crypto/subtle"

	"redlockproxy/resp"
)

// auth is AUTH password and AUTH user password; the one user is default.
func (c *session) auth(args []string) resp.Reply {
	switch len(args) {
	case 2:
		if !c.s.cfg().Server.Password.IsSet() {
			return resp.ErrAuthNoPassword
		}
		return c.login("default", args[1])
	case 3:
		return c.login(args[1], args[2])
	}
	return resp.ErrSyntax
}

// login checks credentials. Without a password set, the default user may log in
// with anything, as in Redis.
func (c *session) login(user, password string) resp.Reply {
	set := c.s.cfg().Server.Password
	right := !set.IsSet() || sameSecret(set.Reveal(), password)
	if user != "default" || !right {
		return resp.ErrWrongPass
	}
	c.setAuthed(true)
	return resp.OK
}

// sameSecret takes the same time whatever it is given.
func sameSecret(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

func (c *session) setAuthed(yes bool) {
	c.authed = yes
	c.conn.SetAuthenticated(yes)
}

// hello is HELLO [protover [AUTH user password] [SETNAME name]]. Nothing changes
// unless all of it is right.
func (c *session) hello(args []string) resp.Reply {
	proto := c.proto
	if len(args) > 1 {
		n, ok := resp.Integer(args[1])
		if !ok {
			return resp.ErrProtoNotInteger
		}
		if n != 2 && n != 3 {
			return resp.ErrNoProto
		}
		proto = resp.Proto(n)
	}
	var user, password, clientName string
	login, named := false, false
	for i := 2; i < len(args); {
		left := len(args) - i - 1
		switch word := resp.UpperASCII(args[i]); {
		case word == "AUTH" && left >= 2:
			login, user, password = true, args[i+1], args[i+2]
			i += 3
		case word == "SETNAME" && left >= 1:
			named, clientName = true, args[i+1]
			if refusal := checkName(clientName, resp.ErrClientName); refusal != "" {
				return refusal
			}
			i += 2
		default:
			return resp.HelloOption(args[i])
		}
	}
	if login {
		if reply := c.login(user, password); reply != resp.OK {
			return reply
		}
	}
	if !c.authed {
		return resp.ErrHelloNoAuth
	}
	if named {
		c.setName(clientName)
	}
	c.proto = proto
	return resp.Map{
		resp.Bulk("server"), resp.Bulk("redis"),
		resp.Bulk("version"), resp.Bulk(c.s.cfg().Server.AdvertisedVersion),
		resp.Bulk("proto"), resp.Int(proto),
		resp.Bulk("id"), resp.Int(c.id),
		resp.Bulk("mode"), resp.Bulk("standalone"),
		resp.Bulk("role"), resp.Bulk("master"),
		resp.Bulk("modules"), resp.Array{},
	}
}
