package resp

import "strconv"

// Append appends the bytes of r, as a client that speaks p reads them, to b and
// returns the longer slice. A nil or odd-sized Map reply is a broken invariant
// of the program, never the fault of a client, and panics.
func Append(b []byte, r Reply, p Proto) []byte {
	switch r := r.(type) {
	case Status:
		return appendLine(b, '+', string(r))
	case Error:
		return appendLine(b, '-', string(r))
	case Int:
		return appendHeader(b, ':', int64(r))
	case Bulk:
		return appendString(b, '$', "", string(r))
	case Null:
		return appendNull(b, "$-1\r\n", p)
	case NullArray:
		return appendNull(b, "*-1\r\n", p)
	case Array:
		return appendAll(appendHeader(b, '*', int64(len(r))), r, p)
	case Map:
		if len(r)%2 != 0 {
			panic("resp: a Map reply with a key that has no value")
		}
		if p == RESP3 {
			return appendAll(appendHeader(b, '%', int64(len(r)/2)), r, p)
		}
		return appendAll(appendHeader(b, '*', int64(len(r))), r, p)
	case Unordered:
		if p == RESP3 {
			return appendAll(appendHeader(b, '~', int64(len(r))), r, p)
		}
		return appendAll(appendHeader(b, '*', int64(len(r))), r, p)
	case Several:
		return appendAll(b, r, p)
	case Verbatim:
		if p == RESP3 {
			return appendString(b, '=', verbatimKind, string(r))
		}
		return appendString(b, '$', "", string(r))
	case Double:
		if p == RESP3 {
			return appendLine(b, ',', string(r))
		}
		return appendString(b, '$', "", string(r))
	case BigNumber:
		if p == RESP3 {
			return appendLine(b, '(', string(r))
		}
		return appendString(b, '$', "", string(r))
	case Bool:
		return appendBool(b, bool(r), p)
	case Push:
		if p == RESP3 {
			return appendAll(appendHeader(b, '>', int64(len(r))), r, p)
		}
		return appendAll(appendHeader(b, '*', int64(len(r))), r, p)
	}
	panic("resp: a nil reply, or one of an unknown type")
}

// MaxReply is how many bytes one reply may have, about: far more than anything about
// locks. A request can name one long value a thousand times, and its reply is built as a
// whole. Scripts have less memory than that.
const MaxReply = 64 << 20

// Fits tells whether a reply has at most MaxReply bytes, about.
func Fits(r Reply) bool { return room(MaxReply, r) >= 0 }

// room is what r leaves of n bytes; below 0 it may be any number.
func room(n int, r Reply) int {
	const frame = 16 // of anything
	n -= frame
	switch r := r.(type) {
	case Bulk:
		return n - len(r)
	case Verbatim:
		return n - len(r)
	case Status:
		return n - len(r)
	case Error:
		return n - len(r)
	case Array:
		return roomOfAll(n, r)
	case Map:
		return roomOfAll(n, r)
	case Unordered:
		return roomOfAll(n, r)
	case Several:
		return roomOfAll(n, r)
	case Push:
		return roomOfAll(n, r)
	}
	return n
}

func roomOfAll(n int, rs []Reply) int {
	for _, r := range rs {
		if n < 0 {
			break
		}
		n = room(n, r)
	}
	return n
}

// verbatimKind says that a verbatim string is plain text; it counts towards the
// announced length.
const verbatimKind = "txt:"

// appendNull keeps the two nulls of RESP2 away from RESP3 connections: strict
// clients take $-1 there for a string of length -1 and wait for it for ever.
func appendNull(b []byte, resp2 string, p Proto) []byte {
	if p == RESP3 {
		return append(b, "_\r\n"...)
	}
	return append(b, resp2...)
}

func appendBool(b []byte, yes bool, p Proto) []byte {
	switch {
	case p == RESP3 && yes:
		return append(b, "#t\r\n"...)
	case p == RESP3:
		return append(b, "#f\r\n"...)
	case yes:
		return appendHeader(b, ':', 1)
	}
	return appendHeader(b, ':', 0)
}

func appendHeader(b []byte, kind byte, n int64) []byte {
	b = append(b, kind)
	b = strconv.AppendInt(b, n, 10)
	return append(b, "\r\n"...)
}

func appendString(b []byte, kind byte, prefix, s string) []byte {
	b = appendHeader(b, kind, int64(len(prefix)+len(s)))
	b = append(b, prefix...)
	b = append(b, s...)
	return append(b, "\r\n"...)
}

func appendAll(b []byte, rs []Reply, p Proto) []byte {
	for _, r := range rs {
		b = Append(b, r, p)
	}
	return b
}

// appendLine replaces line breaks by blanks: one in the middle would end the
// reply early, and the rest would be read as the next reply.
func appendLine(b []byte, kind byte, s string) []byte {
	b = append(b, kind)
	text := len(b)
	b = append(b, s...)
	for i := text; i < len(b); i++ {
		if b[i] == '\r' || b[i] == '\n' {
			b[i] = ' '
		}
	}
	return append(b, "\r\n"...)
}
