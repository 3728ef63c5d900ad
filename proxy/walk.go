package proxy

import (
	"context"
	"strconv"

	"redlockproxy/quorum"
	"redlockproxy/resp"
)

// walk answers what is about all keys: SCAN and DBSIZE. The cursor of SCAN tells all that
// is to be known of a walk, so any proxy of the group can go on with it.
func (s *Server) walk(ctx context.Context, request resp.Request) resp.Reply {
	if r, isScan := request.(resp.Scan); isScan {
		return s.scan(ctx, r)
	}
	n, err := s.group.Size(ctx)
	switch {
	case err != nil:
		return s.failure(err)
	case admitted(*s.cfg()) && n > 0:
		n-- // each backend's marker
	}
	return resp.Int(n)
}

// scan is one step of a walk. COUNT is a hint and not followed: a step is large enough
// for most groups to be walked through in one.
func (s *Server) scan(ctx context.Context, r resp.Scan) resp.Reply {
	place, ok := s.group.Place(r.Cursor)
	if !ok {
		return resp.ErrCursor
	}
	var wanted func(quorum.Key) bool
	if r.Filter {
		wanted = func(k quorum.Key) bool { return glob(r.Match, string(k)) }
	}
	keys, held, next, err := s.group.Walk(ctx, place, wanted)
	if err != nil {
		return s.failure(err)
	}
	names := resp.Array{}
	for i, k := range keys {
		if r.Type == "" || resp.LowerASCII(r.Type) == typeOf(held[i]) {
			names = append(names, resp.Bulk(k))
		}
	}
	reply, err := fitting(resp.Array{resp.Bulk(strconv.FormatUint(next.Number(), 10)), names}, nil)
	if err != nil {
		return failure(err)
	}
	return reply
}

// typeOf is the type of what is held, as TYPE names it.
func typeOf(h quorum.Holding) string {
	if h.Kind == quorum.String {
		return "string"
	}
	return h.Type
}
