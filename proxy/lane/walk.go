package lane

import (
	"strconv"

	"redlockproxy/quorum"
)

// briefText is the longest text that is not shortened in the answer to a brief read:
// more than any number with a tag, and than the SHA1 that takes its place.
const briefText = 64

func walkArgs(op quorum.Walk) []any {
	if op.Count == 0 {
		return []any{"DBSIZE"}
	}
	return []any{"SCAN", strconv.FormatUint(op.Cursor, 10), "COUNT", op.Count}
}

func decodeWalk(op quorum.Walk, v any, err error) quorum.Answer {
	if n, isInt := v.(int64); err == nil && isInt && op.Count == 0 {
		return quorum.Answer{Vote: quorum.Granted, Number: n}
	}
	list, _ := v.([]any)
	if err != nil || len(list) != 2 || op.Count == 0 {
		return notDone(err)
	}
	text, _ := list[0].(string)
	names, isList := list[1].([]any)
	next, bad := strconv.ParseUint(text, 10, 64)
	if bad != nil || !isList {
		return failed(errUnexpected)
	}
	answer := quorum.Answer{Vote: quorum.Granted, Next: next, Keys: make([]quorum.Key, len(names))}
	for i, n := range names {
		name, isString := n.(string)
		if !isString {
			return failed(errUnexpected)
		}
		answer.Keys[i] = quorum.Key(name)
	}
	return answer
}
