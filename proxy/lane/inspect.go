package lane

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rs/zerolog"

	"redlockproxy/quorum/admission"
)

// Report is what a look at a backend found.
type Report struct {
	Greeting
	RoundTrip time.Duration
	Ahead     time.Duration // the backend's clock less this machine's; right to within half a round trip
	TellsTime bool          // false if the backend would not say; then Ahead means nothing
	Warnings  []string      // what does not take its vote and should be mended
	NoLocks   string        // why it would store no lock at this moment, although it may vote; among the warnings, too
	Votes     bool          // by its marker, at least about locks; a group without admission asks for none
	NoVote    string        // why it does not vote, or not about all
	New       bool          // no proxy has ever let it vote, for all that can be seen
	Err       error         // why the backend can't be used, or not be reached
}

// Inspect connects to a backend as a lane would, looks, and goes away again. It
// takes at most five times the connect limit.
func Inspect(ctx context.Context, cfg Config) Report {
	ctx, cancel := context.WithTimeout(ctx, greetings*cfg.Connect)
	defer cancel()
	client := redis.NewClient(options(cfg))
	c := connection{Conn: client.Conn(), client: client}
	defer c.close()
	cfg.Log = zerolog.Nop() // the report says it
	l := &Lane{cfg: cfg}
	r := Report{}
	if r.Greeting, r.Err = l.greet(ctx, c); r.Err != nil {
		return r
	}
	l.judged(&r)
	start := time.Now()
	told, err := c.Time(ctx).Result()
	r.RoundTrip = time.Since(start)
	if err != nil && !isReply(err) {
		r.Err = err
		return r
	}
	if r.TellsTime = err == nil; r.TellsTime {
		r.Ahead = told.Sub(start.Add(r.RoundTrip / 2))
	}
	l.look(r.Greeting)
	if !r.TellsTime {
		l.warn(WarnClock, noClock)
	}
	r.NoLocks = r.refuses()
	for _, w := range Warnings {
		if why := l.warnings[w]; why != "" {
			r.Warnings = append(r.Warnings, why)
		}
	}
	return r
}

// judged notes in a report what the backend's marker says of its vote.
func (l *Lane) judged(r *Report) {
	r.Votes = l.standing.meets(l.cfg.Admission, r.Greeting).token != ""
	if why := l.noVote(); why != nil {
		r.NoVote = why.Error()
	}
	look := l.Look()
	r.New = l.cfg.Admission != nil && (look.Standing == admission.Founding || look.Standing == admission.Unmarked && look.Marker == admission.Marker{})
}
