// Package resp holds what clients say and what they hear: requests and replies
// as values, the table of commands, every error text, and the bytes on the wire.
//
// The way through it is short. Check looks a command up in the table and counts
// its arguments; Parse turns the words of one command into a Request, or into
// the error that Redis itself would give; whoever carries the request out comes
// back with a Reply; Append turns that into bytes of RESP2 or RESP3. Nothing
// else in the program knows how the protocol spells things.
//
// The package is pure. It must never know of connections, clocks, goroutines,
// logs, backends or votes, and it imports the standard library only. Whatever
// bytes a client sends, it answers with a Request or an Error and never panics.
//
// # Served commands
//
// Won is what a client gets when a majority of the backends did what was asked,
// lost when a majority refused. When neither can happen, every command below
// answers an error that begins with UNAVAILABLE.
//
//	command                                 becomes      won                  lost
//	SET k v NX [EX|PX|EXAT|PXAT t]          Set          OK                   null
//	SETNX k v                               Set          1                    0
//	SET k v [XX] [EX|PX|EXAT|PXAT|KEEPTTL]  Set          OK                   null
//	SET k v .. GET                          Set          the value before, or null
//	SETEX k s v, PSETEX k ms v              Set          OK                   -
//	SET k v IFEQ|IFNE|IFDEQ|IFDNE x [..]    Set          OK                   null
//	DELEX k [IFEQ|IFNE|IFDEQ|IFDNE x]       DelEx        1                    0
//	DELIFEQ k x                             DelEx        1                    0
//	MSET k v ..                             MSet         OK                   -
//	MSETNX k v ..                           MSet         1                    0
//	GET k                                   Get          the value, or null
//	MGET k ..                               MGet         an array of those
//	GETRANGE k from to, SUBSTR k from to    GetRange     the part, or ""
//	DIGEST k                                Digest       the digest, or null
//	STRLEN k                                StrLen       the length, 0 if absent
//	EXISTS k ..                             Exists       how many are there
//	TYPE k                                  Type         string or none
//	TTL, PTTL, EXPIRETIME, PEXPIRETIME k    TTL          the time; -1 none; -2 absent
//	DEL k .., UNLINK k ..                   Del          how many were removed
//	GETDEL k                                GetDel       the value, or null
//	EXPIRE, PEXPIRE k t [NX|XX|GT|LT]       Expire       1                    0
//	EXPIREAT, PEXPIREAT k t [NX|XX|GT|LT]   Expire       1                    0
//	PERSIST k                               Persist      1                    0
//	INCR k, INCRBY k n (n > 0)              Incr         the new number       -
//	EVAL, EVAL_RO script n k .. arg ..      Eval         what the script returns
//	EVALSHA, EVALSHA_RO sha n k .. arg ..   Eval         the same, or NOSCRIPT
//	SCAN cursor [MATCH p] [COUNT n] [TYPE t] Scan        the next cursor, an array of keys
//	DBSIZE                                  DBSize       about how many keys there are
//	SCRIPT LOAD script                      ScriptLoad   the digest           -
//	SCRIPT EXISTS sha ..                    ScriptExists an array of 1 and 0  -
//	SCRIPT FLUSH [ASYNC|SYNC]               ScriptFlush  OK                   -
//
// WATCH, UNWATCH, MULTI, EXEC and DISCARD belong to the session that keeps the
// queue; PING, HELLO, INFO and their like are answered without the backends.
// Both are in the table, but Parse makes no Request of them. What Redis has and
// this program does not serve is in the table too, with the reason and what to
// use instead: see Unsupported.
//
// # Where this differs from Redis on purpose
//
//   - An expiry above MaxMillis (146 million years) is an invalid expire time,
//     so that no sum of two times can overflow.
//   - INCRBY needs an increment above zero: fencing numbers only rise.
//   - A refused command is refused before its arguments are counted.
//   - WAIT and WAITAOF are unknown commands: clients drop them quietly on that text and
//     on no other. MEMORY is refused.
//   - A pattern has at most MaxPattern bytes, a reply at most MaxReply.
//   - SCAN and DBSIZE have no place inside MULTI or a script: they speak of all keys,
//     which no single step on the backends can confirm. SUBSCRIBE has none in MULTI.
//   - WATCH compares what a key holds at EXEC with what it held then. It does not
//     notice what was changed and changed back, a value that its owner wrote over
//     itself (that is a renewal of one lock), or that only the expiry was changed:
//     remaining times differ a little between backends.
package resp
