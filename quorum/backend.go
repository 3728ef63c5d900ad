package quorum

import (
	"sync/atomic"
	"time"
)

// Key names a lock or a counter.
type Key string

// MarkerKey is where each backend keeps what package admission must know of it. It is
// no client's key, and may be named by none.
const MarkerKey Key = "~redlock-proxy:marker"

// Backend is what a group needs of each of its N Redis primaries. The group
// hands the same call to all of them, in one order per key; a backend carries
// its calls out in the order it was given them.
type Backend interface {
	// Send takes the call on and returns at once. The answer goes to
	// call.Round, exactly once, from any goroutine, possibly before Send
	// returns. A backend that is down, stalled or full answers Failed at once.
	Send(call *Call)

	// Owe takes on a removal that must reach the backend even if it is out of
	// reach now: it is kept until it was carried out. The number of debts kept is
	// bounded; over the bound those past their date are given up first, and what
	// is lost ends with its key's expiry.
	Owe(debt Debt)
}

// A Call is one operation on its way to every backend of a group; all backends
// share it, so nobody changes it.
type Call struct {
	Op Op

	// Deadline is the time after which the call must not be sent any more.
	// A call that was sent is never taken back.
	Deadline time.Time

	// Round receives each backend's answer.
	Round Voter

	// Prepared is for the backends alone: what one of them made of Op, as it goes
	// out, may serve the others. It holds values of one type only.
	Prepared atomic.Value
}

// Voter receives the answers to a Call. It must not block.
type Voter interface {
	Vote(backend int, answer Answer)
}

// Op is an operation that a backend carries out in one atomic step.
type Op interface{ isOp() }

// Acquire stores a value under a key that is absent. Granted if it was stored;
// Refused, with what the key holds in Held[0], if there was anything.
type Acquire struct {
	Key    Key
	Stored Stored
	TTL    time.Duration // > 0, whole milliseconds; 0 for none
}

// Read looks at keys. Granted, with Held in the order of Keys. A backend may
// leave out the remaining times and the names of other types unless Full is set.
type Read struct {
	Keys []Key
	Full bool

	// Brief, with Full, lets a backend put something short in the place of a long
	// value, the same for the same value: enough to see who agrees with whom. A number
	// is never replaced.
	Brief bool
}

// Walk goes through the names of the keys: from Cursor on (0: from the start) it looks
// at about Count keys. Granted with the names in Keys, and with the cursor to go on from
// in Next, 0 at the end. A key that exists all the time is named at least once, perhaps
// more often. With Count 0 nothing is named, and Number is how many keys the backend
// holds. A client's pattern is never a backend's work: that could stop a Redis for long,
// and the walk would hand it on to the next.
type Walk struct {
	Cursor uint64
	Count  int
}

// Increment adds By > 0 to the integer that a key holds, an absent key counting
// as 0, and keeps its expiry. Granted with the new value in Number. Refused,
// with Held[0] for what is there, when it holds no plain integer (a tagged
// number is none) or when the sum is beyond 2^63-1.
type Increment struct {
	Key Key
	By  int64
}

// Commit checks all guards and, if every one holds, applies all writes in their
// order. Granted with what each write's key held just before that write in
// Held[write]; Refused, with Held[0] for what the first failing guard's key
// holds and its index in FailedGuard. Nothing is written on a refusal.
type Commit struct {
	Guards []Guard
	Writes []Write
}

func (Acquire) isOp()   {}
func (Read) isOp()      {}
func (Increment) isOp() {}
func (Commit) isOp()    {}
func (Walk) isOp()      {}

// GuardKind is the condition that a Guard puts on its key.
type GuardKind uint8

// The kinds of guard.
const (
	Absent   GuardKind = iota + 1 // the key does not exist
	Present                       // the key exists, with whatever type
	ValueIs                       // it is a string and its client value is Text
	StoredIs                      // it is a string and its stored value is Text
	Lower                         // it is absent, or an integer, tagged or not, below the decimal number Text
	Volatile                      // it exists and has an expiry
	Lasting                       // it exists and has none
	TypeIs                        // it exists and its type, as TYPE names it, is Text
)

// Guard is a condition on a key, checked by the backend in the same atomic step
// as the writes.
type Guard struct {
	Kind GuardKind
	Key  Key
	Text string // what ValueIs, StoredIs, Lower and TypeIs compare with
}

// WriteKind is what a Write does to its key.
type WriteKind uint8

// The kinds of write.
const (
	Put     WriteKind = iota + 1 // store Stored with TTL (0: without expiry)
	Refresh                      // as Put, but where the client value is the same already, keep the stored value and set the expiry only
	Delete                       // remove the key, of whatever type
	Expire                       // set the remaining time to TTL; nothing if the key is absent
	Persist                      // take the expiry away; nothing if the key is absent
	Raise                        // store the plain decimal number Stored and keep the expiry there is
)

// Write is one change to one key.
type Write struct {
	Kind   WriteKind
	Key    Key
	Stored Stored
	TTL    time.Duration // whole milliseconds
}

// HeldKind says what sort of thing a key holds.
type HeldKind uint8

// The sorts of thing.
const (
	Nothing HeldKind = iota
	String
	Other // a list, hash, set, …: never ours
)

// Held is what one backend holds under one key.
type Held struct {
	Kind   HeldKind
	Stored Stored        // for a String
	Type   string        // for Other: its name, as TYPE gives it; "" if not asked for
	TTL    time.Duration // what is left; NoTTL if it never expires. Only in the answer to a full Read
}

// NoTTL is the remaining time of a key that does not expire.
const NoTTL time.Duration = -1

// Answer is what one backend says to one Call.
type Answer struct {
	Vote Vote

	// Unsent is set on a Failed answer if the operation surely did not and will
	// not reach the backend; without it, it may have been applied or may still be.
	Unsent bool

	Held        []Held
	Number      int64
	FailedGuard int
	Keys        []Key
	Next        uint64
	Overflow    bool // an Increment was refused because the sum is beyond 2^63-1

	// Err says why a vote failed, for people. It carries no value and no token.
	Err error
}

// Debt is the removal of exactly what one attempt wrote: the key is removed if
// it holds Stored, tag included.
type Debt struct {
	Key    Key
	Stored Stored
	Until  time.Time // when the key, if it was written by now, has expired by itself
}
