package engine

import (
	"errors"
	"fmt"
	"time"

	"redlockproxy/quorum"
	"redlockproxy/resp"
)

// Engine carries requests out on views.
type Engine struct {
	// MaxTTL is the longest time to live that is accepted.
	MaxTTL time.Duration
}

// Apply carries out one request. What a client may hear, errors included, is the
// reply; the error is for whoever runs the program that the request is a part of,
// such as quorum.ErrUnread.
func (e Engine) Apply(v *quorum.View, request resp.Request) (resp.Reply, error) {
	if refusal := e.Refuse(request); refusal != "" {
		return refusal, nil
	}
	reply, err := e.apply(v, request)
	var refusal resp.Error
	if errors.As(err, &refusal) {
		return refusal, nil
	}
	return reply, err
}

// Refuse is the error for a request that must not reach any backend: its time to
// live is longer than allowed. "" if there is none.
func (e Engine) Refuse(request resp.Request) resp.Error {
	var expiry resp.Expiry
	switch r := request.(type) {
	case resp.Set:
		expiry = r.Expiry
	case resp.Expire:
		expiry = r.Expiry
	}
	if ttl, ok := TTL(expiry); ok && ttl > e.MaxTTL {
		return resp.TTLTooLong(e.MaxTTL)
	}
	return ""
}

// TTL turns an expiry into a time from now; it is 0 or negative for a moment that
// has passed. ok is false if there is no expiry.
func TTL(x resp.Expiry) (ttl time.Duration, ok bool) {
	const most = int64(1<<63-1) / int64(time.Millisecond)
	ms := x.Millis
	switch x.Kind {
	case resp.NoExpiry:
		return 0, false
	case resp.ExpireAt:
		ms -= time.Now().UnixMilli()
	}
	return time.Duration(min(max(ms, -most), most)) * time.Millisecond, true
}

func (e Engine) apply(v *quorum.View, request resp.Request) (resp.Reply, error) {
	switch r := request.(type) {
	case resp.Get:
		return get(v, r.Key)
	case resp.MGet:
		return mget(v, r.Keys)
	case resp.GetRange:
		return getRange(v, r)
	case resp.Digest:
		s, present, err := text(v, r.Key)
		return bulk(digest(s), present), err
	case resp.StrLen:
		s, _, err := text(v, r.Key)
		return resp.Int(len(s)), err
	case resp.Exists:
		return exists(v, r.Keys)
	case resp.Type:
		name, err := v.Type(quorum.Key(r.Key))
		return resp.Status(name), err
	case resp.TTL:
		return remaining(v, r)
	case resp.Set:
		return set(v, r)
	case resp.MSet:
		return mset(v, r)
	case resp.GetDel:
		return getDel(v, r.Key)
	case resp.Del:
		return del(v, r.Keys)
	case resp.DelEx:
		return delEx(v, r)
	case resp.Expire:
		return expire(v, r)
	case resp.Persist:
		return persist(v, r.Key)
	case resp.Incr:
		return incr(v, r)
	}
	return nil, fmt.Errorf("%T is not carried out on keys", request)
}

// text is the value of a string key; WRONGTYPE for another type.
func text(v *quorum.View, key string) (value string, present bool, err error) {
	value, kind, err := v.Get(quorum.Key(key))
	switch {
	case err != nil:
		return "", false, err
	case kind == quorum.Other:
		return "", false, resp.ErrWrongType
	}
	return value, kind == quorum.String, nil
}

func bulk(value string, present bool) resp.Reply {
	if !present {
		return resp.Null{}
	}
	return resp.Bulk(value)
}
