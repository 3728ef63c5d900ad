package guard

import "bytes"

// inline takes in a line that is no array, as people and health checks send it,
// and turns it into one when it has ended. A blank line is no command.
func (p *parser) inline(b []byte, authenticated bool) (int, *fault) {
	end := bytes.IndexByte(b, '\n')
	part := b
	if end >= 0 {
		part = b[:end]
	}
	if len(p.out)-p.done+len(part) > p.limits.Line {
		return 0, faultBigInline
	}
	if bytes.IndexByte(part, 0) >= 0 {
		return 0, faultNUL
	}
	p.out = append(p.out, part...)
	if end < 0 {
		return len(b), nil
	}
	line := bytes.TrimSuffix(p.out[p.done:], []byte{'\r'})
	size, tooMany := p.limits.After, faultBigInline
	if !authenticated {
		size, tooMany = p.limits.Before, faultUnauthMultibulk
	}
	words, ok := splitWords(line, size.Args+1)
	switch {
	case !ok:
		return end, faultQuotes
	case len(words) > 0 && crossProtocol(words[0]):
		return end, faultCrossProtocol
	case len(words) > size.Args:
		return end, tooMany
	}
	p.out = p.out[:p.done]
	if len(words) > 0 {
		p.header('*', int64(len(words)))
	}
	for _, w := range words {
		p.header('$', int64(len(w)))
		p.out = append(p.out, w...)
		p.out = append(p.out, '\r', '\n')
	}
	if len(p.out)-p.done > size.Command {
		return end, faultBigCommand
	}
	p.end()
	return end + 1, nil
}

// crossProtocol recognises a web page that makes a browser send HTTP to us. Its
// body, which the page may choose freely, must never be run as commands.
func crossProtocol(name []byte) bool {
	return bytes.EqualFold(name, []byte("POST")) || bytes.EqualFold(name, []byte("Host:"))
}

// splitWords splits a line into words by the rules that Redis and redis-cli use:
// words are separated by white space; a part in double quotes may hold white
// space and the escapes \n \r \t \b \a \xHH and \ before any other byte; a part
// in single quotes only the escape \'. A quoted part may begin inside a word, but
// ends it. ok is false if a quote has no end or is followed by something else
// than white space. No more than most words are read.
func splitWords(line []byte, most int) (words [][]byte, ok bool) {
	for len(words) < most {
		line = bytes.TrimLeft(line, whiteSpace)
		if len(line) == 0 {
			break
		}
		word, rest, ok := nextWord(line)
		if !ok {
			return nil, false
		}
		words = append(words, word)
		line = rest
	}
	return words, true
}

// whiteSpace is what C's isspace accepts in the C locale.
const whiteSpace = " \t\n\v\f\r"

func nextWord(line []byte) (word, rest []byte, ok bool) {
	word = []byte{}
	for i, c := range line {
		switch c {
		// A vertical tab or a form feed separates words only at their start or
		// after a quote; that is so in Redis, too.
		case ' ', '\t', '\n', '\r':
			return word, line[i:], true
		case '"', '\'':
			quoted, rest, ok := quotedPart(line[i+1:], c)
			if ok && len(rest) > 0 && bytes.IndexByte([]byte(whiteSpace), rest[0]) < 0 {
				ok = false
			}
			return append(word, quoted...), rest, ok
		default:
			word = append(word, c)
		}
	}
	return word, nil, true
}

// quotedPart reads up to the closing quote and returns what follows it.
func quotedPart(b []byte, quote byte) (part, rest []byte, ok bool) {
	for len(b) > 0 {
		switch {
		case b[0] == quote:
			return part, b[1:], true
		case quote == '\'' && len(b) > 1 && b[0] == '\\' && b[1] == '\'':
			part, b = append(part, '\''), b[2:]
		case quote == '"' && len(b) > 1 && b[0] == '\\':
			c, n := escaped(b)
			part, b = append(part, c), b[n:]
		default:
			part, b = append(part, b[0]), b[1:]
		}
	}
	return nil, nil, false
}

// escaped reads one escape of a double quoted part: b is a backslash and more.
func escaped(b []byte) (c byte, n int) {
	if len(b) >= 4 && b[1] == 'x' {
		high, low := hexDigit(b[2]), hexDigit(b[3])
		if high >= 0 && low >= 0 {
			return byte(high<<4 | low), 4
		}
	}
	switch b[1] {
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case 'b':
		return '\b', 2
	case 'a':
		return '\a', 2
	}
	return b[1], 2
}

// hexDigit is the value of a hexadecimal digit, -1 for any other byte.
func hexDigit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}
