package resp

import "strings"

// Flags that many commands share.
const (
	conn   = NoScript | Loading | Stale | Fast             // about the connection
	about  = Loading | Stale                               // about the server
	txn    = NoScript | Loading | Stale | Fast | AllowBusy // about the transaction
	script = NoScript | Stale | SkipMonitor | NoMandatoryKeys | MovableKeys
	pubsub = PubSub | NoScript | Loading | Stale
)

// commands is every command by its name in lower case. Nothing writes to it.
var commands = index(locks, scripts, walks, session, local)

// index puts the lists of served commands and the refused ones into one map.
func index(served ...[]command) map[string]*command {
	all := make(map[string]*command)
	for _, list := range served {
		for i := range list {
			all[list[i].Name] = &list[i]
		}
	}
	for name := range refusals {
		if !strings.Contains(name, "|") {
			all[name] = &command{Info: Info{Name: name, Family: Refused}}
		}
	}
	return all
}

// locks is what one round or one counter decides. Arity, flags and places of
// keys are Redis's.
var locks = []command{
	{Info{"set", -3, Write | DenyOOM, 1, 1, 1, Lock, "sets a key, under a condition and with an expiry if given"}, parseSet, nil},
	{Info{"setnx", 3, Write | DenyOOM | Fast, 1, 1, 1, Lock, "sets a key that is absent"}, parseSetNX, nil},
	{Info{"setex", 4, Write | DenyOOM, 1, 1, 1, Lock, "sets a key with an expiry in seconds"}, parseSetEX, nil},
	{Info{"psetex", 4, Write | DenyOOM, 1, 1, 1, Lock, "sets a key with an expiry in milliseconds"}, parseSetEX, nil},
	{Info{"mset", -3, Write | DenyOOM, 1, -1, 2, Lock, "sets several keys"}, parseMSet, nil},
	{Info{"msetnx", -3, Write | DenyOOM, 1, -1, 2, Lock, "sets several keys if all are absent"}, parseMSet, nil},
	{Info{"get", 2, ReadOnly | Fast, 1, 1, 1, Lock, "the value of a key"}, parseGet, nil},
	{Info{"mget", -2, ReadOnly | Fast, 1, -1, 1, Lock, "the values of several keys"}, parseMGet, nil},
	{Info{"getrange", 4, ReadOnly, 1, 1, 1, Lock, "a part of the value of a key"}, parseGetRange, nil},
	{Info{"substr", 4, ReadOnly, 1, 1, 1, Lock, "a part of the value of a key"}, parseGetRange, nil},
	{Info{"strlen", 2, ReadOnly | Fast, 1, 1, 1, Lock, "the length of the value of a key"}, parseStrLen, nil},
	{Info{"digest", 2, ReadOnly | Fast, 1, 1, 1, Lock, "the digest of the value of a key"}, parseDigest, nil},
	{Info{"exists", -2, ReadOnly | Fast, 1, -1, 1, Lock, "how many of the keys are there"}, parseExists, nil},
	{Info{"type", 2, ReadOnly | Fast, 1, 1, 1, Lock, "the type of a key: string or none"}, parseType, nil},
	{Info{"ttl", 2, ReadOnly | Fast, 1, 1, 1, Lock, "seconds that a key may still be relied on"}, parseTTL, nil},
	{Info{"pttl", 2, ReadOnly | Fast, 1, 1, 1, Lock, "milliseconds that a key may still be relied on"}, parseTTL, nil},
	{Info{"expiretime", 2, ReadOnly | Fast, 1, 1, 1, Lock, "the Unix time in seconds at which a key expires"}, parseTTL, nil},
	{Info{"pexpiretime", 2, ReadOnly | Fast, 1, 1, 1, Lock, "the Unix time in milliseconds at which a key expires"}, parseTTL, nil},
	{Info{"del", -2, Write, 1, -1, 1, Lock, "removes keys"}, parseDel, nil},
	{Info{"unlink", -2, Write | Fast, 1, -1, 1, Lock, "removes keys"}, parseDel, nil},
	{Info{"getdel", 2, Write | Fast, 1, 1, 1, Lock, "removes a key and answers its value"}, parseGetDel, nil},
	{Info{"delex", -2, Write | Fast, 1, 1, 1, Lock, "removes a key under a condition on its value"}, parseDelEx, nil},
	{Info{"delifeq", 3, Write, 1, 1, 1, Lock, "removes a key that has this value"}, parseDelIfEq, nil},
	{Info{"expire", -3, Write | Fast, 1, 1, 1, Lock, "lets a key expire in so many seconds"}, parseExpire, nil},
	{Info{"pexpire", -3, Write | Fast, 1, 1, 1, Lock, "lets a key expire in so many milliseconds"}, parseExpire, nil},
	{Info{"expireat", -3, Write | Fast, 1, 1, 1, Lock, "lets a key expire at a Unix time in seconds"}, parseExpire, nil},
	{Info{"pexpireat", -3, Write | Fast, 1, 1, 1, Lock, "lets a key expire at a Unix time in milliseconds"}, parseExpire, nil},
	{Info{"persist", 2, Write | Fast, 1, 1, 1, Lock, "takes the expiry off a key"}, parsePersist, nil},
	{Info{"incr", 2, Write | DenyOOM | Fast, 1, 1, 1, Counter, "the next number of a counter"}, parseIncr, nil},
	{Info{"incrby", 3, Write | DenyOOM | Fast, 1, 1, 1, Counter, "the next number of a counter, so many further"}, parseIncr, nil},
}

