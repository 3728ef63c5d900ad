package e2e_test

import (
	"fmt"
	"slices"
	"strings"

	"redlockproxy/proxy/redistest"
)

// anything needs only a reply that can be read.
var anything = need(func(any) string { return "" })

// refused needs an error that begins with a text.
func refused(begin string) need {
	return func(reply any) string {
		if e, isError := reply.(redistest.Error); !isError || !strings.HasPrefix(string(e), begin) {
			return fmt.Sprintf("wanted an error that begins with %q", begin)
		}
		return ""
	}
}

// containing needs a text with these words in it.
func containing(words ...string) need {
	return func(reply any) string {
		text, _ := reply.(string)
		for _, w := range words {
			if !strings.Contains(text, w) {
				return fmt.Sprintf("wanted a text with %q", w)
			}
		}
		return ""
	}
}

// between needs a number in a range.
func between(low, high int64) need {
	return func(reply any) string {
		if n, isNumber := reply.(int64); !isNumber || n < low || n > high {
			return fmt.Sprintf("wanted a number from %d to %d", low, high)
		}
		return ""
	}
}

// setting needs one setting of CONFIG GET, in the shape of either protocol.
func setting(name, value string) need {
	return func(reply any) string {
		pairs, isList := reply.([]any)
		if m, isMap := reply.(redistest.Map); isMap {
			pairs, isList = m, true
		}
		if !isList || !slices.Equal(pairs, []any{name, value}) {
			return fmt.Sprintf("wanted %s and %s", name, value)
		}
		return ""
	}
}

// greeting needs the seven facts of HELLO, in Redis's order and types: clients cast
// them without looking.
func greeting(proto int64) need {
	return func(reply any) string {
		facts, isList := reply.([]any)
		if m, isMap := reply.(redistest.Map); isMap == (proto == 3) && isMap {
			facts, isList = m, true
		}
		if !isList || len(facts) != 14 {
			return fmt.Sprintf("wanted seven facts as protocol %d has them", proto)
		}
		for i, key := range []string{"server", "version", "proto", "id", "mode", "role", "modules"} {
			if facts[2*i] != key {
				return fmt.Sprintf("wanted the fact %q as number %d", key, i+1)
			}
		}
		version, isText := facts[3].(string)
		id, isNumber := facts[7].(int64)
		modules, isModules := facts[13].([]any)
		if facts[1] != "redis" || !isText || strings.Count(version, ".") != 2 || facts[5] != proto || !isNumber || id < 1 ||
			facts[9] != "standalone" || facts[11] != "master" || !isModules || len(modules) != 0 {
			return "wanted the facts of a single primary"
		}
		return ""
	}
}
