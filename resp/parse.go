package resp

import "slices"

// ReservedKey is the one key that no command may name: the backends keep their
// markers there.
const ReservedKey = "~redlock-proxy:marker"

// Parse turns the words of one command into what the client asked for. The name
// may be in any case, keys and values may be any bytes or none. The error is
// always an Error, ready to be sent.
//
// Commands of the families Local and Session are not Requests: whoever serves
// connections looks them up before, and Parse answers that they have no place
// where a Request is needed, which is inside a script.
func Parse(args []string) (Request, error) {
	c, _, err := check(args)
	if err != "" {
		return nil, err
	}
	if c.parse == nil {
		return nil, Unsupported(c.Name)
	}
	if err := Reserved(args); err != "" {
		return nil, err
	}
	return c.parse(c.Name, args)
}

// Reserved is the error for a command that names ReservedKey, "" for all others. It is
// for the families that Parse is not asked about.
func Reserved(args []string) Error {
	if slices.Contains(Keys(args), ReservedKey) {
		return ErrReservedKey
	}
	return ""
}

// The functions below are called with a number of words that fits the table, and
// with the command's name in lower case.

func parseGet(_ string, args []string) (Request, error) { return Get{Key: args[1]}, nil }

func parseMGet(_ string, args []string) (Request, error) { return MGet{Keys: args[1:]}, nil }

func parseStrLen(_ string, args []string) (Request, error) { return StrLen{Key: args[1]}, nil }

func parseExists(_ string, args []string) (Request, error) { return Exists{Keys: args[1:]}, nil }

func parseType(_ string, args []string) (Request, error) { return Type{Key: args[1]}, nil }

func parseDel(_ string, args []string) (Request, error) { return Del{Keys: args[1:]}, nil }

func parseGetDel(_ string, args []string) (Request, error) { return GetDel{Key: args[1]}, nil }

func parsePersist(_ string, args []string) (Request, error) { return Persist{Key: args[1]}, nil }

func parseTTL(name string, args []string) (Request, error) {
	return TTL{
		Key:      args[1],
		Seconds:  name == "ttl" || name == "expiretime",
		Absolute: name == "expiretime" || name == "pexpiretime",
	}, nil
}

func parseGetRange(_ string, args []string) (Request, error) {
	start, ok1 := parseInt(args[2])
	end, ok2 := parseInt(args[3])
	if !ok1 || !ok2 {
		return nil, ErrNotInteger
	}
	return GetRange{Key: args[1], Start: start, End: end}, nil
}

func parseMSet(name string, args []string) (Request, error) {
	if len(args)%2 == 0 {
		return nil, WrongArity(name)
	}
	m := MSet{IfAbsent: name == "msetnx"}
	for i := 1; i < len(args); i += 2 {
		m.Keys = append(m.Keys, args[i])
		m.Values = append(m.Values, args[i+1])
	}
	return m, nil
}

func parseDelEx(name string, args []string) (Request, error) {
	switch len(args) {
	case 2:
		return DelEx{Key: args[1], Name: name}, nil
	case 4:
	default:
		return nil, WrongArity(name)
	}
	d := DelEx{Key: args[1], Cond: valueCondition(option(args[2])), Match: args[3], Name: name}
	if d.Cond == Always {
		d.Cond = BadCondition
	}
	return d, nil
}

func parseDelIfEq(name string, args []string) (Request, error) {
	return DelEx{Key: args[1], Cond: IfEq, Match: args[2], Name: name}, nil
}

// valueCondition is the condition that an option puts on the value; Always for a word
// that is none.
func valueCondition(option string) Condition {
	switch option {
	case "IFEQ":
		return IfEq
	case "IFNE":
		return IfNe
	case "IFDEQ":
		return IfDigestEq
	case "IFDNE":
		return IfDigestNe
	}
	return Always
}

func parseDigest(_ string, args []string) (Request, error) { return Digest{Key: args[1]}, nil }

func parseIncr(name string, args []string) (Request, error) {
	by := int64(1)
	if name == "incrby" {
		n, ok := parseInt(args[2])
		if !ok {
			return nil, ErrNotInteger
		}
		if n <= 0 {
			return nil, errIncrNotAbove
		}
		by = n
	}
	return Incr{Key: args[1], By: by}, nil
}

// maxOption is longer than any option: a longer word needs no copy in upper case.
const maxOption = 16

// option is a word that is compared with the names of options: in upper case,
// and up to its first NUL, because that is all that Redis looks at.
func option(word string) string {
	word = cstring(word)
	if len(word) > maxOption {
		return word
	}
	return UpperASCII(word)
}

// UpperASCII turns the letters a to z into upper case and leaves all other bytes
// alone. The functions of package strings also know letters beyond ASCII that
// have an ASCII one as their other case; Redis doesn't.
func UpperASCII(s string) string { return mapBytes(s, 'a', 'z') }

// LowerASCII is the other direction.
func LowerASCII(s string) string { return mapBytes(s, 'A', 'Z') }

// mapBytes changes the case of the letters from first to last.
func mapBytes(s string, first, last byte) string {
	const caseBit = 'a' - 'A'
	for i := range len(s) {
		if s[i] < first || s[i] > last {
			continue
		}
		b := []byte(s)
		for ; i < len(b); i++ {
			if b[i] >= first && b[i] <= last {
				b[i] ^= caseBit
			}
		}
		return string(b)
	}
	return s
}