var scripts = []command{
	{Info{"eval", -3, script, 0, 0, 0, Script, "runs a Lua script"}, parseEval, nil},
	{Info{"evalsha", -3, script, 0, 0, 0, Script, "runs a Lua script by its digest"}, parseEval, nil},
	{Info{"eval_ro", -3, script | ReadOnly, 0, 0, 0, Script, "runs a Lua script that only reads"}, parseEval, nil},
	{Info{"evalsha_ro", -3, script | ReadOnly, 0, 0, 0, Script, "runs a Lua script that only reads, by its digest"}, parseEval, nil},
	{Info{"script", -2, 0, 0, 0, 0, Script, "keeps scripts for EVALSHA"}, parseScript, subs("script",
		Info{Name: "load", Arity: 3, Flags: NoScript | Stale, Family: Script, Help: "keeps a script and answers its digest"},
		Info{Name: "exists", Arity: -3, Flags: NoScript, Family: Script, Help: "which of the digests are kept"},
		Info{Name: "flush", Arity: -2, Flags: NoScript, Family: Script, Help: "forgets the scripts"},
		Info{Name: "help", Arity: 2, Flags: about, Family: Local, Help: "this text"},
	)},
}

var walks = []command{
	{Info{"scan", -2, ReadOnly, 0, 0, 0, Walk, "goes through the keys, a part at a time"}, parseScan, nil},
	{Info{"dbsize", 1, ReadOnly | Fast, 0, 0, 0, Walk, "the number of keys"}, parseDBSize, nil},
}

var session = []command{
	{Info: Info{"watch", -2, txn, 1, -1, 1, Session, "makes EXEC depend on keys staying as they are"}},
	{Info: Info{"unwatch", 1, txn, 0, 0, 0, Session, "forgets the watched keys"}},
	{Info: Info{"multi", 1, txn, 0, 0, 0, Session, "begins a transaction"}},
	{Info: Info{"exec", 1, NoScript | Loading | Stale | SkipSlowlog, 0, 0, 0, Session, "carries the transaction out"}},
	{Info: Info{"discard", 1, txn, 0, 0, 0, Session, "forgets the transaction"}},
}

