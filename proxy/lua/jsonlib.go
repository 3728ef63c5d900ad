package lua

import (
	"math"
	"strconv"
	"strings"

	gl "github.com/yuin/gopher-lua"
)

// maxJSONDepth bounds nesting in both directions, as in cjson.
const maxJSONDepth = 1000

// jsonLibrary is cjson with encode, decode and null, in cjson's default settings,
// which cannot be changed.
func (v *vm) jsonLibrary() *gl.LTable {
	t := v.library(map[string]func(call) int{"encode": jsonEncode, "decode": jsonDecode})
	v.jsonNull = &gl.LUserData{Metatable: gl.LNil}
	t.RawSetString("null", v.jsonNull)
	t.RawSetString("_NAME", gl.LString("cjson"))
	t.RawSetString("_VERSION", gl.LString("2.1.0"))
	return t
}

func jsonEncode(c call) int {
	if c.L.GetTop() != 1 {
		c.badArgument(1, "expected 1 argument")
	}
	var out strings.Builder
	c.encode(&out, c.L.Get(1), 0)
	return c.pushText(out.String())
}

func (c call) encode(out *strings.Builder, value gl.LValue, depth int) {
	c.pay(2, 32)
	if out.Len() > c.limits.MaxString {
		c.payText(out.Len())
	}
	switch x := value.(type) {
	case gl.LString:
		c.pay(len(x)/16, len(x))
		encodeString(out, string(x))
	case gl.LNumber:
		if f := float64(x); math.IsInf(f, 0) || math.IsNaN(f) {
			c.raise("Cannot serialise number: must not be NaN or Inf")
		}
		out.WriteString(formatNumber(float64(x)))
	case gl.LBool:
		out.WriteString(strconv.FormatBool(bool(x)))
	case *gl.LNilType:
		out.WriteString("null")
	case *gl.LTable:
		if depth >= maxJSONDepth {
			c.raise("Cannot serialise, excessive nesting (%d)", depth+1)
		}
		c.encodeTable(out, c.shown(x), depth+1)
	default:
		if value == c.jsonNull {
			out.WriteString("null")
			return
		}
		c.raise("Cannot serialise %s: type not supported", value.Type())
	}
}

func (c call) encodeTable(out *strings.Builder, t *gl.LTable, depth int) {
	if n := c.jsonLength(t); n > 0 {
		out.WriteByte('[')
		for i := 1; i <= n; i++ {
			if i > 1 {
				out.WriteByte(',')
			}
			c.encode(out, t.RawGetInt(i), depth)
		}
		out.WriteByte(']')
		return
	}
	out.WriteByte('{')
	first := true
	for key, value := t.Next(gl.LNil); key != gl.LNil; key, value = t.Next(key) {
		text, ok := toText(key)
		if !ok {
			c.raise("Cannot serialise table: table key must be a number or string")
		}
		if !first {
			out.WriteByte(',')
		}
		first = false
		encodeString(out, text)
		out.WriteByte(':')
		c.encode(out, value, depth)
	}
	out.WriteByte('}')
}

// jsonLength is the length of a table that is a list, or 0 for one that is not. A
// list with more than ten elements that is mostly holes is refused.
func (c call) jsonLength(t *gl.LTable) int {
	longest, count := 0, 0
	for key, _ := t.Next(gl.LNil); key != gl.LNil; key, _ = t.Next(key) {
		n, ok := key.(gl.LNumber)
		if !ok || float64(n) != math.Trunc(float64(n)) || n < 1 || n > 1<<31 {
			return 0
		}
		count++
		longest = max(longest, int(n))
	}
	c.pay(count/8, 0)
	if longest > 10 && longest > 2*count {
		c.raise("Cannot serialise table: excessively sparse array")
	}
	return longest
}

func encodeString(out *strings.Builder, s string) {
	out.WriteByte('"')
	for i := 0; i < len(s); i++ {
		b := s[i]
		if escape := strings.IndexByte("\"\\/\b\f\n\r\t", b); escape >= 0 {
			out.WriteByte('\\')
			out.WriteByte(`"\/bfnrt`[escape])
			continue
		}
		if b < ' ' || b == 0x7f {
			const hex = "0123456789abcdef"
			out.WriteString(`\u00` + string([]byte{hex[b>>4], hex[b&15]}))
			continue
		}
		out.WriteByte(b)
	}
	out.WriteByte('"')
}

func jsonDecode(c call) int {
	if c.L.GetTop() != 1 {
		c.badArgument(1, "expected 1 argument")
	}
	d := &jsonReader{call: c, text: c.text(1)}
	value := d.value(0)
	if d.blanks(); d.at < len(d.text) {
		d.fail("Expected the end")
	}
	return c.push(value)
}

