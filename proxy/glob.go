package proxy

import "strings"

// glob tells whether s matches a pattern, as Redis has them: * for any bytes, ? for one,
// [a-z] and [^a-z] for one of some, and a backslash before what is to be taken as it
// stands. Where no match is found it goes back to the last star only, which is enough,
// so a pattern takes no longer than its length times that of s, and what a client sends is
// no longer than resp.MaxPattern.
func glob(pattern, s string) bool {
	star, retry := -1, 0 // where to go on after the last star, and with what of s
	p, i := 0, 0
	for i < len(s) {
		if p < len(pattern) && pattern[p] == '*' {
			p++
			star, retry = p, i
			continue
		}
		if n, ok := one(pattern[p:], s[i]); ok {
			p += n
			i++
			continue
		}
		if star < 0 {
			return false
		}
		retry++
		p, i = star, retry
	}
	return strings.Trim(pattern[p:], "*") == ""
}

// one matches one byte with what the pattern begins with, and tells how long that is.
func one(pattern string, c byte) (length int, ok bool) {
	if pattern == "" {
		return 0, false
	}
	switch pattern[0] {
	case '?':
		return 1, true
	case '[':
		return class(pattern, c)
	case '\\':
		if len(pattern) > 1 {
			return 2, pattern[1] == c
		}
	}
	return 1, pattern[0] == c
}

// class matches one byte with a class. One that is not closed ends with the pattern.
func class(pattern string, c byte) (length int, ok bool) {
	i := 1
	negated := i < len(pattern) && pattern[i] == '^'
	if negated {
		i++
	}
	for ; i < len(pattern) && pattern[i] != ']'; i++ {
		switch {
		case pattern[i] == '\\' && i+1 < len(pattern):
			i++
			ok = ok || pattern[i] == c
		case i+2 < len(pattern) && pattern[i+1] == '-':
			from, to := min(pattern[i], pattern[i+2]), max(pattern[i], pattern[i+2])
			ok = ok || from <= c && c <= to
			i += 2
		default:
			ok = ok || pattern[i] == c
		}
	}
	return min(i+1, len(pattern)), ok != negated
}
