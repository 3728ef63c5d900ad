package lua

import (
	"strings"

	gl "github.com/yuin/gopher-lua"
)

// Lua's patterns can take exponential time: "a?" thirty times and then "a" thirty
// times does on thirty letters. A matcher therefore counts every comparison, and
// pays for each few of them one step.
const (
	comparisonsPerStep = 16
	maxCaptures        = 32
	// maxMatchDepth bounds how deep a match recurses; one level for each repeated
	// or captured item of the pattern.
	maxMatchDepth = 200
)

// The length of a capture that has no length yet, or is a position.
const (
	captureOpen     = -1
	capturePosition = -2
)

// A matcher matches one pattern against one text.
type matcher struct {
	call
	subject, pattern string
	anchored         bool
	level            int // captures so far
	captures         [maxCaptures]struct{ start, length int }
	depth            int
	compared         int
}

func newMatcher(c call, subject, pattern string) *matcher {
	c.pay(2, 768)
	m := &matcher{call: c, subject: subject}
	m.pattern, m.anchored = strings.CutPrefix(pattern, "^")
	return m
}

func (m *matcher) begin() { m.level, m.depth = 0, 0 }

// search looks for the first match from *start on. It returns its end, and moves
// *start to where it begins; -1 if there is none.
func (m *matcher) search(start *int) int {
	for at := *start; at <= len(m.subject); at++ {
		m.begin()
		if end := m.match(at, 0); end >= 0 {
			*start = at
			return end
		}
		if m.anchored {
			break
		}
	}
	return -1
}

func (m *matcher) count() {
	if m.compared++; m.compared%comparisonsPerStep == 0 {
		m.pay(1, 0)
	}
}

// match matches the pattern from p on against the text from s on, and returns the
// end of the match, or -1.
func (m *matcher) match(s, p int) int {
	if m.depth++; m.depth > maxMatchDepth {
		m.raise("pattern too complex")
	}
	defer func() { m.depth-- }()
	for p < len(m.pattern) {
		m.count()
		switch m.pattern[p] {
		case '(':
			if p+1 < len(m.pattern) && m.pattern[p+1] == ')' {
				return m.open(s, p+2, capturePosition)
			}
			return m.open(s, p+1, captureOpen)
		case ')':
			return m.close(s, p+1)
		case '$':
			if p+1 == len(m.pattern) {
				if s == len(m.subject) {
					return s
				}
				return -1
			}
		case '%':
			if p+1 < len(m.pattern) {
				next, done := m.special(s, p)
				if done {
					return next.end
				}
				if next.p > 0 {
					s, p = next.s, next.p
					continue
				}
			}
		}
		end := m.itemEnd(p)
		suffix := byte(0)
		if end < len(m.pattern) {
			suffix = m.pattern[end]
		}
		switch suffix {
		case '?':
			if m.one(s, p, end) {
				if r := m.match(s+1, end+1); r >= 0 {
					return r
				}
			}
			p = end + 1
		case '*':
			return m.most(s, p, end, 0)
		case '+':
			return m.most(s, p, end, 1)
		case '-':
			return m.least(s, p, end)
		default:
			if !m.one(s, p, end) {
				return -1
			}
			s, p = s+1, end
		}
	}
	return s
}

// A step is where matching goes on, or how it ended.
type step struct{ s, p, end int }

// special matches %b, %f and %1 to %9. It says where to go on, or that the match
// ends; a step without p is for anything else.
func (m *matcher) special(s, p int) (step, bool) {
	switch c := m.pattern[p+1]; {
	case c == 'b':
		end := m.balance(s, p+2)
		return step{s: end, p: p + 4, end: -1}, end < 0
	case c == 'f':
		return m.frontier(s, p+2)
	case c >= '0' && c <= '9':
		i := int(c - '1')
		if i < 0 || i >= m.level || m.captures[i].length == captureOpen {
			m.raise("invalid capture index")
		}
		k := m.captures[i]
		text := m.subject[k.start : k.start+max(k.length, 0)]
		m.pay(len(text)/256, 0)
		if !strings.HasPrefix(m.subject[s:], text) {
			return step{end: -1}, true
		}
		return step{s: s + len(text), p: p + 2}, false
	}
	return step{}, false
}

// balance matches %bxy and returns the end, or -1.
func (m *matcher) balance(s, p int) int {
	if p+1 >= len(m.pattern) {
		m.raise("unbalanced pattern")
	}
	opens, closes := m.pattern[p], m.pattern[p+1]
	if s >= len(m.subject) || m.subject[s] != opens {
		return -1
	}
	for depth := 1; ; {
		if s++; s >= len(m.subject) {
			return -1
		}
		m.count()
		switch m.subject[s] {
		case closes:
			if depth--; depth == 0 {
				return s + 1
			}
		case opens:
			depth++
		}
	}
}

// frontier matches %f[set]: between a byte outside the set and one inside it.
func (m *matcher) frontier(s, p int) (step, bool) {
	if p >= len(m.pattern) || m.pattern[p] != '[' {
		m.raise("missing '[' after '%%f' in pattern")
	}
	end := m.itemEnd(p)
	var before, after byte
	if s > 0 {
		before = m.subject[s-1]
	}
	if s < len(m.subject) {
		after = m.subject[s]
	}
	if m.inSet(before, p, end-1) || !m.inSet(after, p, end-1) {
		return step{end: -1}, true
	}
	return step{s: s, p: end}, false
}

// most matches the item as often as it can, at least least times, then the rest.
func (m *matcher) most(s, p, end, least int) int {
	n := 0
	for m.one(s+n, p, end) {
		n++
	}
	for ; n >= least; n-- {
		if r := m.match(s+n, end+1); r >= 0 {
			return r
		}
	}
	return -1
}

// least matches the item as rarely as it can, then the rest.
func (m *matcher) least(s, p, end int) int {
	for {
		if r := m.match(s, end+1); r >= 0 {
			return r
		}
		if !m.one(s, p, end) {
			return -1
		}
		s++
	}
}

func (m *matcher) open(s, p, kind int) int {
	if m.level >= maxCaptures {
		m.raise("too many captures")
	}
	m.captures[m.level].start, m.captures[m.level].length = s, kind
	m.level++
	r := m.match(s, p)
	if r < 0 {
		m.level--
	}
	return r
}

func (m *matcher) close(s, p int) int {
	for i := m.level - 1; i >= 0; i-- {
		if m.captures[i].length != captureOpen {
			continue
		}
		m.captures[i].length = s - m.captures[i].start
		r := m.match(s, p)
		if r < 0 {
			m.captures[i].length = captureOpen
		}
		return r
	}
	m.raise("invalid pattern capture")
	return -1
}

// capture is the value of capture i; capture 0 of a pattern without captures is
// the whole match.
func (m *matcher) capture(i, start, end int) gl.LValue {
	if i >= m.level {
		if i != 0 {
			m.raise("invalid capture index")
		}
		return gl.LString(m.subject[start:end])
	}
	k := m.captures[i]
	switch k.length {
	case captureOpen:
		m.raise("unfinished capture")
	case capturePosition:
		return gl.LNumber(k.start + 1)
	}
	return gl.LString(m.subject[k.start : k.start+k.length])
}

// pushCaptures returns all captures, or the whole match if there are none and it
// is asked for.
func (m *matcher) pushCaptures(start, end int, whole bool) int {
	n := m.level
	if n == 0 && whole {
		n = 1
	}
	m.pay(n, 16*n)
	for i := 0; i < n; i++ {
		m.L.Push(m.capture(i, start, end))
	}
	return n
}