// A jsonReader reads JSON into Lua's values, and any bytes in strings as they are.
type jsonReader struct {
	call
	text string
	at   int
}

func (d *jsonReader) fail(expected string) {
	found := "invalid token"
	if d.at >= len(d.text) {
		found = "T_END"
	}
	d.raise("%s but found %s at character %d", expected, found, d.at+1)
}

func (d *jsonReader) blanks() {
	for d.at < len(d.text) && strings.IndexByte(" \t\r\n", d.text[d.at]) >= 0 {
		d.at++
	}
}

// take takes one byte if it comes next.
func (d *jsonReader) take(b byte) bool {
	if d.blanks(); d.at < len(d.text) && d.text[d.at] == b {
		d.at++
		return true
	}
	return false
}

// word takes a word if it comes next.
func (d *jsonReader) word(w string) bool {
	if !strings.HasPrefix(d.text[d.at:], w) {
		return false
	}
	d.at += len(w)
	return true
}

func (d *jsonReader) value(depth int) gl.LValue {
	d.pay(2, 32)
	switch {
	case d.take('{'):
		d.descend(depth + 1)
		return d.object(depth + 1)
	case d.take('['):
		d.descend(depth + 1)
		return d.array(depth + 1)
	case d.take('"'):
		return gl.LString(d.str("value"))
	}
	switch {
	case d.word("true"):
		return gl.LTrue
	case d.word("false"):
		return gl.LFalse
	case d.word("null"):
		return d.jsonNull
	}
	return d.number()
}

// descend is asked behind the bracket that begins a level.
func (d *jsonReader) descend(depth int) {
	if depth > maxJSONDepth {
		d.raise("Found too many nested data structures (%d) at character %d", depth, d.at)
	}
}

// number reads what cjson takes for one: all that C's strtod does, but for a point in front.
func (d *jsonReader) number() gl.LValue {
	rest := d.text[d.at:]
	if rest == "" || strings.IndexByte("+-0123456789", rest[0]) < 0 && !foldPrefix(rest, "inf") && !foldPrefix(rest, "nan") {
		d.fail("Expected value")
	}
	f, size := strtod(rest)
	if size == 0 {
		d.broken("value", "invalid number", d.at)
	}
	d.pay(size/16, 0)
	d.at += size
	return gl.LNumber(f)
}

func (d *jsonReader) array(depth int) gl.LValue {
	d.pay(1, tableBytes)
	t := d.L.NewTable()
	if d.take(']') {
		return t
	}
	for i := 1; ; i++ {
		d.store(t, gl.LNumber(i), d.value(depth))
		switch {
		case d.take(']'):
			return t
		case !d.take(','):
			d.fail("Expected comma or array end")
		}
	}
}

func (d *jsonReader) object(depth int) gl.LValue {
	d.pay(1, tableBytes)
	t := d.L.NewTable()
	if d.take('}') {
		return t
	}
	for {
		if !d.take('"') {
			d.fail("Expected object key string")
		}
		key := d.str("object key string")
		if !d.take(':') {
			d.fail("Expected colon")
		}
		d.store(t, gl.LString(key), d.value(depth))
		switch {
		case d.take('}'):
			return t
		case !d.take(','):
			d.fail("Expected comma or object end")
		}
	}
}

// str reads a string after its opening quote; expected is what it is to be.
func (d *jsonReader) str(expected string) string {
	var out strings.Builder
	for d.at < len(d.text) {
		b := d.text[d.at]
		d.at++
		switch {
		case b == '"':
			d.payText(out.Len())
			return out.String()
		case b != '\\':
			out.WriteByte(b)
		case d.at < len(d.text) && d.text[d.at] == 'u':
			r, size := codePoint(d.text[d.at+1:])
			if size == 0 {
				d.broken(expected, "invalid unicode escape code", d.at-1)
			}
			out.WriteRune(r)
			d.at += 1 + size
		default:
			i := -1
			if d.at < len(d.text) {
				i = strings.IndexByte(`"\/bfnrt`, d.text[d.at])
			}
			if i < 0 {
				d.broken(expected, "invalid escape code", d.at-1)
			}
			out.WriteByte("\"\\/\b\f\n\r\t"[i])
			d.at++
		}
	}
	d.broken(expected, "unexpected end of string", d.at)
	return ""
}

// broken raises the error for a token that begins well; at is the fault's place.
func (d *jsonReader) broken(expected, found string, at int) {
	d.raise("Expected %s but found %s at character %d", expected, found, at+1)
}
