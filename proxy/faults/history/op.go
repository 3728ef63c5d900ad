package history

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// Kind is what a client asked for.
type Kind string

// The kinds of operations.
const (
	Acquire   Kind = "acquire"   // a lock under Key, with a Token and a TTL
	Fenced    Kind = "fenced"    // an Acquire that draws a number from Counter in the same step
	Extend    Kind = "extend"    // the lock of Token to last TTL from now
	Release   Kind = "release"   // the lock of Token
	Look      Kind = "look"      // whose the lock is; Seen is the token, "" for none
	Increment Kind = "increment" // a number from the counter Key
	Read      Kind = "read"      // the counter Key
)

// Outcome is how an operation ended for its client.
type Outcome string

// The outcomes.
const (
	Done    Outcome = "done"    // the success reply
	Refused Outcome = "refused" // nil or 0: somebody else has it, it is not yours
	Failed  Outcome = "failed"  // an error reply: not done, or not known to be
	Unknown Outcome = "unknown" // no reply: it may have been done, or may still be
)

// Op is one operation as its client saw it.
type Op struct {
	Client  int
	Kind    Kind
	Key     string
	Token   string // of locks; no two attempts have the same
	Counter string // of Fenced
	TTL     time.Duration

	Call, Return time.Duration // since the beginning of the history
	Outcome      Outcome
	Number       int64  // what Fenced, Increment and Read were told
	Seen         string // what Look was told
	Note         string // for people: which way it went, what the error said
}

func (o Op) String() string {
	return fmt.Sprintf("%9.3f %9.3f client %d %s %s %s ttl %s: %s %d %s %s",
		millis(o.Call), millis(o.Return), o.Client, o.Kind, o.Key, o.Token, o.TTL, o.Outcome, o.Number, o.Seen, o.Note)
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// A Recorder collects operations of many clients.
type Recorder struct {
	began time.Time

	mu  sync.Mutex
	ops []Op
}

// maxOps bounds what a Recorder keeps, far above what a history of some seconds has;
// a loop that runs wild then ends the test and not the machine.
const maxOps = 1_000_000

// NewRecorder begins a history now.
func NewRecorder() *Recorder { return &Recorder{began: time.Now()} }

// Now is the time since the history's beginning.
func (r *Recorder) Now() time.Duration { return time.Since(r.began) }

// Add writes an operation down, whose Return is not before its Call.
func (r *Recorder) Add(o Op) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.ops) == maxOps {
		panic("history: too many operations")
	}
	r.ops = append(r.ops, o)
}

// Ops are the operations so far, by the time of their calls.
func (r *Recorder) Ops() []Op {
	r.mu.Lock()
	defer r.mu.Unlock()
	ops := slices.Clone(r.ops)
	slices.SortStableFunc(ops, func(a, b Op) int { return cmp.Compare(a.Call, b.Call) })
	return ops
}

// Trace is the story of a history, for people.
func Trace(ops []Op) string {
	var b strings.Builder
	for _, o := range ops {
		fmt.Fprintln(&b, o)
	}
	return b.String()
}
