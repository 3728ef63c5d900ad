package engine

import (
	"strings"
	"testing"
	"time"

	"redlockproxy/quorum"
	"redlockproxy/resp"
)

// digests are those that Redis 8.4 gives these values: XXH3, 64 bits, no seed, sixteen
// digits.
var digests = map[string]string{
	"":            "2d06800538d394c2",
	"hello":       "9555e8555c62dcfd",
	"hello world": "d447b1ea40e6988b",
}

func TestDigestIsRediss(t *testing.T) {
	for value, digest := range digests {
		want(t, apply(t, view(holding(value, quorum.NoTTL)), "DIGEST", "k"), resp.Bulk(digest), value)
	}
	want(t, apply(t, view(absent), "DIGEST", "k"), resp.Null{})
	want(t, apply(t, view(aList), "DIGEST", "k"), resp.ErrWrongType)
}

// A conditional is a command with a condition on the value, and what is there.
type conditional struct {
	command, condition, match string
	get                       bool
	held                      quorum.Holding
}

// met tells whether the condition is, as the manual pages of SET and DELEX have it, or
// what is wrong with it.
func (c conditional) met() (bool, resp.Error) {
	if c.held.Kind == quorum.Nothing {
		return strings.HasSuffix(c.condition, "NE"), ""
	}
	value := c.held.Value()
	switch strings.ToUpper(c.condition) {
	case "IFEQ":
		return value == c.match, ""
	case "IFNE":
		return value != c.match, ""
	}
	if len(c.match) != 16 {
		return false, resp.ErrDigest
	}
	same := strings.ToLower(c.match) == digests[value]
	return same == strings.EqualFold(c.condition, "IFDEQ"), ""
}

// wanted is the reply, and the value that is there afterwards, nil for none.
func (c conditional) wanted() (reply, after resp.Reply) {
	now := resp.Reply(resp.Null{})
	switch c.held.Kind {
	case quorum.Other:
		if c.command == "DELEX" {
			return resp.ErrDelExType, resp.ErrWrongType
		}
		return resp.ErrWrongType, resp.ErrWrongType
	case quorum.String:
		now = resp.Bulk(c.held.Value())
	}
	met, fault := c.met()
	removes := strings.HasPrefix(c.command, "DEL")
	switch {
	case fault != "":
		return fault, now
	case removes && met && c.held.Kind != quorum.Nothing:
		return resp.Int(1), resp.Null{}
	case removes:
		return resp.Int(0), now
	case met && c.get:
		return now, resp.Bulk("new")
	case met:
		return resp.OK, resp.Bulk("new")
	case c.get:
		return now, now
	}
	return resp.Null{}, now
}

func (c conditional) words() []string {
	switch {
	case c.command == "DELIFEQ":
		return []string{"DELIFEQ", "k", c.match}
	case c.command == "DELEX":
		return []string{"DELEX", "k", c.condition, c.match}
	case c.get:
		return []string{"SET", "k", "new", "GET", c.condition, c.match, "EX", "60"}
	}
	return []string{"SET", "k", "new", c.condition, c.match}
}

// TestConditionsOnTheValueHoldWhateverIsThere goes through every command with a
// condition on the value, every condition, and every sort of thing that can be there.
func TestConditionsOnTheValueHoldWhateverIsThere(t *testing.T) {
	helds := []quorum.Holding{absent, aList, holding("", quorum.NoTTL), holding("hello", time.Minute), holding("hello world", quorum.NoTTL)}
	matches := []string{"", "hello", "HELLO", "hello world", digests["hello"], strings.ToUpper(digests["hello"]), digests[""],
		"0000000000000000", "not sixteen hexa", digests["hello"][1:], "0" + digests["hello"], "\x00"}
	cases := 0
	for _, command := range []string{"SET", "SET GET", "DELEX", "DELIFEQ"} {
		for _, condition := range []string{"IFEQ", "IFNE", "IFDEQ", "IFDNE"} {
			if command == "DELIFEQ" && condition != "IFEQ" {
				continue
			}
			for _, match := range matches {
				for _, held := range helds {
					name, _, get := strings.Cut(command, " ")
					c := conditional{name, condition, match, get, held}
					reply, after := c.wanted()
					v := view(held)
					want(t, apply(t, v, c.words()...), reply, c)
					want(t, apply(t, v, "GET", "k"), after, "after", c)
					cases++
				}
			}
		}
	}
	if cases != (4+4+4+1)*len(matches)*len(helds) {
		t.Errorf("%d cases", cases)
	}
}

// TestUnknownConditionIsSaidOnlyOfAString has Redis's order: the key first.
func TestUnknownConditionIsSaidOnlyOfAString(t *testing.T) {
	for held, wanted := range map[*quorum.Holding]resp.Reply{&absent: resp.Int(0), &aList: resp.ErrDelExType, &lasting: resp.ErrDelExOption} {
		want(t, apply(t, view(*held), "DELEX", "k", "NX", "v"), wanted, *held)
	}
}
