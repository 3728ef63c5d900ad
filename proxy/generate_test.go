package proxy_test

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A generator makes commands over the served set, seeded, on keys of its own.
type generator struct {
	*rand.Rand
	now      int64 // Unix milliseconds, for absolute times
	prefix   string
	keyNames []string
	remark   string // in each script, so that nobody else's has the same digest
	scripts  []genScript
}

func newGenerator(random *rand.Rand, prefix string) *generator {
	g := &generator{Rand: random, now: time.Now().UnixMilli(), prefix: prefix, remark: " --" + prefix, scripts: genScripts}
	for _, k := range genKeys {
		g.keyNames = append(g.keyNames, prefix+k)
	}
	return g
}

// genKeys are few, so that commands meet each other's keys; "list" holds a list.
var genKeys = []string{"a", "b", "c", "d", "e", "n1", "n2", "n3", "list", "", "\x00\r\n\xff", "k~rl:AAAAAAAAAAAAAAAA", strings.Repeat("long", 500)}

var genValues = []string{
	"", "x", "token", "1", "-5", "007", "9223372036854775806", "12345678901234567890", "1.5", " 1", "\x00\r\n\xff\xfe", "é世",
	"v~rl:AAAAAAAAAAAAAAAA", "~rl:0123456789abcdef", "~rl:short", strings.Repeat("big", 3000),
}

func pick[T any](g *generator, from ...T) T { return from[g.IntN(len(from))] }

func (g *generator) key() string { return pick(g, g.keyNames...) }

// number is a key that holds a counter, now and then the list. Counters have keys of
// their own because a plain deletion of what has no tag reaches a backend that was a
// little late after what is sent behind it, and then numbers have a gap, as is
// documented. Inside a transaction or a script they are deleted like anything else.
func (g *generator) number() string { return g.prefix + pick(g, numbers...) }

var numbers = []string{"n1", "n2", "n3", "n1", "n2", "n3", "list"}

// deletable are the keys of a plain deletion.
func (g *generator) deletable() []string {
	keys := slices.DeleteFunc(g.keys(), func(k string) bool { return slices.Contains(numbers, k[len(g.prefix):]) })
	if len(keys) == 0 && g.IntN(20) > 0 {
		keys = append(keys, g.prefix+"a")
	}
	return keys
}

func (g *generator) value() string { return pick(g, genValues...) }

func (g *generator) keys() []string {
	all := []string{g.key()}
	for g.IntN(2) == 0 {
		all = append(all, g.key())
	}
	return all
}

// odd is a word in any case.
func (g *generator) odd(word string) string {
	b := []byte(word)
	for i := range b {
		if g.IntN(3) == 0 {
			b[i] ^= 'a' - 'A'
		}
	}
	return string(b)
}

// millis is a time to live that does not end while the test runs, and that is
// hardly ever near another one.
func (g *generator) millis() int64 { return 100_000 + g.Int64N(80_000_000) }

// expiry is an option of SET and its number.
func (g *generator) expiry() []string {
	unit := pick(g, "EX", "PX", "EXAT", "PXAT")
	return []string{g.odd(unit), g.amount(unit)}
}

// amount is a number for a unit, now and then one that can't be.
func (g *generator) amount(unit string) string {
	if g.IntN(12) == 0 {
		return pick(g, "0", "-1", "abc", "1.5", "", "9223372036854775808", " 5", "+5")
	}
	ms := g.millis()
	if strings.HasSuffix(unit, "AT") {
		ms += g.now
	}
	if strings.HasPrefix(unit, "EX") {
		ms /= 1000
	}
	return strconv.FormatInt(ms, 10)
}

// set is a SET with any options in any order.
func (g *generator) set() []string {
	var options [][]string
	for g.IntN(5) < 3 {
		switch g.IntN(7) {
		case 0, 1:
			options = append(options, []string{g.odd("NX")})
		case 2:
			options = append(options, []string{g.odd(pick(g, "XX", "KEEPTTL"))})
		case 3:
			options = append(options, []string{g.odd("GET")})
		case 6:
			options = append(options, []string{pick(g, "FOO", "", "NX PX 1", "PX", "KEEPTTL")})
		default:
			options = append(options, g.expiry())
		}
	}
	g.Shuffle(len(options), func(i, j int) { options[i], options[j] = options[j], options[i] })
	args := []string{g.odd("SET"), g.key(), g.value()}
	for _, o := range options {
		args = append(args, o...)
	}
	return args
}

func (g *generator) expire() []string {
	name := pick(g, "EXPIRE", "PEXPIRE", "EXPIREAT", "PEXPIREAT")
	args := []string{g.odd(name), g.key(), g.amount(map[string]string{"EXPIRE": "EX", "PEXPIRE": "PX", "EXPIREAT": "EXAT", "PEXPIREAT": "PXAT"}[name])}
	if g.IntN(10) == 0 {
		args[2] = pick(g, "0", "-1", "1", "-9223372036854775808")
		if args[2] == "1" && !strings.HasSuffix(name, "AT") {
			args[2] = "-5"
		}
	}
	for g.IntN(2) == 0 {
		args = append(args, g.odd(pick(g, "NX", "XX", "GT", "LT", "XX", "GT", "LT", "FOO")))
	}
	return args
}

func (g *generator) read() []string {
	switch g.IntN(6) {
	case 0:
		return append([]string{g.odd("MGET")}, g.keys()...)
	case 1:
		return append([]string{g.odd("EXISTS")}, g.keys()...)
	case 2:
		bound := func() string {
			return pick(g, "0", "1", "3", "-1", "-2", "-100", "100", "9223372036854775807", "-9223372036854775808", "x")
		}
		return []string{pick(g, "GETRANGE", "SUBSTR"), g.key(), bound(), bound()}
	case 3:
		return []string{pick(g, "TTL", "PTTL", "EXPIRETIME", "PEXPIRETIME"), g.key()}
	}
	return []string{g.odd(pick(g, "GET", "STRLEN", "TYPE", "GET")), g.key()}
}

