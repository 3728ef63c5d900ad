package resp

import (
	"math"
	"reflect"
	"strings"
	"testing"
)

const sha = "b70c2384248f88e6b75b9f89241a180f856ad852"

func TestEveryFormBecomesItsRequest(t *testing.T) {
	in := func(ms int64) Expiry { return Expiry{ExpireIn, ms} }
	at := func(ms int64) Expiry { return Expiry{ExpireAt, ms} }
	list := func(s ...string) []string { return append([]string{}, s...) }
	for line, want := range map[string]Request{
		`SET k v`:                             Set{Key: "k", Value: "v", Name: "set"},
		`set k v px 1000 nx`:                  Set{Key: "k", Value: "v", Cond: IfAbsent, Expiry: in(1000), Name: "set"},
		`SET k v NX EX 2`:                     Set{Key: "k", Value: "v", Cond: IfAbsent, Expiry: in(2000), Name: "set"},
		`SET k v XX GET EXAT 7`:               Set{Key: "k", Value: "v", Cond: IfPresent, Get: true, Expiry: at(7000), Name: "set"},
		`SET k v nX pXaT 7`:                   Set{Key: "k", Value: "v", Cond: IfAbsent, Expiry: at(7), Name: "set"},
		`SET k v KEEPTTL XX`:                  Set{Key: "k", Value: "v", Cond: IfPresent, KeepTTL: true, Name: "set"},
		`SET k v NX NX PX 1 PX 2`:             Set{Key: "k", Value: "v", Cond: IfAbsent, Expiry: in(2), Name: "set"},
		`SET k v ifeq NX PX 5`:                Set{Key: "k", Value: "v", Cond: IfEq, Match: "NX", Expiry: in(5), Name: "set"},
		`SET k v GET IFNE ""`:                 Set{Key: "k", Value: "v", Cond: IfNe, Get: true, Name: "set"},
		`SET "" "" NX PX 4611686018427387904`: Set{Cond: IfAbsent, Expiry: in(MaxMillis), Name: "set"},
		`SET "\x00\xff" "\r\n"`:               Set{Key: "\x00\xff", Value: "\r\n", Name: "set"},
		`SETNX k v`:                           Set{Key: "k", Value: "v", Cond: IfAbsent, Name: "setnx"},
		`SETEX k 3 v`:                         Set{Key: "k", Value: "v", Expiry: in(3000), Name: "setex"},
		`PSETEX k 3 v`:                        Set{Key: "k", Value: "v", Expiry: in(3), Name: "psetex"},
		`MSET a 1 b 2`:                        MSet{Keys: list("a", "b"), Values: list("1", "2")},
		`MSETNX a 1`:                          MSet{Keys: list("a"), Values: list("1"), IfAbsent: true},
		`get k`:                               Get{"k"},
		`MGET a b a`:                          MGet{list("a", "b", "a")},
		`GETRANGE k 0 -1`:                     GetRange{"k", 0, -1},
		`SUBSTR k -5 9223372036854775807`:     GetRange{"k", -5, math.MaxInt64},
		`GETDEL k`:                            GetDel{"k"},
		`STRLEN k`:                            StrLen{"k"},
		`EXISTS a a`:                          Exists{list("a", "a")},
		`TYPE k`:                              Type{"k"},
		`TTL k`:                               TTL{"k", true, false},
		`PTTL k`:                              TTL{"k", false, false},
		`EXPIRETIME k`:                        TTL{"k", true, true},
		`PEXPIRETIME k`:                       TTL{"k", false, true},
		`DEL a b`:                             Del{list("a", "b")},
		`UNLINK a`:                            Del{list("a")},
		`SET k v IFDEQ x EX 1 GET`:            Set{Key: "k", Value: "v", Cond: IfDigestEq, Match: "x", Get: true, Expiry: in(1000), Name: "set"},
		`SET k v ifdne "" KEEPTTL`:            Set{Key: "k", Value: "v", Cond: IfDigestNe, KeepTTL: true, Name: "set"},
		`DELEX k`:                             DelEx{Key: "k", Name: "delex"},
		`DELEX k ifeq v`:                      DelEx{"k", IfEq, "v", "delex"},
		`DELEX k IFNE ""`:                     DelEx{"k", IfNe, "", "delex"},
		`DELEX k IFDEQ 12`:                    DelEx{"k", IfDigestEq, "12", "delex"},
		`delex k ifdne 12`:                    DelEx{"k", IfDigestNe, "12", "delex"},
		`DELEX k NX a`:                        DelEx{"k", BadCondition, "a", "delex"},
		`DELIFEQ k v`:                         DelEx{"k", IfEq, "v", "delifeq"},
		`DIGEST k`:                            Digest{"k"},
		`EXPIRE k 10`:                         Expire{Key: "k", Expiry: in(10000)},
		`EXPIRE k -1 nx`:                      Expire{Key: "k", Expiry: in(-1000), Cond: ExpireNX},
		`PEXPIRE k 10 XX`:                     Expire{Key: "k", Expiry: in(10), Cond: ExpireXX},
		`PEXPIRE k 10 XX GT`:                  Expire{Key: "k", Expiry: in(10), Cond: ExpireGT, XX: true},
		`EXPIREAT k 10 LT`:                    Expire{Key: "k", Expiry: at(10000), Cond: ExpireLT},
		`PEXPIREAT k 0 LT XX`:                 Expire{Key: "k", Expiry: at(0), Cond: ExpireLT, XX: true},
		`PEXPIRE k -9223372036854775808`:      Expire{Key: "k", Expiry: in(-MaxMillis)},
		`PERSIST k`:                           Persist{"k"},
		`INCR k`:                              Incr{"k", 1},
		`INCRBY k 9223372036854775807`:        Incr{"k", math.MaxInt64},
		`EVAL s 0`:                            Eval{Script: "s", Keys: list(), Args: list()},
		`EVAL_RO "" 1 k`:                      Eval{ReadOnly: true, Keys: list("k"), Args: list()},
		`EVALSHA ` + strings.ToUpper(sha) + ` 2 a b c d`: Eval{Script: sha, ByDigest: true, Keys: list("a", "b"), Args: list("c", "d")},
		`evalsha_ro ` + sha + ` 0 x`:                     Eval{Script: sha, ByDigest: true, ReadOnly: true, Keys: list(), Args: list("x")},
		`SCRIPT LOAD "return 1"`:                         ScriptLoad{"return 1"},
		`script exists ABC def`:                          ScriptExists{list("abc", "def")},
		`SCRIPT FLUSH`:                                   ScriptFlush{},
		`SCRIPT FLUSH async`:                             ScriptFlush{},
		`SCRIPT FLUSH SYNC`:                              ScriptFlush{},
	} {
		got, err := Parse(splitLine(t, line))
		if err != nil {
			t.Errorf("%s: %v", line, err)
		} else if !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n got  %#v\n want %#v", line, got, want)
		}
	}
}

