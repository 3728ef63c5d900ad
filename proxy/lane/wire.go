package lane

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"redlockproxy/quorum"
)

// dialect is what a backend understands.
type dialect struct {
	setNXGet bool // SET with NX and GET together: Redis 7
}

// encode makes the words of the command for an operation.
func (d dialect) encode(op quorum.Op) []any {
	switch op := op.(type) {
	case quorum.Acquire:
		return d.acquireArgs(op)
	case quorum.Read:
		if len(op.Keys) == 1 && !op.Full {
			return []any{"GET", string(op.Keys[0])}
		}
		most := int64(math.MaxInt32)
		if op.Brief {
			most = briefText
		}
		return evalSHA(readScript, op.Keys, []any{most})
	case quorum.Walk:
		return walkArgs(op)
	case quorum.Increment:
		return []any{"INCRBY", string(op.Key), op.By}
	case quorum.Commit:
		if isOwners(op) {
			g, w := op.Guards[0], op.Writes[0]
			return []any{"EVALSHA", ownerScript.digest, 1, string(g.Key),
				guardNames[g.Kind], g.Text, writeNames[w.Kind], w.TTL.Milliseconds()}
		}
		keys, args := commitArgs(op)
		return evalSHA(commitScript, keys, args)
	}
	panic(fmt.Sprintf("no command for %T", op))
}

func (d dialect) acquireArgs(op quorum.Acquire) []any {
	args := append(make([]any, 0, 8), "SET", string(op.Key), string(op.Stored), "NX")
	if d.setNXGet {
		args = append(args, "GET")
	}
	if op.TTL > 0 {
		args = append(args, "PX", op.TTL.Milliseconds())
	}
	return args
}

func evalSHA(script script, keys []quorum.Key, args []any) []any {
	all := append(make([]any, 0, 3+len(keys)+len(args)), "EVALSHA", script.digest, len(keys))
	for _, k := range keys {
		all = append(all, string(k))
	}
	return append(all, args...)
}

// withText is the same command with the script's text in place of its digest, for
// a backend that has lost the script.
func withText(words []any) []any {
	words = slices.Clone(words)
	words[0] = "EVAL"
	for _, s := range scripts {
		if words[1] == s.digest {
			words[1] = s.text
			return words
		}
	}
	panic("a command without a script has no text")
}

// isOwners tells whether a commit is one that ownerScript can do.
func isOwners(op quorum.Commit) bool {
	if len(op.Guards) != 1 || len(op.Writes) != 1 {
		return false
	}
	g, w := op.Guards[0], op.Writes[0]
	return g.Key == w.Key && (g.Kind == quorum.ValueIs || g.Kind == quorum.StoredIs) &&
		(w.Kind == quorum.Delete || w.Kind == quorum.Expire)
}

var guardNames = map[quorum.GuardKind]string{
	quorum.Absent: "absent", quorum.Present: "present", quorum.ValueIs: "value", quorum.StoredIs: "stored",
	quorum.Lower: "lower", quorum.Volatile: "volatile", quorum.Lasting: "lasting", quorum.TypeIs: "type",
}

var writeNames = map[quorum.WriteKind]string{
	quorum.Put: "put", quorum.Refresh: "refresh", quorum.Delete: "delete",
	quorum.Expire: "expire", quorum.Persist: "persist", quorum.Raise: "keep",
}

// commitArgs makes KEYS and ARGV of the commit script.
func commitArgs(op quorum.Commit) (keys []quorum.Key, args []any) {
	places := make(map[quorum.Key]int, len(op.Writes))
	index := func(k quorum.Key) int {
		at, ok := places[k]
		if !ok {
			keys = append(keys, k)
			at = len(keys)
			places[k] = at
		}
		return at
	}
	args = make([]any, 0, 1+3*len(op.Guards)+4*len(op.Writes))
	args = append(args, len(op.Guards))
	for _, g := range op.Guards {
		args = append(args, guardNames[g.Kind], index(g.Key), g.Text)
	}
	for _, w := range op.Writes {
		args = append(args, writeNames[w.Kind], index(w.Key), string(w.Stored), w.TTL.Milliseconds())
	}
	return keys, args
}

// decode makes the answer to an operation out of what the backend replied. again is
// set if the backend must be asked what the key holds before the answer is whole. part
// is the operation's place among those that share the command.
func (d dialect) decode(op quorum.Op, cmd sent, part int) (answer quorum.Answer, again bool) {
	v, err := cmd.Result()
	if err != nil && !isReply(err) {
		return failed(err), false
	}
	switch op := op.(type) {
	case quorum.Acquire:
		return d.decodeAcquire(v, err), false
	case quorum.Read:
		return decodeRead(op, v, err), false
	case quorum.Walk:
		return decodeWalk(op, v, err), false
	case quorum.Increment:
		return decodeIncrement(v, err)
	case quorum.Commit:
		if isOwners(op) {
			return decodeOwners(v, err, part), false
		}
		return decodeCommit(op, v, err), false
	}
	panic(fmt.Sprintf("no answer for %T", op))
}

func (d dialect) decodeAcquire(v any, err error) quorum.Answer {
	s, isString := v.(string)
	switch {
	case isWrongType(err):
		return quorum.Answer{Vote: quorum.Refused, Held: []quorum.Held{{Kind: quorum.Other}}}
	case err == redis.Nil && d.setNXGet, err == nil && s == "OK" && !d.setNXGet:
		return quorum.Answer{Vote: quorum.Granted}
	case err == redis.Nil:
		return quorum.Answer{Vote: quorum.Refused}
	case err == nil && isString && d.setNXGet:
		return quorum.Answer{Vote: quorum.Refused, Held: []quorum.Held{{Kind: quorum.String, Stored: quorum.Stored(s)}}}
	}
	return notDone(err)
}

