package lane

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"redlockproxy/quorum"
	"redlockproxy/quorum/admission"
)

// standing is what the lane knows of its backend's right to vote.
type standing struct {
	mu        sync.Mutex
	connected bool
	runID     string
	text      string // the marker's, when it was judged last
	marker    admission.Marker
	is        admission.Standing
	clock     admission.Clock
	jumped    bool
	since     time.Time // when the clock was first looked at
	seen      time.Time // when it was last looked at
	evicted   int64     // how many keys runID had evicted, when that was last asked; -1 if it did not say
	dropped   bool      // it has evicted some since it was admitted
	replID2   string    // the history that runID had gone on from, when that was last asked
	followed  bool      // it was a replica since it was admitted
}

// always is the token of a backend that needs no admission.
const always = "always"

// meets begins a connection to the process that was noted.
func (st *standing) meets(rule *admission.Rule, g Greeting) (right right) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.connected = true
	st.judge(rule, g.Marker)
	return st.right(rule)
}

// notes takes what a backend has told of itself: another process than before begins
// anew, and the same one may have dropped keys, or have been a replica, perhaps of its
// own replica: then its marker may have come back with what another held. One that is a
// primary again goes on from another history than before.
func (st *standing) notes(g Greeting) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if g.RunID == "" {
		return // it tells nothing
	}
	if st.runID != g.RunID {
		st.runID = g.RunID
		st.reset()
	} else {
		st.dropped = st.dropped || st.evicted >= 0 && g.Evicted > st.evicted
		st.followed = st.followed || g.ReplID2 != "" && g.ReplID2 != st.replID2
	}
	st.followed = st.followed || g.replica()
	st.evicted, st.replID2 = g.Evicted, g.ReplID2
}

// follows takes an answer that only a replica gives.
func (st *standing) follows() {
	st.mu.Lock()
	st.followed = true
	st.mu.Unlock()
}

func (st *standing) reset() {
	st.clock, st.since, st.jumped, st.dropped, st.followed = admission.Clock{}, time.Time{}, false, false, false
}

func (st *standing) judge(rule *admission.Rule, text string) {
	if rule != nil {
		st.text = text
		st.marker, st.is = rule.Judge(text, st.runID)
	}
}

// sees takes what stood at the end of a pipeline: the marker, and what the backend's
// clock showed between two readings of our own. It returns the right with which the
// backend votes by now.
func (st *standing) sees(rule *admission.Rule, text string, shown time.Time, asked, heard time.Duration) right {
	st.mu.Lock()
	defer st.mu.Unlock()
	if text != st.text {
		st.judge(rule, text)
	}
	if !shown.IsZero() {
		st.watch(shown, asked, heard)
	}
	return st.right(rule)
}

// shows takes what the backend's clock showed between two readings of our own.
func (st *standing) shows(shown time.Time, asked, heard time.Duration) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.watch(shown, asked, heard)
}

func (st *standing) watch(shown time.Time, asked, heard time.Duration) {
	st.seen = time.Now().Add(asked - heard)
	if st.since.IsZero() {
		st.since = st.seen
	}
	st.jumped = !st.clock.Add(shown, asked, heard) || st.jumped
}

// leaves ends a connection.
func (st *standing) leaves() {
	st.mu.Lock()
	st.connected = false
	st.mu.Unlock()
}

// A right is what a backend may vote about, and the token that it has it by. Without a
// token it has none, and a foreign one must not even be a learner.
type right struct {
	token   string
	numbers bool
	foreign bool
}

func (st *standing) right(rule *admission.Rule) right {
	switch {
	case rule == nil:
		return right{token: always, numbers: true}
	case st.is == admission.Foreign:
		return right{foreign: true}
	case st.is != admission.Admitted && st.is != admission.Locking || st.jumped || st.dropped || st.followed:
		return right{}
	}
	return right{token: st.marker.Token, numbers: st.is == admission.Admitted}
}

// numbers tells whether the backend may vote about numbers.
func (st *standing) numbers(rule *admission.Rule) bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.right(rule).numbers
}

// covers tells whether the right is one to give an answer: without one to vote about
// numbers, what the backend shows of a counter may be behind.
func (r right) covers(op quorum.Op, a quorum.Answer) bool {
	return r.numbers || !admission.AboutNumbers(op) && !admission.ShowsNumber(op, a)
}

