package lua

// itemEnd is where the single-byte item at p ends.
func (m *matcher) itemEnd(p int) int {
	first := m.pattern[p]
	p++
	switch first {
	case '%':
		if p >= len(m.pattern) {
			m.raise("malformed pattern (ends with '%%')")
		}
		return p + 1
	case '[':
		if p < len(m.pattern) && m.pattern[p] == '^' {
			p++
		}
		for first := true; first || p >= len(m.pattern) || m.pattern[p] != ']'; first = false {
			if p >= len(m.pattern) {
				m.raise("malformed pattern (missing ']')")
			}
			p++
			if m.pattern[p-1] == '%' && p < len(m.pattern) {
				p++
			}
		}
		return p + 1
	}
	return p
}

// one tells whether the byte at s matches the item from p to end.
func (m *matcher) one(s, p, end int) bool {
	m.count()
	if s >= len(m.subject) {
		return false
	}
	b := m.subject[s]
	switch m.pattern[p] {
	case '.':
		return true
	case '%':
		return inClass(b, m.pattern[p+1])
	case '[':
		return m.inSet(b, p, end-1)
	}
	return m.pattern[p] == b
}

// inSet tells whether b is in the set between the brackets at p and end.
func (m *matcher) inSet(b byte, p, end int) bool {
	p++
	wanted := true
	if m.pattern[p] == '^' {
		wanted = false
		p++
	}
	for ; p < end; p++ {
		m.count()
		switch {
		case m.pattern[p] == '%' && p+1 < end:
			p++
			if inClass(b, m.pattern[p]) {
				return wanted
			}
		case p+2 < end && m.pattern[p+1] == '-':
			if m.pattern[p] <= b && b <= m.pattern[p+2] {
				return wanted
			}
			p += 2
		case m.pattern[p] == b:
			return wanted
		}
	}
	return !wanted
}

// inClass tells whether b is in the class of a letter; any other character stands
// for itself.
func inClass(b, class byte) bool {
	letter := b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
	digit := b >= '0' && b <= '9'
	var in bool
	switch class | 0x20 {
	case 'a':
		in = letter
	case 'd':
		in = digit
	case 'l':
		in = b >= 'a' && b <= 'z'
	case 'u':
		in = b >= 'A' && b <= 'Z'
	case 's':
		in = b == ' ' || b >= '\t' && b <= '\r'
	case 'c':
		in = b < ' ' || b == 0x7f
	case 'p':
		in = b > ' ' && b < 0x7f && !letter && !digit
	case 'w':
		in = letter || digit
	case 'x':
		in = digit || b >= 'a' && b <= 'f' || b >= 'A' && b <= 'F'
	case 'z':
		in = b == 0
	default:
		return class == b
	}
	switch {
	case class >= 'a' && class <= 'z':
		return in
	case class >= 'A' && class <= 'Z':
		return !in
	}
	return class == b
}
