package resp

import (
	"flag"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

var seedFlag = flag.Uint64("resp.seed", 0, "seed of the random comparison; 0 takes a new one")

// onPurpose reports whether a difference from Redis 7.0 is meant: our own
// refusals, and what later versions of Redis brought.
func onPurpose(args []string, ours, theirs string) bool {
	if strings.HasPrefix(ours, "UNSUPPORTED ") {
		return true
	}
	name := LowerASCII(args[0])
	for _, a := range args[1:] {
		if w := option(a); name == "set" && (w == "IFEQ" || w == "IFNE") {
			return true
		}
		if n, ok := parseInt(a); ok && n > MaxMillis/1000 && theirs == "" {
			return ours == string(InvalidExpire(name))
		}
	}
	return false
}

func TestRandomCommandsFailWithRedissOwnWords(t *testing.T) {
	seed := *seedFlag
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d (repeat with -resp.seed)", seed)
	rnd := rand.New(rand.NewPCG(seed, 1))
	redis := startRedis(t)
	failed, good := 0, 0
	for i := 0; i < 20000 && failed < 10; i++ {
		args := randomCommand(rnd)
		ours, theirs := parseError(args), redis.errorOf(t, args)
		if ours == "" {
			good++
		}
		if ours != theirs && !onPurpose(args, ours, theirs) {
			failed++
			t.Errorf("seed %d, command %d: %q\n ours:  %s\n Redis: %s", seed, i, args, ours, theirs)
		}
	}
	if good < 2000 {
		t.Errorf("only %d of the random commands were well-formed: the comparison shows little", good)
	}
}

// randomCommand is a command of the served set, or nearly one, from words that
// matter: options, numbers at their bounds, odd bytes.
func randomCommand(rnd *rand.Rand) []string {
	pick := func(words []string) string { return words[rnd.IntN(len(words))] }
	args := []string{pick(randomNames)}
	if i := strings.IndexByte(args[0], ' '); i >= 0 {
		args = []string{args[0][:i], args[0][i+1:]}
	}
	c := find(args[0])
	n := rnd.IntN(5)
	if c != nil && rnd.IntN(4) > 0 { // mostly as many words as it takes
		n = max(c.Arity, -c.Arity) - len(args) + rnd.IntN(2)
	}
	for range n {
		args = append(args, pick(randomWords))
	}
	if c != nil && (c.Name == "set" || strings.Contains(c.Name, "expire")) {
		for range rnd.IntN(4) {
			args = append(args, pick(randomOptions))
			if rnd.IntN(2) == 0 {
				args = append(args, pick(randomNumbers))
			}
		}
	}
	for i := range args {
		if rnd.IntN(3) == 0 {
			args[i] = randomCase(rnd, args[i])
		}
	}
	return args
}

func randomCase(rnd *rand.Rand, s string) string {
	b := []byte(s)
	for i := range b {
		if rnd.IntN(2) == 0 {
			b[i] = UpperASCII(string(b[i : i+1]))[0]
		}
	}
	return string(b)
}

var (
	randomNames = []string{"set", "set", "set", "setnx", "setex", "psetex", "get", "mget", "getrange",
		"substr", "getdel", "strlen", "exists", "type", "ttl", "pttl", "expiretime", "pexpiretime", "del",
		"unlink", "expire", "pexpire", "expireat", "pexpireat", "persist", "incr", "incrby", "mset",
		"msetnx", "eval", "evalsha", "eval_ro", "evalsha_ro", "script", "script load", "script exists",
		"script flush", "script loads", "script fl\x00ush", "nosuch", "no\x00such", "a\r\nb", "",
		strings.Repeat("long", 40), "set|get", "script|load"}
	randomNumbers = []string{"0", "1", "2", "-1", "-0", "+1", "01", " 1", "1 ", "1.5", "1e3", "abc", "",
		"100", "5000", "9223372036854775", "9223372036854776", "-9223372036854775", "-9223372036854776",
		"4611686018427387904", "4611686018427387905", "-4611686018427387905", "9223372036854775807",
		"9223372036854775808", "-9223372036854775808", "-9223372036854775809", "99999999999999999999",
		"18446744073709551617", "1\x00", "0x10", "2000000000"}
	randomOptions = []string{"nx", "xx", "get", "keepttl", "ex", "px", "exat", "pxat", "gt", "lt", "nx\x00y",
		"persist", "nx px 1000", "e", "\r\nfoo\r\n", "f\x00oo", "ifeq", "\xc5\xbfx", ""}
	randomWords = append(append([]string{"k", "v", "key", "return 1", "'a", "x\r\ny", "a\x00b", "\xff\x00\xfe",
		strings.Repeat("w", 70), strings.Repeat("v", 200), strings.Repeat("0a", 20),
		strings.Repeat("Z", 40), "sync", "async", "\xc5\xbfync"}, randomNumbers...), randomOptions...)
)
