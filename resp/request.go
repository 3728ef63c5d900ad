package resp

// A Request is what a client asked for, parsed and checked: the words of the
// protocol are gone, and what is left can be carried out. Parse makes them.
//
// One type stands for all spellings of a thing: SETNX, SETEX, PSETEX and SET are
// all a Set.
type Request interface{ isRequest() }

// Condition restricts a Set or a DelEx.
type Condition int

// The conditions. IfEq and IfNe compare the value with Match; IfDigestEq and
// IfDigestNe compare its digest (see Digest), in any case. BadCondition is a word
// that DELEX does not know: Redis says so only if the key holds a string.
const (
	Always Condition = iota
	IfAbsent
	IfPresent
	IfEq
	IfNe
	IfDigestEq
	IfDigestNe
	BadCondition
)

// ValueDigestLen is the length of a value's digest in hexadecimal. Redis looks at the
// length of what it is to compare with only where there is something to compare.
const ValueDigestLen = 16

// ExpiryKind says how an Expiry is to be read.
type ExpiryKind int

// The kinds of expiry: none given, milliseconds from now, or a Unix time in
// milliseconds.
const (
	NoExpiry ExpiryKind = iota
	ExpireIn
	ExpireAt
)

// Expiry is a time to live as the client gave it, in milliseconds whatever unit
// the client used.
type Expiry struct {
	Kind   ExpiryKind
	Millis int64
}

// Set is SET, SETNX, SETEX or PSETEX. A Set with an expiry has Millis > 0:
// anything else is Redis's "invalid expire time" and never becomes a Set.
type Set struct {
	Key, Value string
	Cond       Condition
	Match      string // what the conditions on the value compare with
	Get        bool   // answer the value that was there before
	KeepTTL    bool
	Expiry     Expiry
	Name       string // the command's own name, lower case: set, setnx, setex, psetex
}

// MSet is MSET, or MSETNX when IfAbsent is set.
type MSet struct {
	Keys, Values []string
	IfAbsent     bool
}

// Get is GET.
type Get struct{ Key string }

// MGet is MGET.
type MGet struct{ Keys []string }

// GetRange is GETRANGE or SUBSTR.
type GetRange struct {
	Key        string
	Start, End int64
}

// GetDel is GETDEL.
type GetDel struct{ Key string }

// Exists is EXISTS; a key named twice counts twice.
type Exists struct{ Keys []string }

// StrLen is STRLEN.
type StrLen struct{ Key string }

// Type is TYPE.
type Type struct{ Key string }

// TTL is TTL, PTTL, EXPIRETIME or PEXPIRETIME.
type TTL struct {
	Key      string
	Seconds  bool // the unit of the answer: seconds, else milliseconds
	Absolute bool // answer a Unix time
}

// Del is DEL or UNLINK; a key named twice is deleted once.
type Del struct{ Keys []string }

// DelEx is DELEX with a condition on the value or without, and DELIFEQ.
type DelEx struct {
	Key   string
	Cond  Condition
	Match string
	Name  string // the command's own name, lower case: delex, delifeq
}

// Digest is DIGEST: the XXH3 hash of 64 bits of a value, as 16 hexadecimal digits.
type Digest struct{ Key string }

// ExpireCond restricts an Expire.
type ExpireCond int

// The conditions of EXPIRE and its relatives.
const (
	ExpireAlways ExpireCond = iota
	ExpireNX                // only a key without expiry
	ExpireXX                // only a key with one
	ExpireGT                // only if it becomes later; no expiry counts as never
	ExpireLT                // only if it becomes sooner; XX may be given beside it
)

// Expire is EXPIRE, PEXPIRE, EXPIREAT or PEXPIREAT. Unlike Set's, its Millis may
// be zero, negative or past: the key is deleted then, as in Redis.
type Expire struct {
	Key    string
	Expiry Expiry
	Cond   ExpireCond
	XX     bool // XX given beside GT or LT
}

// Scan is SCAN: one step of a walk through all keys.
type Scan struct {
	Cursor uint64
	Match  string // a pattern, if Filter; without it every key is meant
	Filter bool
	Type   string // only keys of this type; "" for all
	Count  int64  // about how many are wanted, >= 1; 10 unless the client says another
}

// DBSize is DBSIZE.
type DBSize struct{}

// Persist is PERSIST.
type Persist struct{ Key string }

// Incr is INCR or INCRBY; By is always > 0.
type Incr struct {
	Key string
	By  int64
}

// Eval is EVAL, EVALSHA, EVAL_RO or EVALSHA_RO.
type Eval struct {
	Script     string // the text, or the SHA1 in lower case if ByDigest
	ByDigest   bool
	ReadOnly   bool
	Keys, Args []string
}

// ScriptLoad is SCRIPT LOAD.
type ScriptLoad struct{ Script string }

// ScriptExists is SCRIPT EXISTS; the digests are in lower case.
type ScriptExists struct{ Digests []string }

// ScriptFlush is SCRIPT FLUSH [ASYNC|SYNC].
type ScriptFlush struct{}

func (Set) isRequest()          {}
func (MSet) isRequest()         {}
func (Get) isRequest()          {}
func (MGet) isRequest()         {}
func (GetRange) isRequest()     {}
func (GetDel) isRequest()       {}
func (Exists) isRequest()       {}
func (StrLen) isRequest()       {}
func (Type) isRequest()         {}
func (TTL) isRequest()          {}
func (Del) isRequest()          {}
func (DelEx) isRequest()        {}
func (Digest) isRequest()       {}
func (Expire) isRequest()       {}
func (Persist) isRequest()      {}
func (Scan) isRequest()         {}
func (DBSize) isRequest()       {}
func (Incr) isRequest()         {}
func (Eval) isRequest()         {}
func (ScriptLoad) isRequest()   {}
func (ScriptExists) isRequest() {}
func (ScriptFlush) isRequest()  {}
