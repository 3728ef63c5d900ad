package replication

import (
	"cmp"
	"slices"
	"time"
)

// How far back offsets are remembered, and how many: a lag beyond that is shown as
// this long.
const (
	memory  = time.Minute
	maxMark = int(memory / every)
)

// overdue is how long a replica may be silent while there is something to acknowledge:
// it does so once a second, and a busy one late.
const overdue = 1500 * time.Millisecond

// A mark says that the primary was at an offset at a time.
type mark struct {
	at     time.Time
	offset int64
}

// state is what the primary said of itself and its replicas at one time.
type state struct {
	offset   int64
	replicas []replica // those that are online
}

// A replica is a connected one, by its address at the primary.
type replica struct {
	name   string
	offset int64 // that it acknowledged last
}

// lags computes lags out of states, pure.
type lags struct {
	marks    []mark // oldest first
	replicas map[string]*follower
}

// A follower is what is remembered of a replica.
type follower struct {
	offset int64
	moved  time.Time     // when its offset moved last, or it was seen first
	lag    time.Duration // at that time
}

// note takes in one state, and returns the lag of the worst replica; ok is false if
// there is none.
func (l *lags) note(now time.Time, s state) (worst time.Duration, ok bool) {
	if n := len(l.marks); n > 0 && s.offset < l.marks[n-1].offset {
		// Another primary, or one that began anew.
		l.marks, l.replicas = nil, nil
	}
	l.marks = append(l.marks, mark{now, s.offset})
	if len(l.marks) > maxMark {
		l.marks = l.marks[1:]
	}
	present := make(map[string]*follower, len(s.replicas))
	for _, r := range s.replicas {
		f, known := l.replicas[r.name]
		if !known {
			f = &follower{offset: -1}
		}
		present[r.name] = f
		if lag := f.note(now, r.offset, s.offset, l.behind); lag >= worst {
			worst, ok = lag, true
		}
	}
	l.replicas = present
	return worst, ok
}

// note takes in a replica's offset and returns its lag.
func (f *follower) note(now time.Time, offset, primary int64, behind func(time.Time, int64) time.Duration) time.Duration {
	if offset != f.offset {
		f.offset, f.moved = offset, now
		f.lag = behind(now, offset)
	}
	switch {
	case offset >= primary:
		f.lag = 0
		f.moved = now // nothing to acknowledge
	case now.Sub(f.moved) > overdue:
		return max(f.lag, behind(now, offset))
	}
	return f.lag
}

// behind is the time since the primary was at an offset and went on from there.
func (l *lags) behind(now time.Time, offset int64) time.Duration {
	// The first mark beyond the offset: the primary passed it between the mark before
	// and this one.
	i, _ := slices.BinarySearchFunc(l.marks, offset+1, func(m mark, o int64) int { return cmp.Compare(m.offset, o) })
	switch {
	case i == len(l.marks):
		return 0
	case i == 0:
		return now.Sub(l.marks[0].at)
	}
	from, to := l.marks[i-1], l.marks[i]
	// As if offsets rose evenly between two marks.
	share := float64(offset-from.offset) / float64(to.offset-from.offset)
	passed := from.at.Add(time.Duration(share * float64(to.at.Sub(from.at))))
	return now.Sub(passed)
}
