package proxy_test

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"redlockproxy/proxy/redistest"
	"redlockproxy/resp"
)

// A strict connection reads replies as a client does that knows every type of its
// protocol and takes no other.
type strict struct {
	t     *testing.T
	conn  net.Conn
	in    *bufio.Reader
	proto resp.Proto
}

func dialStrict(t *testing.T, addr string) *strict {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return &strict{t: t, conn: conn, in: bufio.NewReader(conn), proto: resp.RESP2}
}

func (s *strict) do(args []string) resp.Reply {
	s.t.Helper()
	_ = s.conn.SetDeadline(time.Now().Add(20 * time.Second))
	if _, err := s.conn.Write(redistest.Encode(args...)); err != nil {
		s.t.Fatal(err)
	}
	if args[0] == "HELLO" {
		s.proto = resp.Proto(args[1][0] - '0')
	}
	if args[0] == "RESET" {
		s.proto = resp.RESP2
	}
	reply, err := resp.ReadReply(s.in, s.proto)
	if err != nil {
		s.t.Fatalf("%s in RESP%d: %v", spell(args), s.proto, err)
	}
	return reply
}

// shape is the type of a reply, and of what is in it as far as that is the same for all
// elements: how many there are is no question of types.
func shape(r resp.Reply) string {
	var items []resp.Reply
	switch r := r.(type) {
	case resp.Array:
		items = r
	case resp.Push:
		items = r
	case resp.Unordered:
		items = r
	case resp.Map:
		var kinds [2]string
		for i, item := range r {
			if s := shape(item); kinds[i%2] == "" {
				kinds[i%2] = s
			} else if kinds[i%2] != s {
				kinds[i%2] = "?"
			}
		}
		return fmt.Sprintf("Map{%s: %s}", kinds[0], kinds[1])
	case resp.Error:
		code, _, _ := strings.Cut(string(r), " ")
		return "Error " + code
	}
	name := strings.TrimPrefix(fmt.Sprintf("%T", r), "resp.")
	if items == nil {
		return name
	}
	var kinds []string
	for _, item := range items {
		if s := shape(item); len(kinds) == 0 || kinds[len(kinds)-1] != s {
			kinds = append(kinds, s)
		}
	}
	return name + "[" + strings.Join(kinds, ", ") + "]"
}

// typed are commands of every name that is served, in an order in which they do
// something; each is sent in both protocols.
var typed = strings.Split(strings.TrimSpace(`
PING
PING x
ECHO x
SELECT 0
AUTH x
TIME
ROLE
LOLWUT
INFO
INFO server
INFO nosuch
CLIENT ID
CLIENT INFO
CLIENT LIST
CLIENT GETNAME
CLIENT SETNAME me
CLIENT GETNAME
CLIENT NO-EVICT on
CLIENT KILL ID 999999
CLIENT REPLY ON
CLIENT UNBLOCK 999999
CLIENT TRACKING OFF
CLIENT TRACKINGINFO
CLIENT CACHING YES
CLIENT GETREDIR
CLIENT HELP
COMMAND COUNT
COMMAND INFO get nosuch
COMMAND LIST
COMMAND GETKEYS MSET a b c d
COMMAND GETKEYS PING
COMMAND HELP
CONFIG GET maxmemory
CONFIG GET nosuch
CONFIG HELP
SET k v
SET k v NX
SET k v XX GET
SET nothing v XX
SET nothing v XX GET
SETNX k v
SETNX k2 v
SETEX k 100 v
PSETEX k 100000 v
MSET a b c d
MSETNX a b
GET k
GET nothing
GET list
MGET k nothing list
GETRANGE k 0 -1
SUBSTR nothing 0 -1
STRLEN k
EXISTS k nothing
TYPE k
TYPE nothing
TTL k
PTTL nothing
EXPIRETIME k
PEXPIRETIME k
EXPIRE k 100
PEXPIRE k 100000
EXPIREAT nothing 1
PEXPIREAT nothing 1
PERSIST k
GETDEL k
GETDEL k
DEL a c
UNLINK nothing
INCR n
INCRBY n 5
INCR list
SCAN 0
SCAN 0 MATCH nothing
DBSIZE
EVAL return 0
EVAL return 0 0
EVAL return{1,'x',false,{},true,3.5,{ok='fine'},{err='MINE'}} 0
EVAL return{} 0
EVAL return{double=3.5} 0
EVAL return{double=1/0} 0
EVAL return{set={a=true}} 0
EVAL return{map={a=true}} 0
EVAL return{big_number='12345678901234567890'} 0
EVAL return{verbatim_string={format='txt',string='x'}} 0
EVAL return{true,false} 0
EVAL redis.setresp(3);return{true,false} 0
EVAL redis.setresp(3);return{{double=0.1},{set={b=false}},{big_number='-1'},redis.call('get',KEYS[1])} 1 nokey
EVAL return{err='MINE'} 0
EVAL_RO return{ok='fine'} 0
EVALSHA ffffffffffffffffffffffffffffffffffffffff 0
EVALSHA_RO ffffffffffffffffffffffffffffffffffffffff 0
SCRIPT LOAD return
SCRIPT EXISTS x y
SCRIPT FLUSH
SCRIPT HELP
WATCH k
UNWATCH
MULTI
PING
GET nothing
MGET nothing nothing
CONFIG GET maxmemory
INFO server
EXEC
MULTI
DISCARD
EXEC
DISCARD
WATCH k
SET k w
MULTI
EXEC
SUBSCRIBE c
UNSUBSCRIBE c
PSUBSCRIBE p
PUNSUBSCRIBE p
SSUBSCRIBE s
SUNSUBSCRIBE s
UNSUBSCRIBE
HELLO 2
HELLO 3
HELLO 4
RESET
QUIT`), "\n")

