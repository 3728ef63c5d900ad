package resp

import "math"

// MaxMillis bounds every expiry, relative or absolute, in milliseconds: half the
// range of int64. Redis adds the present time to a relative expiry and refuses
// what overflows; Parse knows no present time, so it refuses earlier. With this
// bound nobody who reads a Request can overflow by adding the time, a drift or
// another expiry to it.
const MaxMillis = 1 << 62

// toMillis reads a time in seconds or milliseconds. Values below -MaxMillis
// become -MaxMillis: both are past.
func toMillis(name, word string, seconds bool) (int64, error) {
	n, ok := parseInt(word)
	if !ok {
		return 0, ErrNotInteger
	}
	if seconds {
		if n > math.MaxInt64/1000 || n < math.MinInt64/1000 {
			return 0, InvalidExpire(name)
		}
		n *= 1000
	}
	if n > MaxMillis {
		return 0, InvalidExpire(name)
	}
	return max(n, -MaxMillis), nil
}

// positiveMillis is toMillis for SET and its relatives, where a time that is not
// above zero is an error.
func positiveMillis(name, word string, seconds bool) (int64, error) {
	n, err := toMillis(name, word, seconds)
	if err == nil && n <= 0 {
		return 0, InvalidExpire(name)
	}
	return n, err
}

// parseExpire parses EXPIRE, PEXPIRE, EXPIREAT and PEXPIREAT. As in Redis the
// options are looked at before the time.
func parseExpire(name string, args []string) (Request, error) {
	e := Expire{Key: args[1]}
	var err error
	if e.Cond, e.XX, err = expireConditions(args[3:]); err != nil {
		return nil, err
	}
	e.Expiry.Kind = ExpireIn
	if name == "expireat" || name == "pexpireat" {
		e.Expiry.Kind = ExpireAt
	}
	seconds := name == "expire" || name == "expireat"
	if e.Expiry.Millis, err = toMillis(name, args[2], seconds); err != nil {
		return nil, err
	}
	return e, nil
}

// expireConditions reads NX, XX, GT and LT, each as often as it comes. Only XX
// may stand beside another one.
func expireConditions(words []string) (cond ExpireCond, besideXX bool, err error) {
	var nx, xx, gt, lt bool
	for _, w := range words {
		switch option(w) {
		case "NX":
			nx = true
		case "XX":
			xx = true
		case "GT":
			gt = true
		case "LT":
			lt = true
		default:
			return 0, false, expireOption(w)
		}
	}
	switch {
	case nx && (xx || gt || lt):
		return 0, false, ErrExpireNX
	case gt && lt:
		return 0, false, ErrExpireGTLT
	case nx:
		return ExpireNX, false, nil
	case gt:
		return ExpireGT, xx, nil
	case lt:
		return ExpireLT, xx, nil
	case xx:
		return ExpireXX, false, nil
	}
	return ExpireAlways, false, nil
}
