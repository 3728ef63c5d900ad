package lua

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// strtod is C's: the number that a text begins with, and its length; 0 if there is none.
func strtod(text string) (f float64, size int) {
	i := 0
	if text != "" && (text[0] == '-' || text[0] == '+') {
		i++
	}
	sign, rest := text[:i], text[i:]
	switch {
	case foldPrefix(rest, "nan"):
		f = math.NaN()
		if sign == "-" {
			f = math.Copysign(f, -1)
		}
		return f, i + len("nan") + nanTail(rest[len("nan"):])
	case foldPrefix(rest, "infinity"):
		size = i + len("infinity")
	case foldPrefix(rest, "inf"):
		size = i + len("inf")
	case foldPrefix(rest, "0x"):
		if n := digits(rest[2:], "0123456789abcdefABCDEF", "pP"); n > 0 {
			size = i + 2 + n
			exponent := ""
			if !strings.ContainsAny(text[:size], "pP") {
				exponent = "p0" // which Go wants
			}
			f, _ = strconv.ParseFloat(text[:size]+exponent, 64)
			return f, size
		}
		return 0, i + 1
	default:
		if n := digits(rest, "0123456789", "eE"); n > 0 {
			size = i + n
		}
	}
	f, _ = strconv.ParseFloat(text[:size], 64) // infinite if it is out of range
	return f, size
}

// digits is the length of digits with a point and an exponent, both optional.
func digits(text, of, exponent string) int {
	run := func(i int, of string) int {
		n := 0
		for i+n < len(text) && strings.IndexByte(of, text[i+n]) >= 0 {
			n++
		}
		return n
	}
	i := run(0, of)
	n := i
	if i < len(text) && text[i] == '.' {
		fraction := run(i+1, of)
		n += fraction
		i += 1 + fraction
	}
	if n == 0 {
		return 0
	}
	if i < len(text) && strings.IndexByte(exponent, text[i]) >= 0 {
		at := i + 1
		if at < len(text) && (text[at] == '-' || text[at] == '+') {
			at++
		}
		if n := run(at, "0123456789"); n > 0 {
			i = at + n
		}
	}
	return i
}

// nanTail is the length of what may follow a nan: letters, digits and _ in parentheses.
func nanTail(text string) int {
	if !strings.HasPrefix(text, "(") {
		return 0
	}
	end := strings.IndexFunc(text[1:], func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r|0x20 < 'a' || r|0x20 > 'z')
	})
	if end < 0 || text[1+end] != ')' {
		return 0
	}
	return end + 2
}

func foldPrefix(text, prefix string) bool {
	return len(text) >= len(prefix) && strings.EqualFold(text[:len(prefix)], prefix)
}

// codePoint reads the four digits behind a \u, and those of a second one if the first is
// half a pair. The size is 0 if there is no character.
func codePoint(text string) (r rune, size int) {
	unit := func(i int) (rune, bool) {
		if len(text) < i+4 {
			return 0, false
		}
		n, err := strconv.ParseUint(text[i:i+4], 16, 16)
		return rune(n), err == nil
	}
	first, ok := unit(0)
	if ok && !utf16.IsSurrogate(first) {
		return first, 4
	}
	if !ok || !strings.HasPrefix(text[4:], `\u`) {
		return 0, 0
	}
	second, _ := unit(6)
	if r = utf16.DecodeRune(first, second); r == utf8.RuneError {
		return 0, 0
	}
	return r, 10
}
