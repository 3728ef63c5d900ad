package lua

import (
	"math"
	"strconv"
	"strings"

	gl "github.com/yuin/gopher-lua"
)

// luaText gives the messages of gopher-lua's own instructions the words of Lua
// 5.1, as far as that can be told from the message: Lua also names the variable,
// which the message does not.
func luaText(message string) string {
	place, text := "", message
	if i := strings.Index(message, ": "); i >= 0 {
		place, text = message[:i+2], message[i+2:]
	}
	if changed, ok := machineText(text); ok {
		return place + changed
	}
	return message
}

func machineText(text string) (string, bool) {
	switch {
	case text == "attempt to call a non-function object":
		return "attempt to call a value that is not a function", true
	case strings.HasPrefix(text, "attempt to index a non-table object("):
		kind, _, _ := strings.Cut(text[len("attempt to index a non-table object("):], ")")
		return "attempt to index a " + kind + " value", true
	case strings.HasPrefix(text, "attempt to compare "):
		a, b, ok := strings.Cut(text[len("attempt to compare "):], " with ")
		return "attempt to compare two " + a + " values", ok && a == b
	case strings.HasPrefix(text, "cannot perform concat operation between "):
		a, b, ok := strings.Cut(text[len("cannot perform concat operation between "):], " and ")
		if a == "string" || a == "number" {
			a = b
		}
		return "attempt to concatenate a " + a + " value", ok
	case strings.HasPrefix(text, "cannot perform "):
		_, pair, _ := strings.Cut(text, " operation between ")
		a, b, ok := strings.Cut(pair, " and ")
		if a == "number" {
			a = b
		}
		return arithmeticText(a), ok
	case text == "registry overflow":
		return "stack overflow", true
	case text == "__unm undefined":
		return "attempt to perform arithmetic on a non-number value", true
	case text == "__len undefined":
		return "attempt to get length of a value without one", true
	case strings.HasPrefix(text, "for statement "):
		what, _, ok := strings.Cut(text[len("for statement "):], " must")
		if what == "init" {
			what = "initial"
		}
		if what == "initial" {
			return "'for' initial value must be a number", ok
		}
		return "'for' " + what + " must be a number", ok
	}
	return "", false
}

func arithmeticText(kind string) string {
	return "attempt to perform arithmetic on a " + kind + " value"
}

// formatNumber writes a number as Lua 5.1 does wherever it turns one into text:
// C's %.14g.
func formatNumber(f float64) string { return formatG(f, 14) }

// formatG is C's %.<digits>g.
func formatG(f float64, digits int) string {
	switch {
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	case math.IsNaN(f):
		if math.Signbit(f) {
			return "-nan"
		}
		return "nan"
	case f == math.Trunc(f) && math.Abs(f) < 1e14 && (f != 0 || !math.Signbit(f)):
		return strconv.FormatInt(int64(f), 10)
	}
	return strconv.FormatFloat(f, 'g', digits, 64)
}

// parseNumber reads a number as Lua 5.1 does: what C's strtod takes (hexadecimal
// whole numbers included), with blanks around it.
func parseNumber(s string) (float64, bool) {
	const blanks = " \t\n\v\f\r"
	s = strings.Trim(s, blanks)
	if s == "" || strings.Contains(s, "_") {
		return 0, false
	}
	digits := strings.TrimLeft(s, "+-")
	if len(s)-len(digits) > 1 {
		return 0, false
	}
	if len(digits) > 1 && digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X') && !strings.ContainsAny(digits, "pP") {
		s += "p0"
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil && !math.IsInf(f, 0) {
		return 0, false
	}
	return f, true
}

// toNumber is the number that a value is, or can be read as.
func toNumber(v gl.LValue) (float64, bool) {
	switch x := v.(type) {
	case gl.LNumber:
		return float64(x), true
	case gl.LString:
		return parseNumber(string(x))
	}
	return 0, false
}

// toText is the text that a string or number stands for.
func toText(v gl.LValue) (string, bool) {
	switch x := v.(type) {
	case gl.LString:
		return string(x), true
	case gl.LNumber:
		return formatNumber(float64(x)), true
	}
	return "", false
}

// toInteger drops the fraction. What a 64-bit integer cannot hold becomes the
// smallest one, as on the processors that Redis runs on.
func toInteger(f float64) int64 {
	if f >= -(1<<63) && f < 1<<63 {
		return int64(f)
	}
	return math.MinInt64
}

// toUnsigned is what C makes of a number where it takes no sign, on the machines that
// Redis mostly runs on.
func toUnsigned(f float64) uint64 {
	const half = 1 << 63
	if f >= half {
		return uint64(toInteger(f-half)) ^ half
	}
	return uint64(toInteger(f))
}
