package lua

import (
	"strings"

	gl "github.com/yuin/gopher-lua"
)

// stringFunctions is Lua 5.1's string library but for string.dump. It is written
// anew here, since gopher-lua's own differs from Lua in many places and cannot be
// bounded.
func stringFunctions() map[string]func(call) int {
	return map[string]func(call) int{
		"byte": stringByte, "char": stringChar, "len": stringLen, "sub": stringSub,
		"lower": stringLower, "upper": stringUpper, "rep": stringRep, "reverse": stringReverse,
		"find": stringFind, "match": stringMatch, "gmatch": stringGMatch, "gfind": stringGMatch,
		"gsub": stringGSub, "format": stringFormat,
	}
}

// fromStart makes an index that counts from the end, if negative, count from the
// start.
func fromStart(i, length int) int {
	if i < 0 {
		i += length + 1
	}
	return max(i, 0)
}

func stringByte(c call) int {
	s := c.text(1)
	from := fromStart(c.optInteger(2, 1), len(s))
	to := min(fromStart(c.optInteger(3, from), len(s)), len(s))
	from = max(from, 1)
	if to-from >= maxUnpack {
		c.raise("string slice too long")
	}
	c.pay(max(0, to-from), 0)
	for i := from; i <= to; i++ {
		c.L.Push(gl.LNumber(s[i-1]))
	}
	return max(0, to-from+1)
}

func stringChar(c call) int {
	b := make([]byte, c.L.GetTop())
	for i := range b {
		n := c.integer(i + 1)
		if n < 0 || n > 255 {
			c.badArgument(i+1, "invalid value")
		}
		b[i] = byte(n)
	}
	return c.pushText(string(b))
}

func stringLen(c call) int { return c.push(gl.LNumber(len(c.text(1)))) }

func stringSub(c call) int {
	s := c.text(1)
	from := max(fromStart(c.integer(2), len(s)), 1)
	to := min(fromStart(c.optInteger(3, -1), len(s)), len(s))
	if from > to {
		return c.push(gl.LString(""))
	}
	c.pay(1, 16)
	return c.push(gl.LString(s[from-1 : to]))
}

// mapBytes changes the letters of ASCII only, as C does in Redis's locale.
func mapBytes(c call, from, to byte, add int) int {
	b := []byte(c.text(1))
	for i, x := range b {
		if x >= from && x <= to {
			b[i] = byte(int(x) + add)
		}
	}
	return c.pushText(string(b))
}

func stringLower(c call) int { return mapBytes(c, 'A', 'Z', 'a'-'A') }
func stringUpper(c call) int { return mapBytes(c, 'a', 'z', 'A'-'a') }

func stringRep(c call) int {
	s, n := c.text(1), c.integer(2)
	if n <= 0 || s == "" {
		return c.push(gl.LString(""))
	}
	if n > c.limits.MaxString {
		c.payText(c.limits.MaxString + 1)
	}
	c.payText(n * len(s))
	return c.push(gl.LString(strings.Repeat(s, n)))
}

func stringReverse(c call) int {
	s := c.text(1)
	b := make([]byte, len(s))
	for i := range b {
		b[i] = s[len(s)-1-i]
	}
	return c.pushText(string(b))
}

func stringFind(c call) int  { return findOrMatch(c, true) }
func stringMatch(c call) int { return findOrMatch(c, false) }

func findOrMatch(c call, find bool) int {
	s, pattern := c.text(1), c.text(2)
	start := min(max(fromStart(c.optInteger(3, 1), len(s)), 1)-1, len(s))
	if find && (gl.LVAsBool(c.L.Get(4)) || !strings.ContainsAny(pattern, "^$*+?.([%-")) {
		c.pay((len(s)-start)/64+1, 0)
		i := strings.Index(s[start:], pattern)
		if i < 0 {
			return c.push(gl.LNil)
		}
		return c.push(gl.LNumber(start+i+1), gl.LNumber(start+i+len(pattern)))
	}
	m := newMatcher(c, s, pattern)
	end := m.search(&start)
	if end < 0 {
		return c.push(gl.LNil)
	}
	if find {
		return c.push(gl.LNumber(start+1), gl.LNumber(end)) + m.pushCaptures(start, end, false)
	}
	return m.pushCaptures(start, end, true)
}