// TestErrorsWithoutARealRedis has the errors that Redis 7.0 can't be asked for;
// TestErrorsAreRedissOwnWords has all others.
func TestErrorsWithoutARealRedis(t *testing.T) {
	for line, want := range map[string]Error{
		`SET k v NX IFEQ x`:                ErrSyntax,
		`SET k v IFEQ x XX`:                ErrSyntax,
		`SET k v IFEQ x IFNE x`:            ErrSyntax,
		`SET k v IFEQ x IFEQ x`:            ErrSyntax,
		`SET k v IFNE`:                     ErrSyntax,
		`SET k v IFDEQ`:                    ErrSyntax,
		`SET k v IFDEQ x IFDNE y`:          ErrSyntax,
		`SET k v IFEQ x PX 0`:              InvalidExpire("set"),
		`DELEX`:                            WrongArity("delex"),
		`DELEX k IFEQ`:                     WrongArity("delex"),
		`DELEX k IFEQ a b`:                 WrongArity("delex"),
		`DELIFEQ k`:                        WrongArity("delifeq"),
		`INCRBY k 0`:                       errIncrNotAbove,
		`INCRBY k -1`:                      errIncrNotAbove,
		`SET k v PX 4611686018427387905`:   InvalidExpire("set"),
		`SET k v PXAT 9223372036854775807`: InvalidExpire("set"),
		`PEXPIREAT k 4611686018427387905`:  InvalidExpire("pexpireat"),
		`EXPIRE k 4611686018427388`:        InvalidExpire("expire"),
		`EVALSHA b70c x`:                   ErrNoScript,
		`GET`:                              "ERR wrong number of arguments for 'get' command",
		`script load`:                      "ERR wrong number of arguments for 'script|load' command",
		`CLIENT MAINT_NOTIFICATIONS ON`:    "ERR unknown subcommand 'MAINT_NOTIFICATIONS'. Try CLIENT HELP.",
		`CLUSTER SLOTS`:                    ErrClusterDisabled,
		`asking`:                           ErrClusterDisabled,
		`WAIT 0 0`:                         "ERR unknown command 'WAIT', with args beginning with: '0' '0' ",
		`WAITAOF 1`:                        "ERR unknown command 'WAITAOF', with args beginning with: '1' ",
		`SENTINEL MASTERS`:                 "ERR unknown command 'SENTINEL', with args beginning with: 'MASTERS' ",
		`PING`:                             Unsupported("ping"),
		`SCRIPT HELP`:                      Unsupported("script help"),
		`MULTI`:                            Unsupported("multi"),
	} {
		req, err := Parse(splitLine(t, line))
		if err != want || req != nil {
			t.Errorf("%s:\n got  %v, %v\n want %v", line, req, err, want)
		}
	}
}

