package quorumtest

import (
	"math/rand/v2"
	"sync"
	"time"

	"redlockproxy/quorum"
)

// Options are the properties that a Fake starts with.
type Options struct {
	// RequestDelay passes between Send and the execution, ReplyDelay between
	// the execution and the vote. Jitter is the most that chance adds to each of
	// them, call by call; order is kept.
	RequestDelay, ReplyDelay, Jitter time.Duration

	// Seed makes the chance repeatable.
	Seed uint64

	// MaxCalls bounds the calls on their way, MaxDebts the debts kept; 0 stands
	// for 4096 of each, more than any test keeps waiting on purpose.
	MaxCalls, MaxDebts int
}

// Counts says how many operations of each sort were carried out, and how many
// debts were lost because too many were kept already.
type Counts struct {
	Acquire, Read, Increment, Commit, Debt int
	DebtsLost                              int
}

// Fake is a backend in memory. Its methods may be called from any goroutine.
type Fake struct {
	index int
	wake  chan struct{} // holds at most one signal: there is something to do
	done  chan struct{} // closed when run has ended

	mu     sync.Mutex
	opts   Options
	random *rand.Rand
	clock  clock
	store  store
	counts Counts
	closed bool

	restarts int
	saved    map[quorum.Key]entry

	mode      Mode
	nextMode  Mode // what the next nextCalls calls meet instead
	nextCalls int

	queue     []request      // in order; what was not sent yet is at the end
	queued    int            // the debts among them
	owed      []quorum.Debt  // kept for when the server can be reached
	swallowed []quorum.Voter // rounds that get no answer until the mode ends
	replies   []reply        // in order
	turns     turns
}

// request is a call, or a debt, on its way to the server.
type request struct {
	call *quorum.Call // nil for a debt
	debt quorum.Debt
	due  time.Time // when it arrives, once it was sent; not before the one ahead of it
	sent bool
}

// reply is an answer on its way to its round.
type reply struct {
	round  quorum.Voter
	answer quorum.Answer
	due    time.Time // when it arrives; not before the one ahead of it
}

// New starts a fake that votes as the backend index. It must be closed.
func New(index int, opts Options) *Fake {
	const enough = 4096
	if opts.MaxCalls == 0 {
		opts.MaxCalls = enough
	}
	if opts.MaxDebts == 0 {
		opts.MaxDebts = enough
	}
	f := &Fake{
		index:  index,
		wake:   make(chan struct{}, 1),
		done:   make(chan struct{}),
		opts:   opts,
		random: rand.New(rand.NewPCG(opts.Seed, uint64(index))),
		clock:  newClock(time.Now()),
		store:  store{keys: make(map[quorum.Key]entry)},
	}
	go f.run()
	return f
}

// Close fails the calls that are on their way, forgets the debts, and waits for
// the fake's goroutine. Calls sent later are answered Failed and Unsent.
func (f *Fake) Close() {
	f.mu.Lock()
	if !f.closed {
		f.breakLink(time.Now())
		f.owed, f.closed = nil, true
		f.signal()
	}
	f.mu.Unlock()
	<-f.done
}

// Send implements quorum.Backend.
func (f *Fake) Send(call *quorum.Call) {
	if err := f.take(call); err != nil {
		answer := failed(err)
		answer.Unsent = true
		call.Round.Vote(f.index, answer) // not under f.mu: a round may send again
	}
}

// take queues a call, or says why it cannot be sent.
func (f *Fake) take(call *quorum.Call) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	switch {
	case f.closed:
		return errClosed
	case f.mode == Down:
		return errDown
	case now.After(call.Deadline):
		return errDeadline
	case len(f.queue)-f.queued+len(f.replies)+len(f.swallowed) >= f.opts.MaxCalls:
		return errFull
	}
	f.enqueue(request{call: call}, now)
	return nil
}

