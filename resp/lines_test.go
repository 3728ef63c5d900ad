package resp

import (
	"strconv"
	"strings"
	"testing"
)

// comparedLines are sent to a real Redis 7.0 and to Parse; both must say the
// same. A word in quotes may have Go's escapes.
var comparedLines = strings.Split(strings.TrimSpace(`
set
SET k
SET k v
sEt k v nX pX 1000
SET k v PX 1000 NX
SET k v NX EX 1
SET k v ex 30 nx
SET k v NX NX PX 1000
SET k v NX PX 1000 PX 2000
SET k v NX XX
SET k v XX NX
SET k v XX XX GET GET
SET k v NX GET PX 5
SET k v EX 1 PX 2000
SET k v PX 1 EXAT 3
SET k v PX 1 KEEPTTL
SET k v KEEPTTL PX 1
SET k v KEEPTTL KEEPTTL
SET k v NX PX
SET k v PX NX
SET k v PX PX
SET k v "NX PX 1000"
SET k v NX PX 0
SET k v NX PX -1
SET k v EX 0
SET k v EXAT 0
SET k v PXAT -5
SET k v PXAT 1
SET k v EXAT 2000000000
SET k v PX abc
SET k v PX 1.5
SET k v PX ""
SET k v PX +5000
SET k v PX 05000
SET k v PX " 5000"
SET k v PX -0
SET k v PX 9223372036854775808
SET k v PX 9223372036854775807
SET k v EX 9223372036854775807
SET k v EX 9223372036854776
SET k v EX -9223372036854775808
SET k v PX abc FOO
SET k v PX 0 EX
SET k v FOO
SET k v IFEQ
SET k v "nx\x00junk"
SET k v "\u017fx"
SET "" "" NX PX 5000
SET "\x00\r\n" "\xff\x00" PX 5000
SETNX k
SETNX k v
SETNX k v x
SETEX k 10 v
SETEX k 0 v
SETEX k -1 v
SETEX k x v
SETEX k 10
SETEX k 9223372036854775807 v
PSETEX k 10 v
PSETEX k 0 v
PSETEX k 9223372036854775807 v
PSETEX k v 10
GET
GET k
GET k k
MGET
MGET a b a
GETRANGE k 0
GETRANGE k 0 -1
GETRANGE k a 1
GETRANGE k 1 b
GETRANGE k 1 9223372036854775808
SUBSTR k 0 -1
SUBSTR k 0
SUBSTR k x 0
GETDEL
GETDEL k
STRLEN
STRLEN k l
EXISTS
EXISTS k k
TYPE
TYPE k
TTL
TTL k
PTTL k k
EXPIRETIME k
EXPIRETIME
PEXPIRETIME k
PEXPIRETIME k x
DEL
DEL k k
UNLINK
UNLINK k
EXPIRE k
EXPIRE k 10
EXPIRE k 0
EXPIRE k -5
EXPIRE k abc
EXPIRE k 1e3
EXPIRE k 10 NX
EXPIRE k 10 nx nx
EXPIRE k 10 NX XX
EXPIRE k 10 NX GT
EXPIRE k 10 LT NX
EXPIRE k 10 XX GT
EXPIRE k 10 LT XX
EXPIRE k 10 GT LT
EXPIRE k 10 FOO
EXPIRE k abc FOO
EXPIRE k abc NX XX
EXPIRE k 10 ""
EXPIRE k 10 "FOO\r\n"
EXPIRE k 10 "\r\nF\r\nO\x00O"
EXPIRE k 10 NX FOO
EXPIRE k 9223372036854775807
EXPIRE k 9223372036854776
EXPIRE k -9223372036854776
EXPIRE k -9223372036854775
PEXPIRE k
PEXPIRE k 1 GT
PEXPIRE k 9223372036854775807
PEXPIRE k -9223372036854775808
EXPIREAT k 1
EXPIREAT k 9223372036854776
EXPIREAT k x
PEXPIREAT k 1
PEXPIREAT k
PEXPIREAT k 9223372036854775808
PERSIST
PERSIST k
INCR
INCR k
INCR k 1
INCRBY k
INCRBY k 5
INCRBY k x
INCRBY k 1.0
INCRBY k ""
INCRBY k 9223372036854775807
INCRBY k 9223372036854775808
MSET
MSET k
MSET k v
MSET k v l
MSET k v k w
MSETNX k
MSETNX k v l
MSETNX k v
EVAL
EVAL s
EVAL "return 1" 0
EVAL "return 1" 1
EVAL "return 1" 1 k
EVAL "return 1" 2 k
EVAL "return 1" 1 k a b
EVAL "return 1" -1
EVAL "return 1" -1 k
EVAL "return 1" x
EVAL "return 1" 99999999999999999999 k
EVAL "return 1" 9223372036854775807 k
EVAL "return 1" "" k
EVAL_RO "return 1" 0
EVAL_RO "return 1" 2 k
EVAL_RO s
EVALSHA
EVALSHA abc 1 k
EVALSHA abc x
EVALSHA b70c2384248f88e6b75b9f89241a180f856ad852 x
EVALSHA b70c2384248f88e6b75b9f89241a180f856ad852 2 k
EVALSHA b70c2384248f88e6b75b9f89241a180f856ad852 1 k
EVALSHA_RO B70C2384248F88E6B75B9F89241A180F856AD852 1 k
EVALSHA_RO abc -1
SCRIPT
SCRIPT FOO
SCRIPT ""
SCRIPT "fo\r\no\x00o" x
SCRIPT LOAD
SCRIPT LOAD "return 1"
SCRIPT LOAD "return 1" 1
SCRIPT EXISTS
script exists a b
SCRIPT FLUSH
SCRIPT FLUSH SYNC
script flush async
SCRIPT FLUSH FOO
SCRIPT FLUSH SYNC SYNC
SCRIPT FLUSH "\u017fync"
NOSUCH
NOSUCH a b
nosuch "a\r\nb" c
"no\r\nsuch" a
"a\x00b" "c\x00d" e
"" a
`+"NOSUCH "+strings.Repeat("a", 124)+" b c\n"+
	"NOSUCH "+strings.Repeat("a", 125)+" b\n"+
	"NOSUCH "+strings.Repeat("a", 126)+" b\n"+
	"NOSUCH "+strings.Repeat("a", 200)+" b\n"+
	"NOSUCH "+strings.Repeat("abc ", 60)+"\n"+
	strings.Repeat("LONG", 50)+" x\n"+`
`), "\n")

// splitLine splits a line into words; "" stands for an empty word.
func splitLine(t *testing.T, line string) []string {
	t.Helper()
	var words []string
	for line = strings.TrimSpace(line); line != ""; line = strings.TrimLeft(line, " ") {
		if line[0] != '"' {
			word, rest, _ := strings.Cut(line, " ")
			words, line = append(words, word), rest
			continue
		}
		quoted, err := strconv.QuotedPrefix(line)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		word, err := strconv.Unquote(quoted)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		words, line = append(words, word), line[len(quoted):]
	}
	return words
}