// Look implements admission.Member.
func (l *Lane) Look() admission.Look {
	l.standing.mu.Lock()
	defer l.standing.mu.Unlock()
	st := &l.standing
	return admission.Look{Connected: st.connected, RunID: st.runID, Marker: st.marker, Standing: st.is, Jumped: st.jumped, Dropped: st.dropped, Followed: st.followed, ClockSince: st.since, ClockSeen: st.seen, Moved: st.clock.Moved()}
}

// Reset implements admission.Member.
func (l *Lane) Reset() {
	l.standing.mu.Lock()
	l.standing.reset()
	l.standing.mu.Unlock()
	l.Probe()
}

// Probe implements admission.Member.
func (l *Lane) Probe() {
	select {
	case l.probes <- struct{}{}:
	default:
	}
}

// last are the commands at the end of a pipeline that say whether the votes in it
// count: the marker, and the backend's clock. Only what comes last can tell that the
// backend has forgotten nothing before it.
type last struct {
	marker, clock *redis.Cmd
	asked         time.Duration
}

func (s *session) addLast(ctx context.Context, pipe redis.Pipeliner) last {
	if s.lane.cfg.Admission == nil {
		return last{}
	}
	return last{pipe.Do(ctx, "GET", string(admission.MarkerKey)), pipe.Do(ctx, "TIME"), sinceBoot()}
}

// see takes the answers to the last commands. It tells whether the votes of the same
// pipeline count: those of a backend that was admitted before it, and has been since.
func (s *session) see(e last) (count bool) {
	rule := s.lane.cfg.Admission
	if rule == nil {
		return !s.replica
	}
	heard := sinceBoot()
	text, ok := markerText(e.marker)
	if !ok {
		return false
	}
	shown, err := shownBy(e.clock)
	if err != nil && isReply(err) {
		s.lane.warn(WarnClock, noClock)
	}
	before := s.right
	s.right = s.lane.standing.sees(rule, text, shown, e.asked, heard)
	return before.token != "" && before == s.right && !s.replica
}

// markerText is the marker's text, "" if there is none. ok is false without an answer.
func markerText(cmd *redis.Cmd) (text string, ok bool) {
	switch v, err := cmd.Result(); {
	case err == redis.Nil:
		return "", true
	case isWrongType(err):
		return "(of another type)", true
	case err != nil:
		return "", false
	default:
		text, ok = v.(string)
		return text, ok
	}
}

func shownBy(cmd *redis.Cmd) (time.Time, error) {
	list, err := cmd.Slice()
	if err != nil {
		return time.Time{}, err
	}
	return timeOf(list)
}

// stands makes the lane's state what the session's right says. It returns an error if
// the backend turned out to be another group's.
func (s *session) stands(g Greeting) error {
	state := Voter
	if s.right.token == "" {
		state = Learner
	}
	if s.right.foreign {
		return foreign(*s.lane.cfg.Admission, s.lane.Look().Marker)
	}
	s.lane.state.Store(int32(state))
	s.lane.report(state, s.lane.noVote(), g)
	return nil
}

// noVote is why the backend's votes do not count, or not all, nil if they do.
func (l *Lane) noVote() error {
	if l.cfg.Admission == nil {
		return nil
	}
	switch look := l.Look(); {
	case look.Jumped:
		return errors.New("its clock jumped, or ours did")
	case look.Dropped:
		return errors.New("it has evicted keys")
	case look.Followed:
		return errors.New("it was a replica, and may hold what another server held")
	case look.Standing == admission.Learning:
		return errors.New("it is being refilled, or waits for that")
	case look.Standing == admission.Locking:
		return errors.New("it votes about locks, and not yet about numbers")
	case look.Standing == admission.Founding:
		return errors.New("the group is being founded")
	case look.Standing == admission.Brief:
		return errors.New("its marker allows for less time than this proxy's rounds take, and is being changed")
	case look.Standing == admission.Unmarked && look.Marker != admission.Marker{}:
		return errors.New("it has restarted since it was admitted, and may have forgotten")
	case look.Standing == admission.Unmarked:
		return errors.New("it has no marker: it is new, or has forgotten")
	}
	return nil
}

var _ admission.Member = (*Lane)(nil)
