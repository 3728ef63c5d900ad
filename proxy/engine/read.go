package engine

import (
	"time"

	"redlockproxy/quorum"
	"redlockproxy/resp"
)

func get(v *quorum.View, key string) (resp.Reply, error) {
	value, present, err := text(v, key)
	if err != nil {
		return nil, err
	}
	return bulk(value, present), nil
}

// mget answers null for a key of another type, as Redis does.
func mget(v *quorum.View, keys []string) (resp.Reply, error) {
	list := make(resp.Array, len(keys))
	for i, k := range keys {
		value, kind, err := v.Get(quorum.Key(k))
		if err != nil && !wanted(err) {
			return nil, err
		}
		list[i] = bulk(value, kind == quorum.String)
	}
	return list, unread(v)
}

func getRange(v *quorum.View, r resp.GetRange) (resp.Reply, error) {
	s, _, err := text(v, r.Key)
	if err != nil {
		return nil, err
	}
	start, end, n := r.Start, r.End, int64(len(s))
	if start < 0 && end < 0 && start > end {
		return resp.Bulk(""), nil
	}
	if start < 0 {
		start = max(0, n+start)
	}
	if end < 0 {
		end = max(0, n+end)
	}
	end = min(end, n-1)
	if n == 0 || start > end {
		return resp.Bulk(""), nil
	}
	return resp.Bulk(s[start : end+1]), nil
}

func exists(v *quorum.View, keys []string) (resp.Reply, error) {
	count := 0
	for _, k := range keys {
		there, err := v.Exists(quorum.Key(k))
		if err != nil && !wanted(err) {
			return nil, err
		}
		if there {
			count++
		}
	}
	return resp.Int(count), unread(v)
}

// wanted tells whether an error only means that a key has to be read first. A
// command on several keys goes on then, so that all of them are read at once.
func wanted(err error) bool { return err == quorum.ErrUnread }

func unread(v *quorum.View) error {
	if v.Unread() {
		return quorum.ErrUnread
	}
	return nil
}

// remaining answers a time to live: what is left of the client's own, without the
// drift that the backends were given.
func remaining(v *quorum.View, r resp.TTL) (resp.Reply, error) {
	ttl, there, err := v.TTL(quorum.Key(r.Key))
	switch {
	case err != nil:
		return nil, err
	case !there:
		return resp.Int(-2), nil
	case ttl == quorum.NoTTL:
		return resp.Int(-1), nil
	}
	ms := ttl.Milliseconds()
	if r.Absolute {
		ms += time.Now().UnixMilli()
	}
	if !r.Seconds {
		return resp.Int(ms), nil
	}
	return resp.Int((ms + 500) / 1000), nil // as Redis rounds
}
