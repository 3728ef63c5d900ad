package proxy_test

import (
	"slices"
	"strconv"
	"strings"
)

// conditional is one of the commands of newer servers than the one of the tests, which is
// asked by translated. Now and then a SET has an option too many.
func (g *generator) conditional() []string {
	condition := func() []string { return []string{g.odd(pick(g, "IFEQ", "IFNE")), g.value()} }
	switch g.IntN(4) {
	case 0:
		return append([]string{g.odd("DELEX"), g.key()}, pick(g, condition(), condition(), nil)...)
	case 1:
		return []string{g.odd("DELIFEQ"), g.key(), g.value()}
	}
	options := [][]string{condition()}
	if g.IntN(2) == 0 {
		options = append(options, []string{g.odd("GET")})
	}
	switch g.IntN(4) {
	case 0, 1:
		options = append(options, g.expiry())
	case 2:
		options = append(options, []string{g.odd("KEEPTTL")})
	}
	if g.IntN(5) == 0 {
		word := g.odd(pick(g, "NX", "XX", "GET", "KEEPTTL", "IFEQ", "PX", "FOO"))
		options = append(options, pick(g, []string{word}, []string{word}, condition(), g.expiry()))
	}
	g.Shuffle(len(options), func(i, j int) { options[i], options[j] = options[j], options[i] })
	return append([]string{g.odd("SET"), g.key(), g.value()}, slices.Concat(options...)...)
}

// Scripts of the same meaning: what is compared is in ARGV[1] and how in ARGV[2]; for a SET,
// ARGV[3] tells whether the old value is the answer, and the rest are its words, which are
// first looked at by a SET that stores nothing; for a deletion, ARGV[3] is the error for
// what holds no string.
const (
	heldThen  = `local v = redis.pcall('GET', KEYS[1]) if type(v) == 'table' then return v end local fits = (v == ARGV[1]) == (ARGV[2] == 'IFEQ') `
	deletesIf = `if ARGV[3] and redis.call('TYPE', KEYS[1]).ok == 'list' then return redis.error_reply(ARGV[3]) end ` + heldThen + `if v and fits then return redis.call('DEL', KEYS[1]) end return 0`
	looksAt   = `local never = redis.call('EXISTS', KEYS[1]) == 1 and 'NX' or 'XX' local r = redis.pcall('SET', KEYS[1], ARGV[4], never, unpack(ARGV, 5)) if type(r) == 'table' and r.err then return r end `
	storesIf  = looksAt + heldThen + `if fits then redis.call('SET', KEYS[1], unpack(ARGV, 4)) end if ARGV[3] == 'GET' then return v end return fits and {ok = 'OK'}`
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
		return eval(deletesIf, args[3], strings.ToUpper(args[2]), "ERR Key should be of string type if conditions are specified")
	case name == "SET" && len(args) > 4:
		if values := conditionFirst(args); values != nil {
			return eval(storesIf, values...)
		}
	case name == "EVAL" && strings.HasPrefix(args[1], interpreter):
		return translatedProgram(args)
	}
	return args
}

// conditionFirst is what storesIf wants for a SET with one condition, which is on its
// value. Any other is refused, or carried out, by a server that knows no such condition.
func conditionFirst(args []string) []string {
	first, rest, conditions := []string{"", "", ""}, []string{args[2]}, 0
	for i := 3; i < len(args); i++ {
		switch word := strings.ToUpper(args[i]); word {
		case "GET":
			first[2] = word
			continue
		case "NX", "XX":
			conditions++
		case "IFEQ", "IFNE":
			if i++; i == len(args) {
				return nil
			}
			first[0], first[1] = args[i], word
			conditions++
			continue
		case "EX", "PX", "EXAT", "PXAT":
			if i++; i < len(args) {
				rest = append(rest, word)
			}
		}
		rest = append(rest, args[min(i, len(args)-1)])
	}
	if conditions != 1 || first[1] == "" {
		return nil
	}
	return append(first, rest...)
}

// interpreterThere is interpreter for commands that are scripts where they are translated.
var interpreterThere = `local function call(...) local name, text, _, key = ... if name ~= 'EVAL' then return redis.pcall(...) end
return loadstring('local KEYS, ARGV = ... ' .. text)({key}, {select(5, ...)}) end ` + strings.Replace(interpreter, "redis.pcall", "call", 1)

// translatedProgram is a program whose commands are translated.
func translatedProgram(args []string) []string {
	keys, err := strconv.Atoi(args[2])
	if err != nil {
		panic(err)
	}
	all := append([]string{args[0], interpreterThere}, args[2:3+keys]...)
	for rest := args[3+keys:]; len(rest) > 0; {
		n, err := strconv.Atoi(rest[0])
		if err != nil {
			panic(err)
		}
		command := translated(rest[1 : 1+n])
		all = append(append(all, strconv.Itoa(len(command))), command...)
		rest = rest[1+n:]
	}
	return all
}
