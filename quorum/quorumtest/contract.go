package quorumtest

import (
	"testing"
	"time"

	"redlockproxy/quorum"
)

// Subject is an implementation of quorum.Backend under test, and another way to
// the keys behind it. The server is the case's own and empty at first.
type Subject struct {
	Backend quorum.Backend

	// Raw runs a command at the server itself; nil where there is none. It is
	// used for what the other functions cannot do.
	Raw func(args ...string) any

	// Plant stores a string, with a time to live in whole milliseconds or, for
	// 0, without. PlantList stores a list with one element, without.
	Plant     func(key, value string, ttl time.Duration)
	PlantList func(key string)

	// Get is the string that a key holds; false if it is absent or no string.
	Get func(key string) (string, bool)

	// PTTL is the remaining time of a key, quorum.NoTTL, or Gone.
	PTTL func(key string) time.Duration

	// LooseNumbers is set for a server that, unlike Redis, takes 007 for a number.
	// Nothing that a group writes depends on it.
	LooseNumbers bool

	// Sleep lets time pass for the server: for a real one by waiting.
	Sleep func(d time.Duration)
}

// Gone is what Subject.PTTL says of an absent key.
const Gone time.Duration = -2

// Case is one thing that every backend must do. It runs within one test, without
// subtests of its own, so that it can be run in virtual time.
type Case struct {
	Name string // a fact, as an identifier
	Test func(t *testing.T, s Subject)
}

// Contract runs all cases, each over a Subject of its own. What open starts, it
// ends with t.Cleanup. A backend without a server it can reach must fail the
// test, not skip it.
func Contract(t *testing.T, open func(t *testing.T) Subject) {
	for _, c := range Cases() {
		t.Run(c.Name, func(t *testing.T) { c.Test(t, open(t)) })
	}
}

// Cases are the cases of the contract.
func Cases() []Case {
	var all []Case
	for _, part := range [][]Case{acquireCases, readCases, incrementCases, guardCases, writeCases, walkCases, orderCases} {
		all = append(all, part...)
	}
	return all
}

// patience is how long a test waits for an answer: far longer than any backend
// in order takes, so that only one that is not makes a test slow.
const patience = 10 * time.Second

// single is a round with one backend, with room for one answer. A second one
// would be a fault of the backend; the cases with many calls look for those.
type single chan quorum.Answer

// Vote implements quorum.Voter.
func (s single) Vote(_ int, answer quorum.Answer) {
	select {
	case s <- answer:
	default:
	}
}

// Do sends one operation and waits for its answer.
func Do(t testing.TB, backend quorum.Backend, op quorum.Op) quorum.Answer {
	t.Helper()
	return do(t, backend, op, time.Now().Add(patience))
}

// do is Do with a deadline.
func do(t testing.TB, backend quorum.Backend, op quorum.Op, deadline time.Time) quorum.Answer {
	t.Helper()
	round := make(single, 1)
	backend.Send(&quorum.Call{Op: op, Deadline: deadline, Round: round})
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	select {
	case answer := <-round:
		return answer
	case <-timeout.C:
		t.Fatalf("no answer to %T within %v", op, patience)
		return quorum.Answer{}
	}
}

// Values that the cases use. A tag is 4 bytes of mark and 16 of an alphabet.
const (
	tagA = "~rl:AAAAAAAAAAAAAAAA"
	tagB = "~rl:Bz09-_BBBBBBBBBB"

	long  = 60 * time.Second // longer than any case takes
	brief = 50 * time.Millisecond
	days  = 100 * 24 * time.Hour // in milliseconds beyond 32 bits
)

// binary is what a careless protocol or script would trip over.
const binary = "\x00a\r\n$3\r\n\xff%s%1\"'é\\\x00"

// trial is one use of a subject, named in every complaint.
type trial struct {
	*testing.T
	Subject
	what string
}

// granted does an operation that must be granted.
func (c trial) granted(op quorum.Op) quorum.Answer {
	c.Helper()
	return c.vote(op, quorum.Granted)
}

// refused does an operation that must be refused, and must say what is there.
func (c trial) refused(op quorum.Op, want quorum.Held) quorum.Answer {
	c.Helper()
	answer := c.vote(op, quorum.Refused)
	c.held(answer, want)
	return answer
}

func (c trial) vote(op quorum.Op, want quorum.Vote) quorum.Answer {
	c.Helper()
	answer := Do(c, c.Backend, op)
	if answer.Vote != want {
		c.Fatalf("%s: %T: vote %d, want %d; error %v", c.what, op, answer.Vote, want, answer.Err)
	}
	if answer.Err != nil || answer.Unsent {
		c.Errorf("%s: %T: vote %d came with error %v, unsent %v", c.what, op, want, answer.Err, answer.Unsent)
	}
	return answer
}

// held compares sorts and stored values; remaining times and names of types are
// promised in full reads only.
func (c trial) held(answer quorum.Answer, want ...quorum.Held) {
	c.Helper()
	if len(answer.Held) != len(want) {
		c.Fatalf("%s: %d keys described, want %d: %+v", c.what, len(answer.Held), len(want), answer.Held)
	}
	for i, got := range answer.Held {
		if got.Kind != want[i].Kind || got.Stored != want[i].Stored {
			c.Errorf("%s: Held[%d] is kind %d, %q; want kind %d, %q",
				c.what, i, got.Kind, got.Stored, want[i].Kind, want[i].Stored)
		}
	}
}

// has checks that a key holds a string, and how long it will. A ttl of 0 stands
// for none.
func (c trial) has(key, value string, ttl time.Duration) {
	c.Helper()
	if got, ok := c.Get(key); !ok || got != value {
		c.Errorf("%s: %q holds %q, exists %v; want %q", c.what, key, got, ok, value)
	}
	c.lives(key, ttl)
}

// lives checks that a key exists, and how long it will. Time that a real server
// takes for a case is forgiven.
func (c trial) lives(key string, ttl time.Duration) {
	c.Helper()
	if ttl == 0 {
		ttl = quorum.NoTTL
	}
	got := c.PTTL(key)
	if !alike(got, ttl) {
		c.Errorf("%s: %q has %v left, want %v (%v: for ever, %v: gone)", c.what, key, got, ttl, quorum.NoTTL, Gone)
	}
}

// alike compares a remaining time with the one that was set.
func alike(got, set time.Duration) bool {
	if set < 0 || got < 0 {
		return got == set
	}
	return got <= set && got > set-patience
}

// gone checks that a key does not exist.
func (c trial) gone(key string) {
	c.Helper()
	if got := c.PTTL(key); got != Gone {
		c.Errorf("%s: %q exists, %v left; want it gone", c.what, key, got)
	}
}

// str describes a key that holds a string.
func str(stored quorum.Stored) quorum.Held {
	return quorum.Held{Kind: quorum.String, Stored: stored}
}

// What other keys hold.
var (
	nothing = quorum.Held{Kind: quorum.Nothing}
	other   = quorum.Held{Kind: quorum.Other}
)
