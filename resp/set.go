package resp

func parseSetNX(name string, args []string) (Request, error) {
	return Set{Key: args[1], Value: args[2], Cond: IfAbsent, Name: name}, nil
}

// Outcome is the reply that tells whether the value was stored, for a SET without Get.
func (s Set) Outcome(stored bool) Reply {
	switch {
	case s.Name == "setnx" && stored:
		return Int(1)
	case s.Name == "setnx":
		return Int(0)
	case stored:
		return OK
	}
	return Null{}
}

// parseSetEX parses SETEX and PSETEX.
func parseSetEX(name string, args []string) (Request, error) {
	millis, err := positiveMillis(name, args[2], name == "setex")
	if err != nil {
		return nil, err
	}
	return Set{
		Key:    args[1],
		Value:  args[3],
		Expiry: Expiry{Kind: ExpireIn, Millis: millis},
		Name:   name,
	}, nil
}

// setOptions collects the options of a SET. Which of them exclude each other is
// known when a word is read; the number of an expiry is looked at last, so that
// a syntax error comes before a bad number, as in Redis.
type setOptions struct {
	set      *Set
	unit     string // EX, PX, EXAT or PXAT; "" if none was given
	duration string
}

// parseSet parses SET with its options in any order and case. An option given
// twice is taken as Redis takes it: once, and of two expiries in one unit the
// last one counts.
func parseSet(name string, args []string) (Request, error) {
	set := Set{Key: args[1], Value: args[2], Name: name}
	o := setOptions{set: &set}
	for i := 3; i < len(args); {
		used, err := o.take(args[i:])
		if err != nil {
			return nil, err
		}
		i += used
	}
	if o.unit == "" {
		return set, nil
	}
	millis, err := positiveMillis(name, o.duration, o.unit == "EX" || o.unit == "EXAT")
	if err != nil {
		return nil, err
	}
	set.Expiry = Expiry{Kind: ExpireIn, Millis: millis}
	if o.unit == "EXAT" || o.unit == "PXAT" {
		set.Expiry.Kind = ExpireAt
	}
	return set, nil
}

// take reads the option that words begins with and returns how many words it
// has.
func (o *setOptions) take(words []string) (int, error) {
	switch word := option(words[0]); word {
	case "GET":
		o.set.Get = true
		return 1, nil
	case "NX":
		return 1, o.condition(IfAbsent)
	case "XX":
		return 1, o.condition(IfPresent)
	case "IFEQ", "IFNE", "IFDEQ", "IFDNE":
		return 2, o.match(word, words)
	case "KEEPTTL":
		if o.unit != "" {
			return 0, ErrSyntax
		}
		o.set.KeepTTL = true
		return 1, nil
	case "EX", "PX", "EXAT", "PXAT":
		if o.set.KeepTTL || len(words) < 2 || (o.unit != "" && o.unit != word) {
			return 0, ErrSyntax
		}
		o.unit, o.duration = word, words[1]
		return 2, nil
	}
	return 0, ErrSyntax
}

// condition takes NX or XX, which may come again but not beside another one.
func (o *setOptions) condition(c Condition) error {
	if o.set.Cond != Always && o.set.Cond != c {
		return ErrSyntax
	}
	o.set.Cond = c
	return nil
}

// match takes a condition on the value, which may not even come again: there would be
// two values to compare with.
func (o *setOptions) match(word string, words []string) error {
	if o.set.Cond != Always || len(words) < 2 {
		return ErrSyntax
	}
	o.set.Cond, o.set.Match = valueCondition(word), words[1]
	return nil
}
