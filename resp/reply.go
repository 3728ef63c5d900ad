package resp

// Proto is the version of the Redis protocol a connection speaks.
type Proto int

// The two versions a client may choose with HELLO; a new connection speaks RESP2.
const (
	RESP2 Proto = 2
	RESP3 Proto = 3
)

// A Reply is one answer to one command, as a value: it knows nothing of the
// connection it will be written to. Append turns it into bytes.
//
// The types below are all the replies that this program gives. Where RESP2 and
// RESP3 differ, the difference lives in Append and nowhere else.
type Reply interface{ isReply() }

// Status is a simple string: OK, PONG, QUEUED.
type Status string

// Error is an error reply. Its first word is the code that clients look at.
// Line breaks in it are replaced by blanks when it is written.
type Error string

// Int is an integer reply.
type Int int64

// Bulk is a string of any bytes.
type Bulk string

// Null is the absent string: $-1 in RESP2, _ in RESP3.
type Null struct{}

// NullArray is the absent array, which Redis answers to an EXEC whose watched
// keys changed: *-1 in RESP2, _ in RESP3.
type NullArray struct{}

// Array is a list of replies.
type Array []Reply

// Map is a list of keys and values in turn; a flat array in RESP2.
type Map []Reply

// Unordered is a list whose order means nothing; RESP3 has a type for it (the set),
// RESP2 an array.
type Unordered []Reply

// Verbatim is text for people (INFO, CLIENT LIST); a bulk string in RESP2.
type Verbatim string

// Double is a number with a fraction, as C's %.17g writes it, inf and -inf included; a
// bulk string in RESP2.
type Double string

// BigNumber is the digits of an integer of any size; a bulk string in RESP2.
type BigNumber string

// Bool is 1 or 0 in RESP2.
type Bool bool

// Push is a message outside the order of replies; an array in RESP2.
type Push []Reply

// Several is what a command is answered that gets more than one reply, one after the
// other: SUBSCRIBE, one for each channel.
type Several []Reply

func (Status) isReply()    {}
func (Error) isReply()     {}
func (Int) isReply()       {}
func (Bulk) isReply()      {}
func (Null) isReply()      {}
func (NullArray) isReply() {}
func (Array) isReply()     {}
func (Map) isReply()       {}
func (Unordered) isReply() {}
func (Several) isReply()   {}
func (Verbatim) isReply()  {}
func (Double) isReply()    {}
func (BigNumber) isReply() {}
func (Bool) isReply()      {}
func (Push) isReply()      {}

// Error makes an error reply usable as a Go error, so that a refusal can travel
// through code that knows nothing of replies.
func (e Error) Error() string { return string(e) }

// OK is the reply of a write that was done.
const OK = Status("OK")
