package lane

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"
)

// clockWindow is how long a movement of a backend's clock is remembered. It is looked
// at once in probeEvery, so this bounds the number of looks that are kept, too.
const clockWindow = 5 * time.Minute

// A clock watches how a backend's clock moves against this machine's, read by sinceBoot.
// Whether the two show the same time does not matter for locks, since a backend counts
// a ttl by itself; that its clock is set or runs at another rate does.
type clock struct {
	mu    sync.Mutex
	looks []look // oldest first
}

// A look is one comparison.
type look struct {
	at     time.Duration // by sinceBoot
	offset time.Duration // the backend's clock, since 1970, less ours
	doubt  time.Duration // half the round trip: the offset is right to within this
}

// note takes a time that the backend told between two readings of our own clock.
func (c *clock) note(asked, heard time.Duration, told time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.trim(heard)
	half := (heard - asked) / 2
	c.looks = append(c.looks, look{at: heard, offset: time.Duration(told.UnixNano()) - asked - half, doubt: half})
}

// trim forgets what is older than the window. The caller holds mu.
func (c *clock) trim(now time.Duration) {
	for len(c.looks) > 0 && now-c.looks[0].at > clockWindow {
		c.looks = c.looks[1:]
	}
}

// drift is how far the clock is from where it would be had it kept pace since some
// look of the window: the largest such distance, less what the round trips leave in
// doubt, so that a slow network looks like no drift. Positive means that the backend's
// clock has gained. known is false before the second look, and when those of the window
// are over, since nothing is known of a backend that has been gone for so long.
func (c *clock) drift(now time.Duration) (d time.Duration, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.trim(now)
	if len(c.looks) < 2 {
		return 0, false
	}
	last := c.looks[len(c.looks)-1]
	for _, then := range c.looks[:len(c.looks)-1] {
		if moved := certain(last.offset-then.offset, last.doubt+then.doubt); moved.Abs() > d.Abs() {
			d = moved
		}
	}
	return d, true
}

// certain is the part of a distance that a doubt can't explain.
func certain(d, doubt time.Duration) time.Duration {
	switch {
	case d > doubt:
		return d - doubt
	case d < -doubt:
		return d + doubt
	}
	return 0
}

// forget begins anew: another process, perhaps on another machine, is at the address.
func (c *clock) forget() {
	c.mu.Lock()
	c.looks = nil
	c.mu.Unlock()
}

// Drift is how far the backend's clock has moved against this machine's within the last
// five minutes, as far as that is certain; positive if it has gained. It is measured once
// a second while the lane is connected. known is false as long as there is nothing to
// compare: right after another process was found at the address, where it has not
// answered for five minutes, or where the user may not call TIME.
func (l *Lane) Drift() (d time.Duration, known bool) { return l.clock.drift(sinceBoot()) }

// probe asks the backend for its time: that tells whether the connection is still
// good, how long a round trip takes, and how the clock moves; and for its marker.
func (s *session) probe(ctx context.Context) error {
	ctx, done := s.busy(ctx)
	defer done()
	pipe := s.conn.Pipeline()
	cmd := pipe.Do(ctx, "TIME")
	end := s.addLast(ctx, pipe)
	asked := sinceBoot()
	err := exec(ctx, pipe)
	heard := sinceBoot()
	if err = lost(err, cmd); err != nil {
		return err
	}
	s.see(end)
	s.lane.roundTrip.Store(int64(heard - asked))
	if told, err := shownBy(cmd); err == nil { // a user that may not ask has a good connection all the same
		s.lane.clock.note(asked, heard, told)
	}
	return nil
}

// lookEvery is how often an open connection is asked what the backend is: it may have
// been configured anew, have evicted keys, or have become a replica that nobody writes to.
const lookEvery = 2 * time.Second

// lookAgain sees now and then whether the backend is still fit.
func (s *session) lookAgain(ctx context.Context) error {
	if time.Since(s.looked) < lookEvery {
		return nil
	}
	s.looked = time.Now()
	ctx, done := s.busy(ctx)
	defer done()
	pipe := s.conn.Pipeline()
	told := askInfo(ctx, pipe)
	if err := exec(ctx, pipe); err != nil {
		return err
	}
	g := told()
	s.lane.standing.notes(g)
	if err := g.unfit(); err != nil {
		return err
	}
	s.lane.look(g)
	return nil
}

// look notes what is to be warned of.
func (l *Lane) look(g Greeting) {
	why, _ := g.evicts()
	l.warn(WarnEviction, why)
	l.warn(WarnWrites, g.refuses())
}

// noClock is why a backend's clock is not watched.
const noClock = "its clock can't be watched, and a jump of it can give a lock away: give the proxy's user the right to TIME"

// timeOf reads a reply to TIME: seconds and microseconds, as texts.
func timeOf(reply []any) (time.Time, error) {
	if len(reply) != 2 {
		return time.Time{}, errUnexpected
	}
	var parts [2]int64
	for i, p := range reply {
		text, _ := p.(string)
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return time.Time{}, errors.Join(errUnexpected, err)
		}
		parts[i] = n
	}
	return time.Unix(parts[0], parts[1]*1000), nil
}
