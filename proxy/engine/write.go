package engine

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/zeebo/xxh3"

	"redlockproxy/quorum"
	"redlockproxy/resp"
)

// set is SET in all its forms. Without GET its answer is whether it was done; with
// GET the value that was there.
func set(v *quorum.View, r resp.Set) (resp.Reply, error) {
	key := quorum.Key(r.Key)
	before := resp.Reply(resp.Null{})
	if r.Get {
		value, present, err := text(v, r.Key)
		if err != nil {
			return nil, err
		}
		before = bulk(value, present)
	}
	met, err := condition(v, r.Key, r.Cond, r.Match)
	if err != nil {
		return nil, err
	}
	if met {
		ttl, expires := TTL(r.Expiry)
		switch {
		case r.KeepTTL:
			err = v.PutKeep(key, r.Value)
		case expires && ttl <= 0: // over already: as if it had been there and expired
			v.Delete(key)
		default:
			v.Put(key, r.Value, ttl)
		}
		if err != nil {
			return nil, err
		}
	}
	if r.Get {
		return before, nil
	}
	return r.Outcome(met), nil
}

// condition tells whether a key is as a SET or DELEX wants it. A missing key is
// different from every value, and then nothing more of the condition is looked at.
func condition(v *quorum.View, key string, cond resp.Condition, match string) (bool, error) {
	switch cond {
	case resp.IfAbsent, resp.IfPresent:
		there, err := v.Exists(quorum.Key(key))
		return there == (cond == resp.IfPresent), err
	case resp.Always:
		return true, nil
	}
	value, present, err := text(v, key)
	if err != nil || !present {
		return cond == resp.IfNe || cond == resp.IfDigestNe, err
	}
	switch cond {
	case resp.IfEq, resp.IfNe:
		return (value == match) == (cond == resp.IfEq), nil
	case resp.IfDigestEq, resp.IfDigestNe:
		if len(match) != resp.ValueDigestLen {
			return false, resp.ErrDigest
		}
		return strings.EqualFold(digest(value), match) == (cond == resp.IfDigestEq), nil
	}
	return false, resp.ErrDelExOption
}

// digest is what Redis's DIGEST says of a value.
func digest(value string) string {
	return fmt.Sprintf("%0*x", resp.ValueDigestLen, xxh3.HashString(value))
}

func mset(v *quorum.View, r resp.MSet) (resp.Reply, error) {
	if r.IfAbsent {
		taken := false
		for _, k := range r.Keys {
			there, err := v.Exists(quorum.Key(k))
			if err != nil && !wanted(err) {
				return nil, err
			}
			taken = taken || there
		}
		if err := unread(v); err != nil || taken {
			return resp.Int(0), err
		}
	}
	for i, k := range r.Keys {
		v.Put(quorum.Key(k), r.Values[i], 0)
	}
	if r.IfAbsent {
		return resp.Int(1), nil
	}
	return resp.OK, nil
}

func getDel(v *quorum.View, key string) (resp.Reply, error) {
	value, present, err := text(v, key)
	if err != nil {
		return nil, err
	}
	if present {
		v.Delete(quorum.Key(key))
	}
	return bulk(value, present), nil
}

func del(v *quorum.View, keys []string) (resp.Reply, error) {
	var there []quorum.Key
	for _, k := range keys {
		key := quorum.Key(k)
		found, err := v.Exists(key)
		if err != nil && !wanted(err) {
			return nil, err
		}
		if found {
			there = append(there, key)
		}
	}
	if err := unread(v); err != nil {
		return nil, err
	}
	count := 0
	for _, key := range there {
		if found, _ := v.Exists(key); found { // a key named twice is gone by now
			v.Delete(key)
			count++
		}
	}
	return resp.Int(count), nil
}

func delEx(v *quorum.View, r resp.DelEx) (resp.Reply, error) {
	if r.Cond == resp.Always {
		return del(v, []string{r.Key})
	}
	met, err := condition(v, r.Key, r.Cond, r.Match)
	if err == resp.ErrWrongType && r.Name == "delex" {
		err = resp.ErrDelExType
	}
	if err != nil || !met {
		return resp.Int(0), err
	}
	there, err := v.Exists(quorum.Key(r.Key))
	if err != nil || !there {
		return resp.Int(0), err
	}
	v.Delete(quorum.Key(r.Key))
	return resp.Int(1), nil
}

func expire(v *quorum.View, r resp.Expire) (resp.Reply, error) {
	key := quorum.Key(r.Key)
	there, err := v.Exists(key)
	if err != nil || !there {
		return resp.Int(0), err
	}
	ttl, _ := TTL(r.Expiry)
	if r.Cond != resp.ExpireAlways || r.XX {
		left, _, err := v.TTL(key)
		if err != nil || !mayExpire(r, left, ttl) {
			return resp.Int(0), err
		}
	}
	if ttl <= 0 {
		v.Delete(key)
	} else {
		v.Expire(key, ttl)
	}
	return resp.Int(1), nil
}

// mayExpire tells whether the conditions of an EXPIRE allow the new ttl. No expiry
// counts as later than any.
func mayExpire(r resp.Expire, left, ttl time.Duration) bool {
	lasting := left == quorum.NoTTL
	switch {
	case r.XX && lasting:
		return false
	case r.Cond == resp.ExpireNX:
		return lasting
	case r.Cond == resp.ExpireXX:
		return !lasting
	case r.Cond == resp.ExpireGT:
		return !lasting && ttl > left
	case r.Cond == resp.ExpireLT:
		return lasting || ttl < left
	}
	return true
}

func persist(v *quorum.View, key string) (resp.Reply, error) {
	left, there, err := v.TTL(quorum.Key(key))
	if err != nil || !there || left == quorum.NoTTL {
		return resp.Int(0), err
	}
	v.Persist(quorum.Key(key))
	return resp.Int(1), nil
}

func incr(v *quorum.View, r resp.Incr) (resp.Reply, error) {
	n, err := v.Increment(quorum.Key(r.Key), r.By)
	if err != nil {
		return nil, CounterError(err)
	}
	return resp.Int(n), nil
}

// CounterError puts the errors of counters into Redis's words; other errors are
// passed on.
func CounterError(err error) error {
	switch {
	case errors.Is(err, quorum.ErrNotInteger):
		return resp.ErrNotInteger
	case errors.Is(err, quorum.ErrOverflow):
		return resp.ErrOverflow
	case errors.Is(err, quorum.ErrWrongType):
		return resp.ErrWrongType
	}
	return err
}

// Assume is the guess that makes the usual outcome of a command take one round:
// that its condition is met.
func Assume(request resp.Request) quorum.Assumption {
	switch r := request.(type) {
	case resp.Set:
		switch {
		case r.Cond == resp.IfEq:
			return quorum.Assumption{Kind: quorum.AssumeValue, Value: r.Match}
		case r.Cond == resp.IfAbsent:
			return quorum.Assumption{Kind: quorum.AssumeAbsent}
		case r.Cond == resp.IfPresent && !r.Get && !r.KeepTTL:
			return quorum.Assumption{Kind: quorum.AssumePresent}
		}
	case resp.MSet:
		if r.IfAbsent {
			return quorum.Assumption{Kind: quorum.AssumeAbsent}
		}
	case resp.DelEx:
		if r.Cond == resp.IfEq {
			return quorum.Assumption{Kind: quorum.AssumeValue, Value: r.Match}
		}
	case resp.Expire:
		if r.Cond == resp.ExpireAlways && !r.XX {
			return quorum.Assumption{Kind: quorum.AssumePresent}
		}
	}
	return quorum.Assumption{}
}