var local = []command{
	{Info: Info{"ping", -1, Fast, 0, 0, 0, Local, "answers PONG, or its argument"}},
	{Info: Info{"echo", 2, about | Fast, 0, 0, 0, Local, "answers its argument"}},
	{Info: Info{"quit", -1, conn | NoAuth | AllowBusy, 0, 0, 0, Local, "ends the connection"}},
	{Info: Info{"reset", 1, conn | NoAuth | AllowBusy, 0, 0, 0, Local, "makes the connection as new"}},
	{Info: Info{"auth", -2, conn | NoAuth | AllowBusy, 0, 0, 0, Local, "authenticates the connection"}},
	{Info: Info{"hello", -1, conn | NoAuth | AllowBusy, 0, 0, 0, Local, "chooses the protocol and tells about the server"}},
	{Info: Info{"select", 2, about | Fast, 0, 0, 0, Local, "chooses the database; there is one, 0"}},
	{Info: Info{"info", -1, about, 0, 0, 0, Local, "facts about the server"}},
	{Info: Info{"time", 1, about | Fast, 0, 0, 0, Local, "the server's time"}},
	{Info: Info{"role", 1, conn, 0, 0, 0, Local, "the server's role: master"}},
	{Info: Info{"subscribe", -2, pubsub, 0, 0, 0, Local, "listens to channels; no message ever comes"}},
	{Info: Info{"psubscribe", -2, pubsub, 0, 0, 0, Local, "listens to patterns of channels; no message ever comes"}},
	{Info: Info{"ssubscribe", -2, pubsub, 1, -1, 1, Local, "listens to shard channels; no message ever comes"}},
	{Info: Info{"unsubscribe", -1, pubsub, 0, 0, 0, Local, "listens to channels no more"}},
	{Info: Info{"punsubscribe", -1, pubsub, 0, 0, 0, Local, "listens to patterns no more"}},
	{Info: Info{"sunsubscribe", -1, pubsub, 1, -1, 1, Local, "listens to shard channels no more"}},
	{Info: Info{"lolwut", -1, ReadOnly | Fast, 0, 0, 0, Local, "the version"}},
	{Info: Info{"client", -2, 0, 0, 0, 0, Local, "about client connections"}, subs: subs("client",
		Info{Name: "id", Arity: 2, Flags: NoScript | about, Help: "the connection's number"},
		Info{Name: "info", Arity: 2, Flags: NoScript | about, Help: "facts about the connection"},
		Info{Name: "list", Arity: -2, Flags: Admin | NoScript | about, Help: "facts about all connections"},
		Info{Name: "getname", Arity: 2, Flags: NoScript | about, Help: "the connection's name"},
		Info{Name: "setname", Arity: 3, Flags: NoScript | about, Help: "names the connection"},
		Info{Name: "setinfo", Arity: 4, Flags: NoScript | about, Help: "LIB-NAME or LIB-VER: names the client's library"},
		Info{Name: "no-evict", Arity: 3, Flags: Admin | NoScript | about, Help: "ON or OFF: taken and without effect"},
		Info{Name: "no-touch", Arity: 3, Flags: NoScript | about, Help: "ON or OFF: taken and without effect"},
		Info{Name: "kill", Arity: -3, Flags: Admin | NoScript | about, Help: "closes connections by ADDR, LADDR, ID, TYPE, USER, MAXAGE; SKIPME YES or NO"},
		Info{Name: "reply", Arity: 3, Flags: NoScript | about, Help: "ON, which is how it is"},
		Info{Name: "unblock", Arity: -3, Flags: Admin | NoScript | about, Help: "answers 0: nobody waits here"},
		Info{Name: "tracking", Arity: -3, Flags: NoScript | about, Help: "OFF, which is how it is"},
		Info{Name: "trackinginfo", Arity: 2, Flags: NoScript | about, Help: "that the connection is not told of changes"},
		Info{Name: "caching", Arity: 3, Flags: NoScript | about, Help: "an error: the connection is not told of changes"},
		Info{Name: "getredir", Arity: 2, Flags: NoScript | about, Help: "-1: the connection is not told of changes"},
		Info{Name: "capa", Arity: -3, Flags: NoScript | about, Help: "what the client can do: taken and without effect"},
		Info{Name: "help", Arity: 2, Flags: about, Help: "this text"},
	)},
	{Info: Info{"command", -1, about, 0, 0, 0, Local, "about the commands"}, subs: subs("command",
		Info{Name: "count", Arity: 2, Flags: about, Help: "how many commands there are"},
		Info{Name: "docs", Arity: -2, Flags: about, Help: "texts about commands"},
		Info{Name: "info", Arity: -2, Flags: about, Help: "facts about commands"},
		Info{Name: "list", Arity: -2, Flags: about, Help: "the names of the commands"},
		Info{Name: "getkeys", Arity: -4, Flags: about, Help: "the keys in a command"},
		Info{Name: "help", Arity: 2, Flags: about, Help: "this text"},
	)},
	{Info: Info{"config", -2, 0, 0, 0, 0, Local, "about the configuration"}, subs: subs("config",
		Info{Name: "get", Arity: -3, Flags: Admin | NoScript | about, Help: "the settings that match the patterns"},
		Info{Name: "help", Arity: 2, Flags: about, Help: "this text"},
	)},
}

// subs makes the subcommands of parent: the served ones as given, and the
// refused ones by their names in refusals.
func subs(parent string, served ...Info) map[string]Info {
	all := make(map[string]Info)
	for name := range refusals {
		if sub, ok := strings.CutPrefix(name, parent+"|"); ok {
			all[sub] = Info{Name: name, Family: Refused}
		}
	}
	for _, info := range served {
		sub := info.Name
		info.Name = parent + "|" + sub
		all[sub] = info
	}
	return all
}
