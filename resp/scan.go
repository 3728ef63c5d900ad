package resp

import (
	"strconv"
	"strings"
)

// defaultCount is how many keys a step of SCAN is about unless the client says another
// number; Redis's.
const defaultCount = 10

// MaxPattern is how many bytes a pattern may have: more than the names of locks, and few
// enough that a long name is looked at in little time. Redis has no such bound, and its
// time grows with both.
const MaxPattern = 256

// parseScan parses SCAN cursor [MATCH pattern] [COUNT n] [TYPE name]. As in Redis an
// option may come again, and the last one counts.
func parseScan(_ string, args []string) (Request, error) {
	cursor, ok := parseCursor(args[1])
	if !ok {
		return nil, ErrCursor
	}
	s := Scan{Cursor: cursor, Count: defaultCount}
	for words := args[2:]; len(words) > 0; words = words[2:] {
		if len(words) < 2 {
			return nil, ErrSyntax
		}
		switch option(words[0]) {
		case "COUNT":
			n, ok := parseInt(words[1])
			switch {
			case !ok:
				return nil, ErrNotInteger
			case n < 1:
				return nil, ErrSyntax
			}
			s.Count = n
		case "MATCH":
			if len(words[1]) > MaxPattern {
				return nil, ErrPattern
			}
			s.Match, s.Filter = words[1], words[1] != "*"
		case "TYPE":
			s.Type = words[1]
		default:
			return nil, ErrSyntax
		}
	}
	return s, nil
}

// parseCursor reads a cursor as C does: up to the first NUL, nothing is 0, and below zero
// it begins again at the other end.
func parseCursor(word string) (uint64, bool) {
	word = cstring(word)
	if word == "" {
		return 0, true
	}
	digits, negative := strings.CutPrefix(word, "-")
	if !negative {
		digits = strings.TrimPrefix(word, "+")
	}
	n, err := strconv.ParseUint(digits, 10, 64)
	if negative {
		n = -n
	}
	return n, err == nil
}

func parseDBSize(string, []string) (Request, error) { return DBSize{}, nil }
