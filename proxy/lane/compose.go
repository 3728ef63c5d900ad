package lane

import (
	"slices"
	"strings"

	"redlockproxy/quorum"
)

// maxTogether is how many removals and extensions of a batch go into one call of
// their script. A call costs a backend as much as two of its keys do; more of them in
// one call would save hardly more, and nothing else runs at the backend until the call
// ends, which is a third of a millisecond with 64 keys.
const maxTogether = 64

// A place says which command of a pipeline carries an item, and as which of its keys.
type place struct{ command, part int }

// compose makes the commands of a batch: the words of each, and the place of each
// item. What ownerScript does comes first, together, unless it would overtake an item
// of the same key; behind it come the items that have a command of their own, in their
// order. So for each key the order stays what it was in the queue (quorum I6).
func (s *session) compose() [][]any {
	s.ops = s.ops[:0]
	for _, it := range s.items {
		s.ops = append(s.ops, it.op())
	}
	s.findAlone()
	s.places = slices.Grow(s.places[:0], len(s.items))[:len(s.items)]
	var together [][]any
	for i := range s.items {
		if !s.alone[i] {
			n := len(together)
			s.places[i] = place{command: n / maxTogether, part: n % maxTogether}
			together = append(together, s.words(i))
		}
	}
	commands := make([][]any, 0, len(s.items))
	for calls := range slices.Chunk(together, maxTogether) {
		commands = append(commands, ownersCall(calls))
	}
	for i := range s.items {
		if s.alone[i] {
			s.places[i] = place{command: len(commands)}
			commands = append(commands, s.words(i))
		}
	}
	return commands
}

// findAlone finds out which items must have a command of their own.
func (s *session) findAlone() {
	s.alone = s.alone[:0]
	for _, op := range s.ops {
		commit, ok := op.(quorum.Commit)
		s.alone = append(s.alone, !ok || !isOwners(commit))
	}
	if !slices.Contains(s.alone, false) {
		return // as in a batch of acquisitions
	}
	if s.before == nil {
		s.before = make(map[quorum.Key]bool)
	}
	clear(s.before)
	for i, op := range s.ops {
		if !s.alone[i] {
			s.alone[i] = s.before[op.(quorum.Commit).Writes[0].Key]
		}
		if s.alone[i] {
			eachKey(op, func(k quorum.Key) { s.before[k] = true })
		}
	}
}

// eachKey calls f with the keys of an operation.
func eachKey(op quorum.Op, f func(quorum.Key)) {
	switch op := op.(type) {
	case quorum.Acquire:
		f(op.Key)
	case quorum.Increment:
		f(op.Key)
	case quorum.Read:
		for _, k := range op.Keys {
			f(k)
		}
	case quorum.Commit:
		for _, g := range op.Guards {
			f(g.Key)
		}
		for _, w := range op.Writes {
			f(w.Key)
		}
	}
}

// ownersCall puts several calls of ownerScript into one: first all keys, then what is
// to be done with each.
func ownersCall(calls [][]any) []any {
	if len(calls) == 1 {
		return calls[0]
	}
	words := append(make([]any, 0, 3+5*len(calls)), "EVALSHA", ownerScript.digest, len(calls))
	for _, c := range calls {
		words = append(words, c[3])
	}
	for _, c := range calls {
		words = append(words, c[4:]...)
	}
	return words
}

// refused tells whether a backend has turned a script away before it ran: it does not
// have it, or the proxy's user may not touch one of several keys. That is perhaps not
// this item's, and nobody is to lose a release because of what somebody else sent.
func refused(cmd sent) bool {
	return isNoScript(cmd.Err()) || isNoPermission(cmd.Err()) && isTogether(cmd)
}

func isNoPermission(err error) bool {
	return err != nil && strings.HasPrefix(err.Error(), "NOPERM")
}

// isTogether tells whether a command calls a script for more than one item.
func isTogether(cmd sent) bool {
	args := cmd.Args()
	return len(args) > 2 && args[1] == ownerScript.digest && args[2] != 1
}

// decodeOwners is the answer for one of the keys that ownerScript was called with.
func decodeOwners(v any, err error, part int) quorum.Answer {
	if err != nil {
		return failed(err) // as in decodeCommit
	}
	list, _ := v.([]any)
	if len(list) < 3*(part+1) {
		return failed(errUnexpected)
	}
	done, held := list[3*part], []quorum.Held{decodeHeld(list[3*part+1], list[3*part+2])}
	switch done {
	case int64(1):
		return quorum.Answer{Vote: quorum.Granted, Held: held}
	case int64(0):
		return quorum.Answer{Vote: quorum.Refused, Held: held}
	}
	return failed(errUnexpected)
}
