package guard

import (
	"bytes"
	"math"
	"strconv"
)

// place is where in a command the next byte belongs.
type place int

const (
	atStart  place = iota // before the first byte of a command
	inInline              // in a line that is no array
	inCount               // after *
	atDollar              // before the $ of an argument
	inLength              // after $
	inBody                // in an argument or the CR LF after it
)

// keepBytes is the most that an empty buffer keeps; a larger one is given back
// when its command has been released.
const keepBytes = 16 << 10

// A parser turns a client's bytes into commands, each an array in canonical
// form. It looks at each byte once (G4) and stores it at most once (G3). It is
// pure: no socket, no time.
type parser struct {
	limits Limits // normal

	// out is the commands ready to be released, out[head:done], and what has
	// arrived of the next one, out[done:]: as an array, or the raw bytes of an
	// inline command's line.
	out        []byte
	head, done int

	at     place
	num    [20]byte // first bytes of a count or length; none valid is longer
	digits int      // bytes of it so far, also those not kept
	cr     bool     // its CR has been seen
	args   int      // arguments still to come, the current one included
	left   int      // bytes still to come of the current argument and its CR LF
}

// feed takes bytes in and returns how many it took: all, unless it met a fault
// or, for a client that has not logged in, the end of a command. Then that must
// be released first and feed be called with the rest: the command may be the AUTH
// that lifts the limits for the next one.
func (p *parser) feed(b []byte, authenticated bool) (int, *fault) {
	n := 0
	for n < len(b) && (authenticated || p.done == 0) {
		used, f := p.step(b[n:], authenticated)
		n += used
		if f != nil {
			return n, f
		}
	}
	return n, nil
}

// partial tells whether a command has begun and not ended.
func (p *parser) partial() bool { return p.at != atStart }

// take moves whole commands into dst, the last one perhaps in several calls.
func (p *parser) take(dst []byte) int {
	n := copy(dst, p.out[p.head:p.done])
	p.head += n
	if p.done == 0 || p.head < p.done {
		return n
	}
	// What follows the last whole command came with it in one read, so this
	// copies little.
	tail := p.out[p.done:]
	if cap(p.out) > keepBytes && len(tail) < keepBytes {
		p.out = append(make([]byte, 0, len(tail)), tail...)
	} else {
		p.out = p.out[:copy(p.out, tail)]
	}
	p.head, p.done = 0, 0
	return n
}

// step takes in what belongs to the current place. b is not empty.
func (p *parser) step(b []byte, authenticated bool) (int, *fault) {
	switch p.at {
	case atStart:
		if b[0] == '*' {
			p.at = inCount
			return 1, nil
		}
		p.at = inInline
		return 0, nil
	case inInline:
		return p.inline(b, authenticated)
	case inCount:
		n, v, ended, f := p.number(b, faultBigCount, faultMultibulkLength)
		if f == nil && ended {
			f = p.begin(v, authenticated)
		}
		return n, f
	case atDollar:
		if b[0] != '$' {
			return 0, faultExpectedDollar(b[0])
		}
		p.at = inLength
		return 1, nil
	case inLength:
		n, v, ended, f := p.number(b, faultBigLength, faultBulkLength)
		if f == nil && ended {
			f = p.beginBulk(v, authenticated)
		}
		return n, f
	default: // inBody
		return p.body(b)
	}
}

// number reads a decimal number and CR LF, and returns how many bytes it took.
// ended is false while the line has no end yet.
func (p *parser) number(b []byte, tooBig, invalid *fault) (used int, v int64, ended bool, f *fault) {
	for i, c := range b {
		switch {
		case p.cr:
			v, ok := strictInt(p.num[:min(p.digits, len(p.num))])
			if c != '\n' || !ok || p.digits > len(p.num) {
				return i, 0, false, invalid
			}
			p.cr, p.digits = false, 0
			return i + 1, v, true, nil
		case c == '\r':
			p.cr = true
		default:
			if p.digits < len(p.num) {
				p.num[p.digits] = c
			}
			p.digits++
			if 1+p.digits > p.limits.Line { // the * or $ counts, as in Redis
				return i, 0, false, tooBig
			}
		}
	}
	return len(b), 0, false, nil
}

// strictInt reads a number as Redis does: no plus sign, no leading zeros, no -0.
func strictInt(b []byte) (int64, bool) {
	digits := bytes.TrimPrefix(b, []byte{'-'})
	if len(digits) == 0 || digits[0] < '0' || digits[0] > '9' || (digits[0] == '0' && len(b) > 1) {
		return 0, false
	}
	v, err := strconv.ParseInt(string(b), 10, 64)
	return v, err == nil
}

// begin starts an array of count arguments. An empty or null array is no command
// and is passed over.
func (p *parser) begin(count int64, authenticated bool) *fault {
	switch {
	case count > math.MaxInt32:
		return faultMultibulkLength
	case !authenticated && count > int64(p.limits.Before.Args):
		return faultUnauthMultibulk
	case authenticated && count > int64(p.limits.After.Args):
		return faultMultibulkLength
	case count <= 0:
		p.at = atStart
		return nil
	}
	p.args = int(count)
	p.header('*', count)
	p.at = atDollar
	return nil
}

func (p *parser) beginBulk(length int64, authenticated bool) *fault {
	size := p.limits.After
	if !authenticated {
		size = p.limits.Before
	}
	switch {
	case length < 0 || length > maxBulk:
		return faultBulkLength
	case !authenticated && length > int64(size.Bulk):
		return faultUnauthBulk
	case length > int64(size.Bulk):
		return faultBulkLength
	}
	p.header('$', length)
	p.left = int(length) + 2
	if len(p.out)-p.done+p.left > size.Command {
		return faultBigCommand
	}
	p.at = inBody
	return nil
}

// body takes in bytes of an argument, or one byte of the CR LF after it.
func (p *parser) body(b []byte) (int, *fault) {
	n := min(len(b), p.left-2)
	if n <= 0 {
		if n = 1; b[0] != "\n\r"[p.left-1] {
			return 0, faultBulkLength
		}
	}
	p.out = append(p.out, b[:n]...)
	p.left -= n
	if p.left > 0 {
		return n, nil
	}
	p.args--
	p.at = atDollar
	if p.args == 0 {
		p.end()
	}
	return n, nil
}

// end marks what has been put together as a whole command.
func (p *parser) end() {
	p.done = len(p.out)
	p.at = atStart
}

func (p *parser) header(kind byte, n int64) {
	p.out = append(p.out, kind)
	p.out = strconv.AppendInt(p.out, n, 10)
	p.out = append(p.out, '\r', '\n')
}