func decodeRead(op quorum.Read, v any, err error) quorum.Answer {
	if len(op.Keys) == 1 && !op.Full {
		s, isString := v.(string)
		switch {
		case err == redis.Nil:
			return quorum.Answer{Vote: quorum.Granted, Held: []quorum.Held{{}}}
		case isWrongType(err):
			return quorum.Answer{Vote: quorum.Granted, Held: []quorum.Held{{Kind: quorum.Other}}}
		case err == nil && isString:
			return quorum.Answer{Vote: quorum.Granted, Held: []quorum.Held{{Kind: quorum.String, Stored: quorum.Stored(s)}}}
		}
		return notDone(err)
	}
	list, ok := v.([]any)
	if err != nil || !ok || len(list) != 3*len(op.Keys) {
		return notDone(err)
	}
	held := make([]quorum.Held, len(op.Keys))
	for i := range held {
		held[i] = decodeHeld(list[3*i], list[3*i+1])
		if !op.Full {
			held[i].Type = ""
			continue
		}
		if held[i].Kind == quorum.Nothing {
			continue
		}
		held[i].TTL = quorum.NoTTL
		if ms, _ := list[3*i+2].(int64); ms >= 0 {
			held[i].TTL = time.Duration(ms) * time.Millisecond
		}
	}
	return quorum.Answer{Vote: quorum.Granted, Held: held}
}

func decodeIncrement(v any, err error) (answer quorum.Answer, again bool) {
	n, isInt := v.(int64)
	switch {
	case err == nil && isInt:
		return quorum.Answer{Vote: quorum.Granted, Number: n}, false
	case isWrongType(err):
		return quorum.Answer{Vote: quorum.Refused, Held: []quorum.Held{{Kind: quorum.Other}}}, false
	case err != nil && strings.Contains(err.Error(), "would overflow"):
		return quorum.Answer{Vote: quorum.Refused, Overflow: true}, true
	case err != nil && strings.Contains(err.Error(), "not an integer"):
		return quorum.Answer{Vote: quorum.Refused}, true
	}
	return notDone(err), false
}

func decodeCommit(op quorum.Commit, v any, err error) quorum.Answer {
	list, _ := v.([]any)
	if err != nil {
		// The script may have stopped half way, as on a backend that is full.
		return failed(err)
	}
	switch {
	case len(list) == 1+2*len(op.Writes) && list[0] == int64(1):
		held := make([]quorum.Held, len(op.Writes))
		for i := range held {
			held[i] = decodeHeld(list[1+2*i], list[2+2*i])
		}
		return quorum.Answer{Vote: quorum.Granted, Held: held}
	case len(list) == 4 && list[0] == int64(0):
		g, _ := list[1].(int64)
		return quorum.Answer{Vote: quorum.Refused, FailedGuard: int(g), Held: []quorum.Held{decodeHeld(list[2], list[3])}}
	}
	return failed(errUnexpected)
}

func decodeHeld(kind, text any) quorum.Held {
	s, _ := text.(string)
	switch kind {
	case int64(1):
		return quorum.Held{Kind: quorum.String, Stored: quorum.Stored(s)}
	case int64(2):
		return quorum.Held{Kind: quorum.Other, Type: s}
	}
	return quorum.Held{}
}

var errUnexpected = errors.New("a reply of an unexpected form")

// failed is the answer when it is not known what the backend did.
func failed(err error) quorum.Answer { return quorum.Answer{Vote: quorum.Failed, Err: err} }

// notDone is the answer when the backend said that it did nothing.
func notDone(err error) quorum.Answer {
	if err == nil {
		return failed(errUnexpected)
	}
	return quorum.Answer{Vote: quorum.Failed, Unsent: true, Err: err}
}

// isReply tells an error reply of the backend from trouble with the connection. An
// error that has one inside is none: go-redis wraps the reply for which it has given up
// a connection, and returns that for all that was to be sent after it.
func isReply(err error) bool {
	_, reply := err.(redis.Error)
	return reply
}

func isWrongType(err error) bool {
	return err != nil && strings.HasPrefix(err.Error(), "WRONGTYPE")
}

func isNoScript(err error) bool {
	return err != nil && strings.HasPrefix(err.Error(), "NOSCRIPT")
}

// size is about how many bytes an operation takes on the wire.
func size(op quorum.Op) int {
	const perWord = 16 // length line, line break and the like
	switch op := op.(type) {
	case quorum.Acquire:
		return 6*perWord + len(op.Key) + len(op.Stored)
	case quorum.Read:
		n := 3 * perWord
		for _, k := range op.Keys {
			n += perWord + len(k)
		}
		return n
	case quorum.Commit:
		n := 6 * perWord
		for _, g := range op.Guards {
			n += 3*perWord + len(g.Key) + len(g.Text)
		}
		for _, w := range op.Writes {
			n += 4*perWord + len(w.Key) + len(w.Stored)
		}
		return n
	}
	return 4 * perWord
}

// majorVersion is the first number of a Redis version; 0 if there is none.
func majorVersion(v string) int {
	major, _, _ := strings.Cut(v, ".")
	n, _ := strconv.Atoi(major)
	return n
}