func (g *generator) write() []string {
	switch g.IntN(14) {
	case 0:
		return []string{g.odd("SETNX"), g.key(), g.value()}
	case 1:
		return []string{g.odd("SETEX"), g.key(), g.amount("EX"), g.value()}
	case 2:
		return []string{g.odd("PSETEX"), g.key(), g.amount("PX"), g.value()}
	case 3:
		args := []string{g.odd(pick(g, "MSET", "MSETNX"))}
		for _, k := range g.keys() {
			args = append(args, k, g.value())
		}
		return args[:len(args)-g.IntN(8)/7]
	case 4, 5:
		return append([]string{g.odd(pick(g, "DEL", "UNLINK"))}, g.deletable()...)
	case 6:
		return []string{g.odd(pick(g, "GETDEL", "PERSIST")), g.key()}
	case 7, 8:
		return g.expire()
	case 9, 10:
		return []string{g.odd("INCR"), g.number()}
	case 11:
		return []string{g.odd("INCRBY"), g.number(), pick(g, "1", "10", "1000000", "9223372036854775807", "x", "")}
	}
	return g.set()
}

// change is a write that WATCH notices: it compares what is held, and so it does not
// notice that only an expiry changes, or that a value is written over itself.
func (g *generator) change() []string {
	for {
		args := g.write()
		name, first, each := strings.ToUpper(args[0]), 2, len(args)
		switch name {
		case "PERSIST", "EXPIRE", "PEXPIRE", "EXPIREAT", "PEXPIREAT":
			continue
		case "SET", "SETNX":
		case "SETEX", "PSETEX":
			first = 3
		case "MSET", "MSETNX":
			each = 2
		default:
			return args
		}
		for i := first; i < len(args); i += each {
			args[i] = "new " + strconv.FormatUint(g.Uint64(), 36)
		}
		return args
	}
}

// next is one command, or a transaction of several.
func (g *generator) next() [][]string {
	switch n := g.IntN(100); {
	case n < 35:
		return [][]string{g.write()}
	case n < 46:
		return [][]string{g.set()}
	case n < 50:
		return [][]string{g.conditional()}
	case n < 75:
		return [][]string{g.read()}
	case n < 93:
		return [][]string{g.eval()}
	case n < 94:
		return [][]string{g.housekeeping()}
	}
	return g.transaction()
}

// housekeeping is a command that is not about keys.
func (g *generator) housekeeping() []string {
	return pick(g,
		[]string{"PING"}, []string{g.odd("PING"), g.value()}, []string{"ECHO", g.value()}, []string{"ECHO"}, []string{g.odd("SELECT"), pick(g, "0", "0", "1", "x", "")},
		[]string{g.odd("NOSUCH"), g.value(), g.value()}, []string{"EXEC"}, []string{"DISCARD"}, []string{"UNWATCH"}, []string{"GET"}, []string{g.odd("SCRIPT"), "NOSUCH"},
		g.texts(), []string{"SCRIPT", "FLUSH", "x"},
		[]string{"CLIENT", "GETNAME"}, []string{"CLIENT", "SETNAME", pick(g, "", "name", "a b", "\n")}, []string{"CLIENT", g.value()}, []string{"CLIENT", "NO-EVICT", pick(g, "on", "off", "x")},
		[]string{"CONFIG", "GET", pick(g, "maxmemory", "MAXMEMORY", "appendonl?", "nosuch*", "sav[a-e]", "timeout")}, []string{"CONFIG", g.value()},
		append([]string{"COMMAND", "GETKEYS"}, g.write()...), append([]string{"COMMAND", "GETKEYS"}, g.read()...), []string{"HELLO", pick(g, "1", "4", "x", "", "+3")},
		[]string{"AUTH", "x"}, []string{"AUTH", "u", "x"}, []string{"CLUSTER", "INFO"}, []string{"READONLY"}, []string{"CLIENT", "TRACKINGINFO"}, []string{"CLIENT", "GETREDIR"})
}

// transaction is MULTI with what may be around it and in it.
func (g *generator) transaction() [][]string {
	var all [][]string
	if g.IntN(2) == 0 {
		defer g.newScripts()()
	}
	if g.IntN(2) == 0 {
		all = append(all, append([]string{"WATCH"}, g.keys()...))
		switch g.IntN(4) {
		case 0:
			all = append(all, append([]string{otherClient}, g.change()...))
		case 1:
			all = append(all, []string{"UNWATCH"})
		}
	}
	all = append(all, []string{"MULTI"})
	for range g.IntN(5) {
		switch g.IntN(9) {
		case 0:
			all = append(all, g.eval())
		case 1:
			all = append(all, g.texts())
		case 2, 3:
			all = append(all, g.read())
		case 4:
			all = append(all, pick(g, []string{"PING"}, []string{"MULTI"}, []string{"WATCH", g.key()}, []string{"GET"}, []string{"NOSUCH"}, []string{"UNWATCH"}, []string{"ECHO", "x"}))
		case 5:
			all = append(all, g.conditional())
		default:
			all = append(all, g.write())
		}
	}
	return append(all, []string{pick(g, "EXEC", "EXEC", "EXEC", "DISCARD")}, g.texts())
}

// otherClient in front of a command has it sent over another connection.
const otherClient = "(another client)"