// Owe implements quorum.Backend. A debt that was sent runs even after its Until,
// as the write before it does; one that is kept is dropped then.
func (f *Fake) Owe(debt quorum.Debt) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	f.dropExpired(now)
	switch {
	case f.closed || now.After(debt.Until):
	case f.queued+len(f.owed) >= f.opts.MaxDebts:
		f.counts.DebtsLost++
	case f.mode == Down:
		f.owed = append(f.owed, debt)
	default:
		f.queued++
		f.enqueue(request{debt: debt}, now)
	}
}

// enqueue puts a request behind those before it and sends it if the lane can.
func (f *Fake) enqueue(r request, now time.Time) {
	if r.sent = f.mode != Stalled; r.sent {
		r.due = now.Add(f.delay(f.opts.RequestDelay))
	}
	if f.queue = append(f.queue, r); len(f.queue) == 1 { // else run waits for what is before it
		f.signal()
	}
}

// delay adds the jitter.
func (f *Fake) delay(d time.Duration) time.Duration {
	if f.opts.Jitter > 0 {
		d += time.Duration(f.random.Int64N(int64(f.opts.Jitter) + 1))
	}
	return d
}

// signal tells run that there is something to do. One signal is enough.
func (f *Fake) signal() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// run carries out requests and delivers replies when their times have come.
func (f *Fake) run() {
	defer close(f.done)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		f.mu.Lock()
		closed := f.closed
		due, next := f.step(time.Now())
		f.mu.Unlock()
		for _, r := range due {
			r.round.Vote(f.index, r.answer)
		}
		if closed {
			return // step has handed out all replies: the link was broken by Close
		}
		timer.Stop()
		if !next.IsZero() {
			timer.Reset(time.Until(next))
		}
		select {
		case <-f.wake:
		case <-timer.C:
		}
	}
}

// step does what is due: it gives the replies to deliver, and the time at which
// there is more to do, zero if that depends on somebody else.
func (f *Fake) step(now time.Time) (due []reply, next time.Time) {
	for len(f.queue) > 0 && f.queue[0].sent && f.mode != Frozen {
		if next = f.turns.next(f.queue[0].due, now); next.After(now) {
			break
		}
		r := f.queue[0]
		f.queue, next = f.queue[1:], time.Time{}
		f.turns.last = now
		f.arrive(r, now)
	}
	for len(f.replies) > 0 {
		at := f.turns.next(f.replies[0].due, now)
		if at.After(now) && !f.closed {
			if next.IsZero() || at.Before(next) {
				next = at
			}
			break
		}
		due = append(due, f.replies[0])
		f.replies = f.replies[1:]
		f.turns.last = now
	}
	return due, next
}

// arrive is a request at the server.
func (f *Fake) arrive(r request, now time.Time) {
	f.store.now = f.clock.at(now).UnixMilli()
	if r.call == nil {
		f.arriveDebt(r.debt)
		return
	}
	var answer quorum.Answer
	mode := f.modeForNextCall()
	if mode != Silent && mode != Broken {
		answer = f.store.exec(r.call.Op)
		f.count(r.call.Op)
	}
	switch mode {
	case Silent, Mute:
		f.swallowed = append(f.swallowed, r.call.Round)
		return
	case LostReply:
		answer = failed(errLink)
	case Broken:
		answer = failed(errBroken)
	}
	f.replies = append(f.replies, reply{r.call.Round, answer, now.Add(f.delay(f.opts.ReplyDelay))})
}

// arriveDebt carries a debt out, or keeps it where the server does not listen.
func (f *Fake) arriveDebt(d quorum.Debt) {
	f.queued--
	if f.mode == Silent || f.mode == Broken {
		f.owed = append(f.owed, d)
		return
	}
	f.store.settle(d)
	f.counts.Debt++
}

// count notes that an operation was carried out.
func (f *Fake) count(op quorum.Op) {
	switch op := op.(type) {
	case withMarker:
		f.count(op.Op)
	case quorum.Acquire:
		f.counts.Acquire++
	case quorum.Read:
		f.counts.Read++
	case quorum.Increment:
		f.counts.Increment++
	case quorum.Commit:
		f.counts.Commit++
	}
}