func TestParsedRequestsHaveUsableExpiries(t *testing.T) {
	for _, n := range randomNumbers {
		for _, args := range [][]string{
			{"SET", "k", "v", "PX", n}, {"SET", "k", "v", "EXAT", n}, {"SETEX", "k", n, "v"},
			{"PEXPIRE", "k", n}, {"EXPIREAT", "k", n},
		} {
			req, err := Parse(args)
			if err != nil {
				continue
			}
			switch r := req.(type) {
			case Set:
				if ms := r.Expiry.Millis; ms <= 0 || ms > MaxMillis {
					t.Errorf("%q gives %d ms", args, ms)
				}
			case Expire:
				if ms := r.Expiry.Millis; ms < -MaxMillis || ms > MaxMillis {
					t.Errorf("%q gives %d ms", args, ms)
				}
			}
		}
	}
}

func TestEveryNameWithAnyNumberOfWordsIsAnswered(t *testing.T) {
	for name := range commands {
		for _, fill := range []string{"", "x", "-1", "9223372036854775807", "\x00"} {
			args := []string{name}
			for range 12 {
				checkInvariants(t, args)
				args = append(args, fill)
			}
		}
		args := append([]string{name}, make([]string, 1000)...)
		checkInvariants(t, args)
	}
	checkInvariants(t, nil)
}

// checkInvariants is what holds for any words at all.
func checkInvariants(t *testing.T, args []string) {
	t.Helper()
	req, err := Parse(args)
	if (req == nil) == (err == nil) {
		t.Errorf("%.100q: neither a request nor an error, or both", args)
	}
	if err != nil {
		e, ok := err.(Error)
		if !ok || strings.ContainsAny(string(e), "\r\n\x00") || len(e) > 20000 || !strings.Contains(string(e), " ") {
			t.Errorf("%.100q: bad error %.200q", args, err)
		}
	}
	keys := Keys(args)
	if len(keys) > len(args) {
		t.Errorf("%.100q: more keys than words", args)
	}
	if got := keysOf(req); req != nil && !reflect.DeepEqual(append([]string{}, keys...), append([]string{}, got...)) {
		t.Errorf("%.100q: Keys gives %.100q, the request has %.100q", args, keys, got)
	}
}

// keysOf is the keys that a request names.
func keysOf(req Request) []string {
	switch r := req.(type) {
	case MSet:
		return r.Keys
	case MGet:
		return r.Keys
	case Exists:
		return r.Keys
	case Del:
		return r.Keys
	case Eval:
		return r.Keys
	}
	if f := reflect.ValueOf(req); f.IsValid() {
		if k := f.FieldByName("Key"); k.IsValid() {
			return []string{k.String()}
		}
	}
	return nil
}

func FuzzParse(f *testing.F) {
	for _, line := range comparedLines {
		f.Add(line)
	}
	f.Add("SET\nk\nv\nPX\n9223372036854775807\nIFEQ\nx")
	f.Fuzz(func(t *testing.T, s string) {
		checkInvariants(t, strings.Split(s, " "))
		checkInvariants(t, strings.Split(s, "\n"))
	})
}

func TestNumbersAreReadAsRedisDoes(t *testing.T) {
	for s, want := range map[string]int64{"0": 0, "7": 7, "-1": -1, "10": 10,
		"9223372036854775807": math.MaxInt64, "-9223372036854775808": math.MinInt64} {
		if n, ok := parseInt(s); !ok || n != want {
			t.Errorf("%q: %d, %v", s, n, ok)
		}
	}
	for _, s := range []string{"", "-", "+1", "00", "01", "-0", "-01", " 1", "1 ", "1.0", "1e3", "0x1", "a",
		"1\x00", "9223372036854775808", "-9223372036854775809", "9999999999999999999", "99999999999999999999"} {
		if n, ok := parseInt(s); ok {
			t.Errorf("%q is read as %d", s, n)
		}
	}
}
