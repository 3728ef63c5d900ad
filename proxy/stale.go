package proxy

import (
	"context"
	"math"
	"strconv"

	"redlockproxy/proxy/lua"
	"redlockproxy/quorum"
	"redlockproxy/resp"
)

// # Stale fencing numbers
//
// A resource that checks fencing numbers accepts a number only if it is higher than
// all it has seen. An application whose resource can't do that keeps the highest
// number under a key, and asks a script to advance it: "store mine if it is higher".
// When such a script refuses, a stale holder was stopped, and an operator wants to
// know how often that happens.
//
// The proxy recognises such a refusal by what the script does, not by its text. A run
// counts if
//
//   - it has read a number under a key, was given one that is not higher, and wrote
//     nothing;
//   - and the same script with the same arguments, run once more on what was read
//     except that the key's number is a little lower than the argument, would store
//     the argument there;
//   - and, if the two numbers are equal, it would store nothing were the stored one
//     higher: a script that stores whatever differs is none that advances.
//
// The second run has no consequences: it is about a group that does not exist. A
// release that refuses is not counted even if tokens are numbers, since with a lower
// number in the lock it would refuse as well; nor is a script that counts up to a
// limit, since it stores another number than its argument.

// The most suppositions that one run is worth: the first keys that hold a number,
// each with the first of the arguments that are numbers. Each costs what the script
// costs, at most twice, and only a script that refused while it had a number before it
// comes to that.
const (
	staleKeys = 2
	staleArgs = 2
)

// stale tells whether a run of a script that wrote nothing refused a number because
// it is not higher than the one that is stored. v is the view of that run.
func (s *Server) stale(ctx context.Context, script *lua.Script, r resp.Eval, v *quorum.View) bool {
	if v == nil || v.Wrote() || v.Unread() || r.ReadOnly {
		return false
	}
	args := numbers(r.Args)
	if len(args) == 0 {
		return false
	}
	keys, held := v.Look()
	tried := 0
	for i := range keys {
		stored, isNumber := number(held[i].Value())
		if held[i].Kind != quorum.String || !isNumber {
			continue
		}
		if tried++; tried > staleKeys {
			return false
		}
		for _, given := range args {
			if given <= stored && s.advances(ctx, script, r, keys, held, i, given) {
				return true
			}
		}
	}
	return false
}

// advances tells whether the script would store given under a key that holds a lower
// number, and nothing if it holds a higher one.
func (s *Server) advances(ctx context.Context, script *lua.Script, r resp.Eval, keys []quorum.Key, held []quorum.Holding, at int, given int64) bool {
	suppose := func(stored int64) (string, bool) {
		other := append([]quorum.Holding(nil), held...)
		other[at].Stored = quorum.Stored(strconv.FormatInt(stored, 10))
		v := quorum.Known(keys, other)
		// A run that fails may have stored the number before, and be about to read a
		// key that nobody has read yet.
		_, _ = script.Run(ctx, r.Keys, r.Args, s.host(v, false))
		return v.Stores(keys[at])
	}
	// Scripts compute with doubles, which can't tell large neighbours apart.
	step := 1 + given>>40
	if value, stores := suppose(given - step); !stores || value != strconv.FormatInt(given, 10) {
		return false
	}
	if stored, _ := number(held[at].Value()); stored != given {
		return true // it has just refused with a higher one
	}
	if given > math.MaxInt64-step {
		return true
	}
	_, stores := suppose(given + step)
	return !stores
}

// numbers are the first arguments that are fencing numbers.
func numbers(args []string) []int64 {
	var all []int64
	for _, a := range args {
		if n, ok := number(a); ok {
			if all = append(all, n); len(all) == staleArgs {
				break
			}
		}
	}
	return all
}

// number reads a fencing number: a positive integer in the form that INCR gives it.
func number(text string) (int64, bool) {
	if text == "" || text[0] < '1' || text[0] > '9' {
		return 0, false
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil
}
