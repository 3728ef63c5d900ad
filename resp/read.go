package resp

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Bounds of ReadReply. A reply that this program gives is far below them; they
// keep a broken or hostile peer from using up the reader's memory or stack.
const (
	maxReplyBytes = 64 << 20 // one reply with everything in it
	maxReplyDepth = 32       // arrays inside arrays
	readChunk     = 64 << 10 // memory taken before the bytes for it have arrived
)

var (
	errReplyTooBig  = errors.New("resp: reply is too big")
	errReplyTooDeep = errors.New("resp: reply is nested too deep")
)

// ReadReply reads one reply from a connection that speaks p. It is strict: it
// takes the forms that Append writes for p and no others, so that on a RESP3
// connection $-1 is an error, and on a RESP2 connection every RESP3 type is.
//
// What RESP2 can't tell apart comes back as the plainer type: a Map, Unordered or
// Push as Array, a Verbatim, Double or BigNumber as Bulk, a Bool as Int; in RESP3 a NullArray comes back as Null.
//
// The error is io.EOF if the connection ended before the reply began,
// io.ErrUnexpectedEOF if it ended inside, and otherwise says what was wrong;
// after that the connection can't be read any further.
func ReadReply(r *bufio.Reader, p Proto) (Reply, error) {
	if _, err := r.Peek(1); err != nil {
		return nil, err
	}
	rr := replyReader{r: r, proto: p, left: maxReplyBytes}
	reply, err := rr.read(0)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return reply, err
}

// replyReader reads one reply.
type replyReader struct {
	r     *bufio.Reader
	proto Proto
	left  int // bytes this reply may still have
}

func (rr *replyReader) read(depth int) (Reply, error) {
	if depth > maxReplyDepth {
		return nil, errReplyTooDeep
	}
	line, err := rr.line()
	if err != nil {
		return nil, err
	}
	if len(line) == 0 {
		return nil, errors.New("resp: empty line where a reply should begin")
	}
	kind, rest := line[0], string(line[1:])
	switch kind {
	case '+':
		return Status(rest), nil
	case '-':
		return Error(rest), nil
	case ':':
		n, ok := parseInt(rest)
		if !ok {
			return nil, fmt.Errorf("resp: bad integer %.40q", rest)
		}
		return Int(n), nil
	case '$', '*':
		if rest == "-1" && rr.proto == RESP2 {
			if kind == '*' {
				return NullArray{}, nil
			}
			return Null{}, nil
		}
		if kind == '$' {
			s, err := rr.text(rest)
			return Bulk(s), err
		}
		rs, err := rr.list(rest, 1, depth)
		return Array(rs), err
	}
	if rr.proto == RESP3 {
		return rr.read3(kind, rest, depth)
	}
	return nil, fmt.Errorf("resp: reply type %q in RESP2", kind)
}

// read3 reads the types that only RESP3 has.
func (rr *replyReader) read3(kind byte, rest string, depth int) (Reply, error) {
	switch kind {
	case '_':
		if rest != "" {
			return nil, fmt.Errorf("resp: null followed by %.40q", rest)
		}
		return Null{}, nil
	case '=':
		s, err := rr.text(rest)
		if err != nil {
			return nil, err
		}
		if len(s) < len(verbatimKind) || s[:len(verbatimKind)] != verbatimKind {
			return nil, fmt.Errorf("resp: verbatim string begins with %.4q", s)
		}
		return Verbatim(s[len(verbatimKind):]), nil
	case ',':
		return Double(rest), checkNumber(rest, "+-.0123456789einfa")
	case '(':
		return BigNumber(rest), checkNumber(rest, "+-0123456789")
	case '#':
		if rest != "t" && rest != "f" {
			return nil, fmt.Errorf("resp: bad boolean %.40q", rest)
		}
		return Bool(rest == "t"), nil
	case '%':
		rs, err := rr.list(rest, 2, depth)
		return Map(rs), err
	case '~':
		rs, err := rr.list(rest, 1, depth)
		return Unordered(rs), err
	case '>':
		rs, err := rr.list(rest, 1, depth)
		return Push(rs), err
	}
	return nil, fmt.Errorf("resp: unknown reply type %q", kind)
}

// checkNumber wants a number's text to have only the characters that one may have.
func checkNumber(text, of string) error {
	if text == "" || strings.Trim(text, of) != "" {
		return fmt.Errorf("resp: bad number %.40q", text)
	}
	return nil
}

// line reads up to CR LF and returns what stands before it.
func (rr *replyReader) line() ([]byte, error) {
	var line []byte
	for {
		part, err := rr.r.ReadSlice('\n')
		rr.left -= len(part)
		if rr.left < 0 {
			return nil, errReplyTooBig
		}
		line = append(line, part...)
		if err == nil {
			break
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return nil, err
		}
	}
	body, ok := bytes.CutSuffix(line, []byte("\r\n"))
	if !ok || bytes.IndexByte(body, '\r') >= 0 {
		return nil, errors.New("resp: line that does not end in one CR LF")
	}
	return body, nil
}

// length reads an announced length and holds it against what is left: each of
// the things announced takes at least min bytes.
func (rr *replyReader) length(s string, min int) (int, error) {
	n, ok := parseInt(s)
	if !ok || n < 0 {
		return 0, fmt.Errorf("resp: bad length %.40q", s)
	}
	if n > int64(rr.left/min) {
		return 0, errReplyTooBig
	}
	return int(n), nil
}

// text reads the bytes of a string and the CR LF behind them. Memory grows with
// the bytes that arrive, not with the length that was announced.
func (rr *replyReader) text(announced string) (string, error) {
	n, err := rr.length(announced, 1)
	if err != nil {
		return "", err
	}
	rr.left -= n
	var buf []byte
	for len(buf) < n {
		have, step := len(buf), min(n-len(buf), readChunk)
		buf = slices.Grow(buf, step)[:have+step]
		if _, err := io.ReadFull(rr.r, buf[have:]); err != nil {
			return "", err
		}
	}
	end, err := rr.line()
	if err != nil {
		return "", err
	}
	if len(end) != 0 {
		return "", errors.New("resp: string is longer than announced")
	}
	return string(buf), nil
}

// list reads the elements of an array, a map or a push; each announced entry has
// width replies. The shortest reply, RESP3's null, has three bytes.
func (rr *replyReader) list(announced string, width, depth int) ([]Reply, error) {
	n, err := rr.length(announced, 3*width)
	if err != nil {
		return nil, err
	}
	n *= width
	rs := make([]Reply, 0, min(n, 64))
	for range n {
		r, err := rr.read(depth + 1)
		if err != nil {
			return nil, err
		}
		rs = append(rs, r)
	}
	return rs, nil
}
