package lane

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rs/zerolog"

	"redlockproxy/quorum"
	"redlockproxy/quorum/admission"
)

// Config is one lane's. All durations are > 0.
type Config struct {
	Index int    // the backend's place in its group, from 0
	Name  string // how the backend is called in logs: its address, never a credential

	// Options say where the backend is and how to log in; see Access.Options. Lane sets
	// everything in them that its promises depend on.
	Options redis.Options

	Connect time.Duration // limit for a TCP connection; five of it for the whole greeting
	Vote    time.Duration // a batch that takes longer makes the lane stalled
	Stall   time.Duration // a batch that takes longer ends the connection

	BackoffMin, BackoffMax time.Duration // between two attempts to connect

	BatchRequests, BatchBytes int // the most that one pipeline takes
	Queue                     int // the most requests that wait
	Debts                     int // the most removals that are kept

	// Admission is how the backend's marker is judged: only a backend that is admitted
	// votes, though each gets every write. Nil lets every backend vote that is fit.
	Admission *admission.Rule

	// Twin is told the run_id of each process that is met, and names another backend
	// of the group that is the same process, if there is one. Nil for no such look.
	Twin func(runID string) (name string)

	// RoundTrip is told how long each batch took, by the lane's goroutine; nil for nobody.
	RoundTrip func(time.Duration)

	// Votes says in a line of the log what a change of this backend's state means for
	// the group; nil for nothing.
	Votes func() string

	Log zerolog.Logger
}

// State is what a lane can do at the moment.
type State int32

// The states.
const (
	Down    State = iota // no connection
	Unfit                // connected, but the backend must not be used as it is
	Stalled              // connected, but the backend has not answered for longer than a vote may take
	Learner              // gets all writes, has no vote
	Voter

	unreported State = -1
)

func (s State) String() string {
	return [...]string{"down", "unfit", "stalled", "learner", "voter"}[s]
}

// Errors in answers, for people.
var (
	errDown    = errors.New("not connected")
	errStalled = errors.New("does not answer")
	errFull    = errors.New("too many requests are waiting")
	errLate    = errors.New("the time for it was over before it could be sent")
	errLearner = errors.New("has no vote")
	errClosed  = errors.New("closed")
)

// maxQueueBytes bounds the calls that wait for one backend, beside Config.Queue, and
// maxDebtBytes its debts, beside Config.Debts. Those of locks have some hundred bytes,
// so the numbers decide; a client that writes values of half a megabyte would fill the
// memory long before. Only what is large itself is refused for it: large values must
// not keep others' locks from being voted on.
const (
	maxQueueBytes = 4 << 20
	maxDebtBytes  = 4 << 20
	largeBytes    = 4 << 10
)

// A Lane is an ordered connection to one backend. It implements quorum.Backend.
type Lane struct {
	cfg Config

	state     atomic.Int32
	busySince atomic.Int64 // when the batch under way was sent, in Unix nanoseconds; 0 for none
	roundTrip atomic.Int64 // of the last probe, in nanoseconds
	lostDebts atomic.Int64
	counts    counts
	clock     clock

	mu    sync.Mutex
	open  bool // a connection serves the queue
	queue []item
	bytes int // about what the calls in queue take
	debts ledger
	wake  chan struct{}

	greeting Greeting // the last one
	warnings warnings
	noted    State // the state that was reported last, logged or not
	since    time.Time
	reason   string

	// Only the run goroutine uses these.
	connID   int64 // the last connection's number at the backend
	runID    string
	reporter reporter

	standing standing
	aside    aside
	probes   chan struct{} // holds at most one wish to look at the backend at once
	logins   chan struct{} // holds at most one wish to show the credentials again

	tried   chan struct{} // closed after the first attempt to connect
	stop    context.CancelFunc
	stopped chan struct{}
}

var _ quorum.Backend = (*Lane)(nil)

// An item is a call, a mark in the queue, or else a debt.
type item struct {
	call *quorum.Call
	mark chan struct{} // closed when everything before it has been answered
	debt quorum.Debt
}

// Open starts a lane. It connects in the background and keeps trying.
func Open(cfg Config) *Lane {
	ctx, stop := context.WithCancel(context.Background())
	l := &Lane{
		cfg:      cfg,
		reporter: reporter{told: unreported},
		wake:     make(chan struct{}, 1),
		probes:   make(chan struct{}, 1),
		logins:   make(chan struct{}, 1),
		aside:    aside{cfg: cfg},
		tried:    make(chan struct{}),
		stop:     stop,
		stopped:  make(chan struct{}),
	}
	go func() {
		defer close(l.stopped)
		l.run(ctx)
	}()
	return l
}

