package quorum_test

import (
	"slices"
	"strings"
	"time"

	"redlockproxy/quorum"
	"redlockproxy/quorum/quorumtest"
)

// A mask is what each of five backends does; maskModes is what there is to choose.
type mask [5]quorumtest.Mode

var maskModes = [...]quorumtest.Mode{
	quorumtest.Up, quorumtest.Frozen, quorumtest.Down, quorumtest.Silent, quorumtest.LostReply,
}

// everyMask calls f with all 5^5 of them.
func everyMask(f func(m mask)) {
	for n := range 5 * 5 * 5 * 5 * 5 {
		var m mask
		for i := range m {
			m[i], n = maskModes[n%5], n/5
		}
		f(m)
	}
}

func (m mask) count(modes ...quorumtest.Mode) int {
	n := 0
	for _, mode := range m {
		for _, want := range modes {
			if mode == want {
				n++
			}
		}
	}
	return n
}

// An oracle says, in the most simple-minded way, what an outcome must be and when
// it is certain: it tries everything that the votes still missing could be.
type oracle struct {
	votes []string // every vote there could be; "failed" among them
	full  func(votes []string) string
	found map[string]verdict // what was found out already: the order of votes is no matter
}

type verdict struct {
	outcome string
	certain bool
}

// failed is the vote without an answer.
const failed = "failed"

// certain is the outcome, if all ways to complete the votes lead to it.
func (o oracle) certain(known []string) (string, bool) {
	if len(known) == 5 {
		return o.full(known), true
	}
	name := strings.Join(slices.Sorted(slices.Values(known)), ",")
	v, ok := o.found[name]
	if !ok {
		v.outcome, v.certain = o.tryAll(known)
		o.found[name] = v
	}
	return v.outcome, v.certain
}

func (o oracle) tryAll(known []string) (string, bool) {
	first := ""
	for i, v := range o.votes {
		outcome, ok := o.certain(append(known[:len(known):len(known)], v))
		if !ok || i > 0 && outcome != first {
			return "", false
		}
		first = outcome
	}
	return first, true
}

// decide is the outcome and its time for backends that vote as the mask says: own is
// the vote of a backend that is up. Backends that are down answer at once, those
// that serve or lose their replies after the way to and fro, the others never.
func (o oracle) decide(m mask, own [5]string) (string, time.Duration) {
	var known []string
	for range m.count(quorumtest.Down) {
		known = append(known, failed)
	}
	if outcome, ok := o.certain(known); ok {
		return outcome, 0
	}
	for i, mode := range m {
		switch mode {
		case quorumtest.Up:
			known = append(known, own[i])
		case quorumtest.LostReply:
			known = append(known, failed)
		}
	}
	if outcome, ok := o.certain(known); ok {
		return outcome, 2 * oneWay
	}
	for len(known) < 5 {
		known = append(known, failed)
	}
	return o.full(known), settings(0).VoteLimit
}

// byVotes is the oracle of operations that are granted or refused.
var byVotes = oracle{
	found: map[string]verdict{},
	votes: []string{"granted", "refused", failed},
	full: func(votes []string) string {
		var counted []quorum.Vote
		for _, v := range votes {
			counted = append(counted, map[string]quorum.Vote{
				"granted": quorum.Granted, "refused": quorum.Refused, failed: quorum.Failed,
			}[v])
		}
		return map[quorum.Result]string{
			quorum.Won: "won", quorum.Lost: "lost", quorum.Unavailable: "unavailable",
		}[quorum.Naive(5, counted)]
	},
}

// byValues is the oracle of reading: three of a kind are the answer; if no three
// could be, whatever the failed ones hold, nobody has it. A missing vote may be any
// value seen so far, or one that nobody else holds.
var byValues = oracle{
	found: map[string]verdict{},
	votes: []string{"x", "y", "", failed, "1st other", "2nd other", "3rd other", "4th other", "5th other"},
	full: func(votes []string) string {
		most, unknown := 0, 0
		best := ""
		for _, v := range votes {
			same := 0
			for _, w := range votes {
				if v == w {
					same++
				}
			}
			if v == failed {
				unknown = same
			} else if same > most {
				best, most = v, same
			}
		}
		switch {
		case most >= 3:
			return "holds " + best
		case most+unknown >= 3:
			return "unavailable"
		}
		return "holds " // nobody
	},
}
