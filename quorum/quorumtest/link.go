package quorumtest

import (
	"math/rand/v2"
	"sync"
	"time"

	"redlockproxy/quorum"
)

// Link is one process's own ordered way to a Fake that several processes share.
// What is given to it arrives later, in order, and once it is on its way it arrives
// whatever its deadline says. Replies come back the Fake's way. It must be closed,
// before its Fake is.
type Link struct {
	to   *Fake
	wake chan struct{} // holds at most one signal
	done chan struct{}

	mu            sync.Mutex
	random        *rand.Rand
	delay, jitter time.Duration
	held          time.Time // nothing arrives before
	queue         []parcel  // in order; bounded by what its group has under way
	closed        bool
	turns         turns
}

// parcel is a call, or a debt, on its way.
type parcel struct {
	call *quorum.Call // nil for a debt
	debt quorum.Debt
	due  time.Time
}

// NewLink makes a way to a fake that takes delay and up to jitter more, by a chance
// that seed repeats.
func NewLink(to *Fake, delay, jitter time.Duration, seed uint64) *Link {
	l := &Link{
		to: to, delay: delay, jitter: jitter, random: rand.New(rand.NewPCG(seed, uint64(to.index))),
		wake: make(chan struct{}, 1), done: make(chan struct{}),
	}
	go l.run()
	return l
}

// Send implements quorum.Backend.
func (l *Link) Send(call *quorum.Call) {
	if now := time.Now(); now.After(call.Deadline) || !l.put(parcel{call: call}, now) {
		call.Round.Vote(l.to.index, quorum.Answer{Vote: quorum.Failed, Unsent: true, Err: errDeadline})
	}
}

// Owe implements quorum.Backend.
func (l *Link) Owe(debt quorum.Debt) { l.put(parcel{debt: debt}, time.Now()) }

func (l *Link) put(p parcel, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	p.due = now.Add(l.delay)
	if l.jitter > 0 {
		p.due = p.due.Add(time.Duration(l.random.Int64N(int64(l.jitter) + 1)))
	}
	if l.queue = append(l.queue, p); len(l.queue) == 1 { // else run waits for what is before it
		l.signal()
	}
	return true
}

// Hold keeps everything back for d: what is on its way arrives late, in order.
func (l *Link) Hold(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held = time.Now().Add(d)
	l.signal()
}

// Close ends the link. What was on its way is handed over at once.
func (l *Link) Close() {
	l.mu.Lock()
	l.closed = true
	l.signal()
	l.mu.Unlock()
	<-l.done
}

func (l *Link) signal() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

func (l *Link) run() {
	defer close(l.done)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		arrived, next, closed := l.take(time.Now())
		for _, p := range arrived {
			l.hand(p)
		}
		if closed {
			return
		}
		timer.Stop()
		if !next.IsZero() {
			timer.Reset(time.Until(next))
		}
		select {
		case <-l.wake:
		case <-timer.C:
		}
	}
}

// take is what arrives now, and when there is more.
func (l *Link) take(now time.Time) (arrived []parcel, next time.Time, closed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.queue) > 0 {
		next = l.queue[0].due
		if l.held.After(next) {
			next = l.held
		}
		if next = l.turns.next(next, now); next.After(now) && !l.closed {
			return arrived, next, false
		}
		l.turns.last = now
		arrived = append(arrived, l.queue[0])
		l.queue = l.queue[1:]
	}
	return arrived, time.Time{}, l.closed
}

// hand gives a parcel to the fake. It is on its way: its deadline is over.
func (l *Link) hand(p parcel) {
	if p.call == nil {
		l.to.Owe(p.debt)
		return
	}
	sent := *p.call
	sent.Deadline = time.Now().Add(time.Hour)
	l.to.Send(&sent)
}

var _ quorum.Backend = (*Link)(nil)
