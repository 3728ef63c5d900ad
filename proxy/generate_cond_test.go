package proxy_test

import (
	"slices"
	"strconv"
	"strings"
)

// conditional is one of the commands of newer servers than the one of the tests, which is
// asked by translated.
func (g *generator) conditional() []string {
	condition := []string{pick(g, "IFEQ", "IFNE"), g.value()}
	switch g.IntN(4) {
	case 0:
		return append([]string{g.odd("DELEX"), g.key()}, pick(g, condition, condition, nil)...)
	case 1:
		return []string{g.odd("DELIFEQ"), g.key(), g.value()}
	}
	options := [][]string{condition}
	if g.IntN(2) == 0 {
		options = append(options, []string{"GET"})
	}
	switch g.IntN(4) {
	case 0:
		options = append(options, []string{"PX", strconv.FormatInt(g.millis(), 10)})
	case 1:
		options = append(options, []string{"KEEPTTL"})
	}
	g.Shuffle(len(options), func(i, j int) { options[i], options[j] = options[j], options[i] })
	return append([]string{g.odd("SET"), g.key(), g.value()}, slices.Concat(options...)...)
}

// Scripts of the same meaning: what is compared is in ARGV[1] and how in ARGV[2]; for a SET,
// ARGV[3] tells whether the old value is the answer, and the rest are its words; for a
// deletion, ARGV[3] is the error for what holds no string.
const (
	heldThen  = `local v = redis.pcall('GET', KEYS[1]) if type(v) == 'table' then return v end local fits = (v == ARGV[1]) == (ARGV[2] == 'IFEQ') `
	deletesIf = `if ARGV[3] and redis.call('TYPE', KEYS[1]).ok == 'list' then return redis.error_reply(ARGV[3]) end ` + heldThen + `if v and fits then return redis.call('DEL', KEYS[1]) end return 0`
	storesIf  = heldThen + `if fits then redis.call('SET', KEYS[1], unpack(ARGV, 4)) end if ARGV[3] == 'GET' then return v end return fits and {ok = 'OK'}`
)

// translated is the command for a server that does not have it.
func translated(args []string) []string {
	eval := func(text string, values ...string) []string {
		return append([]string{"EVAL", text, "1", args[1]}, values...)
	}
	switch name := strings.ToUpper(args[0]); {
	case name == "DELIFEQ" && len(args) == 3:
		return eval(deletesIf, args[2], "IFEQ")
	case name == "DELEX" && len(args) == 2:
		return []string{"DEL", args[1]} // of any type, as well
	case name == "DELEX" && len(args) == 4:
		return eval(deletesIf, args[3], args[2], "ERR Key should be of string type if conditions are specified")
	case name == "SET" && len(args) > 4:
		at := slices.IndexFunc(args[3:], func(a string) bool { return a == "IFEQ" || a == "IFNE" }) + 3
		if at < 3 || at+1 == len(args) {
			return args
		}
		rest, get := slices.Delete(slices.Clone(args[2:]), at-2, at), ""
		if i := slices.Index(rest[1:], "GET"); i >= 0 {
			rest, get = slices.Delete(rest, i+1, i+2), "GET"
		}
		return eval(storesIf, append([]string{args[at+1], args[at], get}, rest...)...)
	}
	return args
}
