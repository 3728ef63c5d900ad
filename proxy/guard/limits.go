package guard

import (
	"math"
	"time"
)

// Limits are the bounds that a Listener puts on its clients. A field that is
// zero or negative has its default; one above its bound has its bound.
type Limits struct {
	// MaxClients is the number of connections at once. Default 10,000 (Redis's
	// maxclients), bound 1,000,000. Each needs a file descriptor and about
	// 20 KiB; one client too many is told so and closed.
	MaxClients int

	// AuthRequired makes connections start unauthenticated: Before holds, and
	// AuthTime runs, until Conn.SetAuthenticated(true). Without it After holds
	// from the first byte.
	AuthRequired bool

	// Before bounds the commands of a client that has not logged in. Default:
	// 10 arguments, bulks of 16 KiB (both Redis's), commands of 64 KiB.
	Before Size

	// After bounds the commands of all others. Default: 1024 arguments, bulks of
	// 512 KiB (scripts are the largest), commands of 1 MiB.
	After Size

	// Large bounds the bytes of large commands that all clients hold together, from
	// a command's first byte to its reply; those below 16 KiB do not count. A client
	// that would go over it is cut off. Default 8 MiB, bound 4 GiB. With all that is
	// done to a command it takes about ten times as much memory.
	Large int

	// Line is the longest inline command and the longest count or length line,
	// in bytes. Default and bound 64 KiB, as in Redis.
	Line int

	// HalfCommand is how long the rest of a command that has begun may take,
	// from its first byte to its last, not counting the time in which the
	// client waits for us. Default 10 s, bound 1 h.
	HalfCommand time.Duration

	// HandshakeTime is how long a TLS handshake may take, from Accept on.
	// Default 5 s, bound 1 min.
	HandshakeTime time.Duration

	// AuthTime is how long a client may take to log in, from Accept on, when
	// AuthRequired is set. Default 10 s, bound 1 h.
	AuthTime time.Duration

	// WriteStall is how long one write of replies may take. A client that does
	// not read is cut off after it. Default 10 s, bound 1 h.
	WriteStall time.Duration

	// KeepAlive is the silence after which TCP probes whether the client is
	// still there; it is taken for dead after three unanswered probes, a third
	// of KeepAlive apart. Default 60 s, bound 1 h; whole seconds.
	KeepAlive time.Duration

	// Idle is how long a connection may send nothing between two commands, or before
	// the first. Default 0, never, since connection pools keep idle connections for
	// long.
	Idle time.Duration
}

// Size bounds one command.
type Size struct {
	Args    int // arguments, the command's name included; bound 1,048,576
	Bulk    int // bytes of one argument; bound 512 MiB, Redis's own
	Command int // bytes of the whole command as an array; bound 1 GiB
}

const (
	maxArgs    = 1 << 20
	maxBulk    = 512 << 20
	maxCommand = 1 << 30
	maxLine    = 64 << 10
	maxLarge   = 4 << 30
)

// normal fills in the defaults and cuts what is above its bound.
func (l Limits) normal() Limits {
	l.MaxClients = within(l.MaxClients, 10_000, 1_000_000)
	l.Before = l.Before.normal(Size{Args: 10, Bulk: 16 << 10, Command: 64 << 10})
	l.After = l.After.normal(Size{Args: 1024, Bulk: 512 << 10, Command: 1 << 20})
	l.Large = within(l.Large, 8<<20, maxLarge)
	l.Line = within(l.Line, maxLine, maxLine)
	l.HalfCommand = within(l.HalfCommand, 10*time.Second, time.Hour)
	l.HandshakeTime = within(l.HandshakeTime, 5*time.Second, time.Minute)
	l.AuthTime = within(l.AuthTime, 10*time.Second, time.Hour)
	l.WriteStall = within(l.WriteStall, 10*time.Second, time.Hour)
	l.KeepAlive = within(l.KeepAlive, 60*time.Second, time.Hour)
	l.Idle = within(l.Idle, 0, math.MaxInt64)
	return l
}

func (s Size) normal(standard Size) Size {
	return Size{
		Args:    within(s.Args, standard.Args, maxArgs),
		Bulk:    within(s.Bulk, standard.Bulk, maxBulk),
		Command: within(s.Command, standard.Command, maxCommand),
	}
}

func within[T int | time.Duration](v, standard, most T) T {
	if v <= 0 {
		return standard
	}
	return min(v, most)
}

// Hooks are called when something happens that is worth counting. Each may be
// nil. They are called from the goroutine that accepts or serves a connection,
// also at the same time, and must neither block nor panic.
type Hooks struct {
	Accepted      func()      // a client was admitted
	Closed        func()      // an admitted client is gone
	Refused       func()      // a client was one too many
	ProtocolError func(Cause) // a client was cut off for what it sent
	Timeout       func(Cause) // a client was cut off for being slow
	HandshakeFail func(error) // a TLS handshake failed, other than by time
	AcceptError   func(error) // the system could not accept; tried again later
}

func (h Hooks) accepted()             { call(h.Accepted) }
func (h Hooks) closed()               { call(h.Closed) }
func (h Hooks) refused()              { call(h.Refused) }
func (h Hooks) protocolError(c Cause) { tell(h.ProtocolError, c) }
func (h Hooks) timeout(c Cause)       { tell(h.Timeout, c) }
func (h Hooks) handshakeFail(e error) { tell(h.HandshakeFail, e) }
func (h Hooks) acceptError(e error)   { tell(h.AcceptError, e) }

func call(f func()) {
	if f != nil {
		f()
	}
}

func tell[T any](f func(T), v T) {
	if f != nil {
		f(v)
	}
}
