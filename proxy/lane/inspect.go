package lane

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rs/zerolog"
)

// Report is what a look at a backend found.
type Report struct {
	Greeting
	RoundTrip time.Duration
	Ahead     time.Duration // the backend's clock less this machine's; right to within half a round trip
	TellsTime bool          // false if the backend would not say; then Ahead means nothing
	Warnings  []string      // what does not take its vote and should be mended
	NoLocks   string        // why it would store no lock at this moment, although it may vote; among the warnings, too
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
