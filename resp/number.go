package resp

import "math"

// Integer reads a number as Redis does; see parseInt. False means that it is none,
// or is beyond 64 bits.
func Integer(s string) (int64, bool) { return parseInt(s) }

// parseInt reads a number as Redis does: an optional minus sign and decimal
// digits, no plus sign, no leading zero, no minus zero, no blanks, within 64
// bits. A number that a client may write in two ways would be two values to
// whoever compares texts.
func parseInt(s string) (int64, bool) {
	digits, negative := s, false
	if len(s) > 0 && s[0] == '-' {
		digits, negative = s[1:], true
	}
	if digits == "" || len(digits) > 19 {
		return 0, false
	}
	if digits[0] == '0' {
		return 0, len(s) == 1
	}
	var n uint64 // 19 digits always fit
	for i := range len(digits) {
		d := digits[i] - '0'
		if d > 9 {
			return 0, false
		}
		n = n*10 + uint64(d)
	}
	if negative {
		if n > math.MaxInt64+1 {
			return 0, false
		}
		return -int64(n), true
	}
	if n > math.MaxInt64 {
		return 0, false
	}
	return int64(n), true
}