// withoutRedis are names that the Redis of the tests does not know.
var withoutRedis = map[string]bool{"digest": true, "delex": true, "delifeq": true, "client|setinfo": true, "client|no-touch": true, "client|capa": true}

// TestRepliesHaveRedissTypesInBothProtocols holds every served command against one Redis.
func TestRepliesHaveRedissTypesInBothProtocols(t *testing.T) {
	w, redis := newWorld(t), redistest.Start(t, redistest.Args("--databases", "1"))
	for _, proto := range []string{"2", "3"} {
		for _, s := range append(redistest.Group{redis}, w.backends...) {
			s.Empty()
			s.MustDo("RPUSH", "list", "x")
		}
		here, there := dialStrict(t, w.addr), dialStrict(t, redis.Addr())
		seen := map[string]bool{}
		for _, c := range []*strict{here, there} {
			c.do([]string{"HELLO", proto})
		}
		for _, line := range typed {
			args := strings.Fields(line)
			if line == "EVAL return 0 0" {
				args = []string{"EVAL", "return 0", "0"}
			}
			if args[0] == "HELLO" && args[1] != proto {
				continue
			}
			ours, theirs := shape(here.do(args)), shape(there.do(args))
			if ours != theirs && !documented("types of "+line, theirs, ours) {
				t.Errorf("RESP%s: %s\n\tRedis: %s\n\tproxy: %s", proto, line, theirs, ours)
			}
			info, _ := resp.Check(args)
			seen[info.Name] = true
		}
		for _, info := range resp.Commands() {
			for _, i := range append(resp.Subcommands(info.Name), info) {
				isParent := resp.Subcommands(i.Name) != nil && i.Arity < -1
				if !seen[i.Name] && !isParent && !withoutRedis[i.Name] && i.Name != "command" && i.Name != "command|docs" {
					t.Errorf("%s is not compared", i.Name)
				}
			}
		}
	}
}

// TestTypesOfNewerReplies has the replies of newer commands, and those that are the
// proxy's own, in both protocols.
func TestTypesOfNewerReplies(t *testing.T) {
	w := newWorld(t)
	for _, proto := range []string{"2", "3"} {
		c := dialStrict(t, w.addr)
		null, verbatim, dict := "Null", "Bulk", "Array[Bulk, Array[Bulk]]"
		if proto == "3" {
			verbatim, dict = "Verbatim", "Map{Bulk: Map{Bulk: Bulk}}"
		}
		for _, step := range []struct{ line, want string }{
			{"HELLO " + proto, ""}, {"DEL k", "Int"}, {"DIGEST k", null}, {"SET k v IFEQ x", null}, {"SET k v IFNE x", "Status"}, {"SET k v IFEQ x GET", "Bulk"},
			{"DIGEST k", "Bulk"}, {"DELEX k IFEQ x", "Int"}, {"DELEX k IFDEQ x", "Error ERR"}, {"DELIFEQ k v", "Int"}, {"SET k v IFNE x GET", null},
			{"CLIENT SETINFO LIB-NAME x", "Status"}, {"CLIENT NO-TOUCH ON", "Status"}, {"CLIENT CAPA redirect", "Status"}, {"COMMAND DOCS get", dict},
			{"COMMAND DOCS", "Error ERR"}, {"INFO quorum", verbatim}, {"CLIENT MAINT_NOTIFICATIONS ON", "Error ERR"}, {"LPUSH l x", "Error UNSUPPORTED"},
		} {
			if got := shape(c.do(strings.Fields(step.line))); step.want != "" && got != step.want {
				t.Errorf("RESP%s: %s: %s, wanted %s", proto, step.line, got, step.want)
			}
		}
	}
}
