package replication

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// every is how often the primary is asked, which is also how exact a lag is.
const every = 50 * time.Millisecond

// patience is how long an answer is waited for, and how old one may be to count.
const patience = time.Second

// Lag is how far replicas are behind.
type Lag struct {
	Replicas int           // connected, and done with their first synchronisation
	Worst    time.Duration // of the one that is furthest behind; at most a minute
	Known    bool          // false if there is none, or the primary does not answer
}

// A Watch asks one primary again and again, over a connection of its own.
type Watch struct {
	options redis.Options
	stop    context.CancelFunc
	ended   chan struct{}

	mu   sync.Mutex
	last Lag
	at   time.Time // when last was measured
}

// Open begins to watch the primary that the options lead to. Close it.
func Open(o redis.Options) *Watch {
	o.MaxRetries, o.DialerRetries = -1, 1
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout = patience, patience, patience
	o.ContextTimeoutEnabled, o.DisableIdentity, o.Protocol = true, true, 2
	o.PoolSize, o.MinIdleConns = 2, 0 // one is used; with room for its successor
	ctx, stop := context.WithCancel(context.Background())
	w := &Watch{options: o, stop: stop, ended: make(chan struct{})}
	go func() {
		defer close(w.ended)
		w.run(ctx)
	}()
	return w
}

// Close ends the watch and waits for it.
func (w *Watch) Close() {
	w.stop()
	<-w.ended
}

// Lag is what was measured last.
func (w *Watch) Lag() Lag {
	w.mu.Lock()
	defer w.mu.Unlock()
	if time.Since(w.at) > patience+2*every {
		return Lag{}
	}
	return w.last
}

// connect makes a client. A new one is made after each failure: a pool whose dials
// have failed goes on dialling by itself, and outlives its Close.
func (w *Watch) connect() *redis.Client {
	o := w.options // the client takes it over
	return redis.NewClient(&o)
}

func (w *Watch) run(ctx context.Context) {
	var l lags
	client := w.connect()
	defer func() { _ = client.Close() }() // nothing is under way
	for pause := time.Duration(0); ; {
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
		text, err := client.Info(ctx, "replication").Result()
		if err != nil {
			pause = patience // the age of what is known tells
			_ = client.Close()
			client = w.connect()
			continue
		}
		pause = every
		s := parse(text)
		now := time.Now()
		worst, known := l.note(now, s)
		w.mu.Lock()
		w.last, w.at = Lag{Replicas: len(s.replicas), Worst: worst, Known: known}, now
		w.mu.Unlock()
	}
}

// parse reads INFO replication. Replicas that are not online yet have no lag: they
// have nothing.
func parse(info string) state {
	var s state
	for line := range strings.Lines(info) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if name == "master_repl_offset" {
			s.offset, _ = strconv.ParseInt(value, 10, 64)
		}
		number, isSlave := strings.CutPrefix(name, "slave")
		if _, err := strconv.Atoi(number); !isSlave || err != nil {
			continue
		}
		if r, online := parseReplica(value); online {
			s.replicas = append(s.replicas, r)
		}
	}
	return s
}

// parseReplica reads ip=…,port=…,state=online,offset=…,lag=….
func parseReplica(value string) (r replica, online bool) {
	var ip, port string
	for part := range strings.SplitSeq(value, ",") {
		name, text, _ := strings.Cut(part, "=")
		switch name {
		case "ip":
			ip = text
		case "port":
			port = text
		case "state":
			online = text == "online"
		case "offset":
			r.offset, _ = strconv.ParseInt(text, 10, 64)
		}
	}
	r.name = ip + " " + port
	return r, online
}
