package lua

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// A directive is one %-item of string.format.
type directive struct {
	flags     string
	width     int
	precision int // -1: none given
	verb      byte
}

// stringFormat is Lua 5.1's string.format: C's printf for %c d i o u x X e E f g G
// s q, with widths and precisions of up to 99.
func stringFormat(c call) int {
	format := c.text(1)
	var out strings.Builder
	argument := 1
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			out.WriteByte(format[i])
			continue
		}
		if i++; i < len(format) && format[i] == '%' {
			out.WriteByte('%')
			continue
		}
		argument++
		var d directive
		d, i = c.directive(format, i)
		text := c.formatOne(d, argument)
		c.pay(2+len(text)/64, 0)
		if out.Len()+len(text) > c.limits.MaxString {
			c.payText(out.Len() + len(text))
		}
		out.WriteString(text)
	}
	return c.pushText(out.String())
}

// directive reads a directive after its %; the index it returns is the verb's.
func (c call) directive(format string, i int) (d directive, at int) {
	start := i
	for i < len(format) && strings.IndexByte("-+ #0", format[i]) >= 0 {
		i++
	}
	d.flags = format[start:i]
	if len(d.flags) > 5 {
		c.raise("invalid format (repeated flags)")
	}
	digits := func() int {
		from := i
		for i < len(format) && i < from+2 && format[i] >= '0' && format[i] <= '9' {
			i++
		}
		n, _ := strconv.Atoi(format[from:i])
		return n
	}
	d.width, d.precision = digits(), -1
	if i < len(format) && format[i] == '.' {
		i++
		d.precision = digits()
	}
	if i < len(format) && format[i] >= '0' && format[i] <= '9' {
		c.raise("invalid format (width or precision too long)")
	}
	if i >= len(format) || strings.IndexByte("cdiouxXeEfgGqs", format[i]) < 0 {
		verb := ""
		if i < len(format) {
			verb = format[i : i+1]
		}
		c.raise("invalid option '%%%s' to 'format'", verb)
	}
	d.verb = format[i]
	return d, i
}

func (c call) formatOne(d directive, n int) string {
	if n > c.L.GetTop() {
		if d.verb == 's' || d.verb == 'q' {
			c.badArgument(n, "no value")
		}
		c.badArgument(n, "number expected, got no value")
	}
	switch d.verb {
	case 's':
		text := c.text(n)
		if d.precision < 0 && len(text) >= 100 {
			return text // Lua does not give these to C, which ends a text at its first NUL
		}
		text = untilNUL(text)
		if d.precision >= 0 {
			text = text[:min(d.precision, len(text))]
		}
		return d.pad(text)
	case 'q':
		return quote(c.text(n))
	case 'c':
		return untilNUL(d.pad(string([]byte{byte(c.integer(n))})))
	case 'd', 'i':
		return d.number("d", toInteger(c.number(n)))
	case 'u', 'o', 'x', 'X':
		return d.unsigned(toUnsigned(c.number(n)))
	}
	f := c.number(n)
	if math.IsInf(f, 0) || math.IsNaN(f) {
		text := formatG(f, 6)
		switch {
		case text[0] == '-':
		case strings.Contains(d.flags, "+"):
			text = "+" + text
		case strings.Contains(d.flags, " "):
			text = " " + text
		}
		if d.verb < 'a' {
			text = strings.ToUpper(text)
		}
		return d.pad(text)
	}
	if d.precision < 0 {
		d.precision = 6
	}
	if d.precision == 0 && d.verb|0x20 == 'g' {
		d.precision = 1
	}
	return d.number(string(d.verb), f)
}

// unsigned formats as C, where such numbers have no sign, and 0 no prefix.
func (d directive) unsigned(value uint64) string {
	verb := strings.Replace(string(d.verb), "u", "d", 1)
	drop := "+ "
	if value == 0 && d.verb != 'o' {
		drop += "#"
	}
	d.flags = strings.Map(func(flag rune) rune {
		if strings.ContainsRune(drop, flag) {
			return -1
		}
		return flag
	}, d.flags)
	zeros := strings.Contains(d.flags, "0") && !strings.Contains(d.flags, "-")
	if zeros && strings.Contains(d.flags, "#") && verb != "o" && verb != "d" && d.precision < 0 {
		d.precision = max(1, d.width-len("0x")) // Go's width does not count the prefix
	}
	return d.number(verb, value)
}

// number formats by Go's verbs, which treat numbers as C's do.
func (d directive) number(verb string, value any) string {
	if d.precision == 0 && (value == int64(0) || value == uint64(0)) {
		return d.pad(d.noDigits(verb)) // Go leaves the sign out as well
	}
	var spec strings.Builder
	spec.WriteByte('%')
	flags := d.flags
	if d.precision >= 0 && (verb == "d" || verb == "o" || verb == "x" || verb == "X") {
		flags = strings.ReplaceAll(flags, "0", "") // C: a precision switches 0 off
	}
	spec.WriteString(flags)
	if d.width > 0 {
		spec.WriteString(strconv.Itoa(d.width))
	}
	if d.precision >= 0 {
		spec.WriteString("." + strconv.Itoa(d.precision))
	}
	return fmt.Sprintf(spec.String()+verb, value)
}

// noDigits is a zero of which no digit was asked for.
func (d directive) noDigits(verb string) string {
	switch {
	case verb == "o" && strings.Contains(d.flags, "#"):
		return "0"
	case strings.Contains(d.flags, "+"):
		return "+"
	case strings.Contains(d.flags, " "):
		return " "
	}
	return ""
}

// untilNUL is the text as C sees it.
func untilNUL(text string) string {
	text, _, _ = strings.Cut(text, "\x00")
	return text
}

// pad fills up with blanks, counting bytes.
func (d directive) pad(text string) string {
	blanks := strings.Repeat(" ", max(0, d.width-len(text)))
	if strings.Contains(d.flags, "-") {
		return text + blanks
	}
	return blanks + text
}

// quote writes a text so that Lua can read it again.
func quote(text string) string {
	var out strings.Builder
	out.WriteByte('"')
	for i := 0; i < len(text); i++ {
		switch b := text[i]; b {
		case '"', '\\', '\n':
			out.WriteByte('\\')
			out.WriteByte(b)
		case '\r':
			out.WriteString(`\r`)
		case 0:
			out.WriteString(`\000`)
		default:
			out.WriteByte(b)
		}
	}
	out.WriteByte('"')
	return out.String()
}