// Close ends the lane and waits for it. Requests that wait are answered Failed.
func (l *Lane) Close() {
	l.stop()
	<-l.stopped
	l.aside.close() // nothing is under way: whoever asks ends before
}

// Flush waits until everything that is queued by now has been answered, or until ctx
// ends. A lane that is down or stalled is not worth waiting for.
func (l *Lane) Flush(ctx context.Context) {
	mark := make(chan struct{})
	l.mu.Lock()
	open := l.open && !l.stalled()
	if open {
		l.queue = append(l.queue, item{mark: mark})
		l.signal()
	}
	l.mu.Unlock()
	if !open {
		return
	}
	select {
	case <-mark:
	case <-ctx.Done():
	}
}

// State is what the lane can do at the moment.
func (l *Lane) State() State {
	state := State(l.state.Load())
	if state >= Learner && l.stalled() {
		return Stalled
	}
	return state
}

// Tried is closed when the first attempt to connect has ended, well or not.
func (l *Lane) Tried() <-chan struct{} { return l.tried }

// Name is how the backend is called in logs.
func (l *Lane) Name() string { return l.cfg.Name }

// Send implements quorum.Backend.
func (l *Lane) Send(call *quorum.Call) {
	if err := l.enqueue(call); err != nil {
		l.vote(call, quorum.Answer{Vote: quorum.Failed, Unsent: true, Err: err})
	}
}

func (l *Lane) enqueue(call *quorum.Call) error {
	if l.stalled() {
		return errStalled
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case !l.open:
		return errDown
	case len(l.queue)-l.debts.queued >= l.cfg.Queue, l.bytes > maxQueueBytes && size(call.Op) > largeBytes:
		return errFull
	}
	l.queue = append(l.queue, item{call: call})
	l.bytes += size(call.Op)
	l.signal()
	return nil
}

// stalled tells whether the batch under way takes longer than a vote may.
func (l *Lane) stalled() bool {
	since := l.busySince.Load()
	return since != 0 && time.Now().UnixNano()-since > int64(l.cfg.Vote)
}

func (l *Lane) signal() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// waiting is how many requests and debts are in the queue, and whether that is a batch.
func (l *Lane) waiting() (n int, full bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n = len(l.queue)
	return n, n >= l.cfg.BatchRequests || l.bytes+l.debts.waits >= l.cfg.BatchBytes
}

// take removes from the queue what goes into one batch, and leaves out what is
// too late for it.
func (l *Lane) take(batch []item) []item {
	l.mu.Lock()
	n, bytes := 0, 0
	now := time.Now()
	var late []*quorum.Call
	for n < len(l.queue) && len(batch) < l.cfg.BatchRequests && bytes < l.cfg.BatchBytes {
		it := l.queue[n]
		if it.mark != nil && len(batch) > 0 {
			break // what is in the batch comes before it
		}
		n++
		switch {
		case it.mark != nil:
			close(it.mark)
		case it.call == nil:
			l.debts.queued--
			l.debts.waits -= debtSize(it.debt)
			l.debts.sent++
			batch = append(batch, it)
			bytes += debtSize(it.debt)
		case now.After(it.call.Deadline):
			l.bytes -= size(it.call.Op)
			late = append(late, it.call)
		default:
			l.bytes -= size(it.call.Op)
			batch = append(batch, it)
			bytes += size(it.call.Op)
		}
	}
	rest := copy(l.queue, l.queue[n:])
	clear(l.queue[rest:])
	l.queue = l.queue[:rest]
	if rest > 0 {
		l.signal()
	}
	l.mu.Unlock()
	for _, c := range late {
		l.vote(c, quorum.Answer{Vote: quorum.Failed, Unsent: true, Err: errLate})
	}
	return batch
}

// up opens the queue; the debts that were kept come first.
func (l *Lane) up() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open = true
	l.sendDebts()
	l.signal()
}

// down closes the queue and fails what waits in it.
func (l *Lane) down(err error) {
	l.mu.Lock()
	waiting := l.queue
	l.open, l.queue, l.bytes, l.debts.queued, l.debts.waits = false, nil, 0, 0, 0
	for _, it := range waiting {
		if it.call == nil && it.mark == nil {
			l.debts.kept = append(l.debts.kept, it.debt)
		}
	}
	l.mu.Unlock()
	for _, it := range waiting {
		switch {
		case it.mark != nil:
			close(it.mark)
		case it.call != nil:
			l.vote(it.call, quorum.Answer{Vote: quorum.Failed, Unsent: true, Err: err})
		}
	}
}