// stringGMatch returns an iterator. It is a function made during the run, which
// holds the text and the place in it.
func stringGMatch(c call) int {
	s, pattern := c.text(1), c.text(2)
	at := 0
	c.pay(1, closureBytes)
	return c.push(c.vm.function("gmatch", func(c call) int {
		if at > len(s) {
			return c.push(gl.LNil)
		}
		m := newMatcher(c, s, pattern)
		m.anchored, m.pattern = false, pattern // in gmatch ^ has no meaning of its own
		start := at
		end := m.search(&start)
		if end < 0 {
			at = len(s) + 1
			return c.push(gl.LNil)
		}
		at = end
		if end == start {
			at++
		}
		return m.pushCaptures(start, end, true)
	}))
}

func stringGSub(c call) int {
	s, pattern := c.text(1), c.text(2)
	replacement := c.L.Get(3)
	if text, ok := toText(replacement); ok {
		replacement = gl.LString(text)
	} else if k := replacement.Type(); k != gl.LTTable && k != gl.LTFunction {
		c.badArgument(3, "string/function/table expected")
	}
	most := c.optInteger(4, len(s)+1)
	m := newMatcher(c, s, pattern)
	var out strings.Builder
	at, count := 0, 0
	for count < most {
		m.begin()
		end := m.match(at, 0)
		if end >= 0 {
			count++
			m.replace(&out, replacement, at, end)
		}
		switch {
		case end > at:
			at = end
		case at < len(s):
			out.WriteByte(s[at])
			at++
		default:
			at = len(s) + 1
		}
		if at > len(s) || m.anchored {
			break
		}
	}
	if at < len(s) {
		out.WriteString(s[at:])
	}
	c.pushText(out.String())
	c.push(gl.LNumber(count))
	return 2
}

// replace writes what stands for one match.
func (m *matcher) replace(out *strings.Builder, replacement gl.LValue, start, end int) {
	c := m.call
	var value gl.LValue
	switch r := replacement.(type) {
	case gl.LString:
		m.expand(out, string(r), start, end)
		m.room(out)
		return
	case *gl.LTable:
		value = c.L.GetTable(r, m.capture(0, start, end))
	default:
		c.L.Push(r)
		n := m.pushCaptures(start, end, true)
		c.L.Call(n, 1)
		value = c.L.Get(-1)
		c.L.Pop(1)
	}
	if !gl.LVAsBool(value) {
		out.WriteString(m.subject[start:end])
		return
	}
	text, ok := toText(value)
	if !ok {
		c.raise("invalid replacement value (a %s)", value.Type())
	}
	out.WriteString(text)
	m.room(out)
}

// expand writes a replacement text with its %0 to %9.
func (m *matcher) expand(out *strings.Builder, r string, start, end int) {
	for i := 0; i < len(r); i++ {
		if r[i] != '%' {
			out.WriteByte(r[i])
			continue
		}
		i++
		switch {
		case i >= len(r):
			out.WriteByte(0) // Lua reads the byte that ends the text
		case r[i] == '0':
			out.WriteString(m.subject[start:end])
		case r[i] >= '1' && r[i] <= '9':
			text, _ := toText(m.capture(int(r[i]-'1'), start, end))
			out.WriteString(text)
		default:
			out.WriteByte(r[i])
		}
		m.room(out)
	}
}

// room ends the run if a result under construction is too long.
func (m *matcher) room(out *strings.Builder) {
	m.pay(1, 0)
	if out.Len() > m.limits.MaxString {
		m.payText(out.Len())
	}
}
