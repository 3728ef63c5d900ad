package lane

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"redlockproxy/proxy/socket"
	"redlockproxy/quorum/admission"
)

// options are the caller's, with everything spelled out that the lane's promises
// depend on. go-redis's defaults would break locks.
func options(cfg Config) *redis.Options {
	o := cfg.Options
	// A SET NX sent again answers "not acquired" for a lock that its first try took;
	// an INCR sent again counts twice.
	o.MaxRetries = -1
	// Five dials with pauses between them are the default; the lane has its own pause.
	o.DialerRetries = 1
	o.DialTimeout = cfg.Connect
	// Without it the deadlines of contexts are ignored.
	o.ContextTimeoutEnabled = true
	o.ReadTimeout = cfg.Stall
	o.WriteTimeout = cfg.Stall
	// One connection, in order: no second pool for pipelines, nothing pushed into the
	// stream of replies, nobody else's commands between ours.
	o.PipelinePoolSize = -1
	// The lane takes one connection out of the pool and no other. There is room for two
	// because a pool all of whose connections could not be dialled goes on dialling.
	o.PoolSize = 2
	o.MaxActiveConns = 0
	o.MinIdleConns = 0
	o.ConnMaxIdleTime = -1
	o.ConnMaxLifetime = -1
	o.Protocol = 2
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	o.DisableIdentity = true
	if o.Dialer == nil {
		o.Dialer = dialer(o)
	}
	return &o
}

// dialer is go-redis's own for these options, but its sockets cost less to use. With
// TLS there is no socket to be seen, and it stays as it is.
func dialer(o redis.Options) func(ctx context.Context, network, addr string) (net.Conn, error) {
	dial := redis.NewDialer(&o)
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return socket.Direct(c), nil
	}
}

// Greeting is what a backend says of itself when a connection begins. Fields that
// it would not tell are empty.
type Greeting struct {
	RunID, Version string
	Role           string // master, slave
	ReplID2        string // the replication history that it went on from when it became a primary; "" if none is remembered
	Cluster        bool
	Policy         string // maxmemory-policy
	MaxMemory      string // bytes; 0 for no limit
	UsedMemory     string // bytes
	Refusal        string // why it turned a write away that would have changed nothing; "" if it did not
	Evicted        int64  // keys that it has dropped since it was started; -1 if it does not say
	Marker         string // the text of its marker; "" if it has none
}

func (g Greeting) dialect() dialect {
	// A backend that does not tell its version is no real Redis; the newest is
	// the likeliest to be imitated.
	return dialect{setNXGet: g.Version == "" || majorVersion(g.Version) >= 7}
}

// unfitError says that a backend must not be used as it is.
type unfitError string

func (e unfitError) Error() string { return string(e) }

func (g Greeting) replica() bool { return g.Role != "" && g.Role != primary }

// unfit is why a backend with this greeting can't be used.
func (g Greeting) unfit() error {
	switch {
	case g.replica():
		return unfitError("it is a replica: its primary decides what it holds; list independent primaries")
	case g.Cluster:
		return unfitError("it is in cluster mode: failovers forget locks; list independent primaries")
	}
	if why, unfit := g.evicts(); unfit {
		return unfitError(why)
	}
	return nil
}

// unfit is why the backend can't be used by this group.
func (l *Lane) unfit(g Greeting) error {
	if err := g.unfit(); err != nil {
		return err
	}
	if l.cfg.Twin != nil && g.RunID != "" {
		if name := l.cfg.Twin(g.RunID); name != "" {
			return unfitError("it is the same server as " + name + ": it must not vote twice")
		}
	}
	rule := l.cfg.Admission
	switch {
	case rule == nil:
		return nil
	case g.RunID == "":
		return unfitError("it does not tell its run_id, so that nobody could know whether it has restarted: give the proxy's user the right to INFO")
	}
	if m, standing := rule.Judge(g.Marker, g.RunID); standing == admission.Foreign {
		return foreign(*rule, m)
	}
	return nil
}

// foreign is why a backend with this marker can't be used by the rule's group.
func foreign(rule admission.Rule, m admission.Marker) error {
	is := "has a marker that can't be read"
	if m.Group != "" {
		is = "is marked as " + m.Identity.String()
	}
	return unfitError(fmt.Sprintf("it %s, and this group has it as %s: two lists could decide against each other; correct group.name or group.backends, "+
		"or, if the server is to change its group, delete its key %s", is, rule.Identity, admission.MarkerKey))
}

// A connection is one TCP connection, with a go-redis client of its own: a pool
// shared with the next one could hand the old one out again.
type connection struct {
	*redis.Conn
	client *redis.Client
}

func (c connection) close() {
	_ = c.Conn.Close() // nothing is lost by an error here: its answers have been delivered or failed
	_ = c.client.Close()
}

// greetings is how many connect limits the whole of connecting takes at most: TCP,
// TLS, login, greeting and fence are a round trip or two each.
const greetings = 5

// connect makes a connection and greets the backend.
func (l *Lane) connect(ctx context.Context) (connection, Greeting, error) {
	ctx, cancel := context.WithTimeout(ctx, greetings*l.cfg.Connect)
	defer cancel()
	client := redis.NewClient(options(l.cfg))
	c := connection{Conn: client.Conn(), client: client}
	g, err := l.greet(ctx, c)
	if err != nil {
		c.close()
		if _, unfit := err.(unfitError); !unfit {
			err = fmt.Errorf("backend %s: %w", l.cfg.Name, err)
		}
	}
	return c, g, err
}

func (l *Lane) greet(ctx context.Context, c connection) (Greeting, error) {
	pipe := c.Pipeline()
	id := pipe.Do(ctx, "CLIENT", "ID")
	told := askInfo(ctx, pipe)
	mark := pipe.Do(ctx, "GET", string(admission.MarkerKey))
	loads := make([]*redis.Cmd, len(scripts))
	for i, script := range scripts {
		loads[i] = pipe.Do(ctx, "SCRIPT", "LOAD", script.text)
	}
	if err := exec(ctx, pipe); err != nil {
		return Greeting{}, err
	}
	for _, load := range loads {
		// A login that is missing and a backend that is still loading show here.
		if err := load.Err(); err != nil {
			return Greeting{}, err
		}
	}
	g := told()
	l.standing.notes(g) // even if it can't be used as it is
	var marked bool
	g.Marker, marked = markerText(mark)
	l.meet(g)
	if err := l.unfit(g); err != nil {
		return g, err
	}
	if !marked && l.cfg.Admission != nil {
		return g, fmt.Errorf("its marker can't be read: %w", mark.Err())
	}
	if err := l.fence(ctx, c, g); err != nil {
		return g, err
	}
	if n, err := id.Int64(); err == nil {
		l.connID, l.runID = n, g.RunID
	}
	return g, nil
}

// fence ends the connection before this one at the backend, so that nothing of it
// that is still unread there can run any more. A backend that has restarted since
// has lost it anyway, and may have given its number to somebody else.
func (l *Lane) fence(ctx context.Context, c connection, g Greeting) error {
	old := l.connID
	if g.RunID != l.runID {
		old = 0 // nobody's: this only shows whether it is allowed
	}
	err := c.Do(ctx, "CLIENT", "KILL", "ID", old).Err()
	if err != nil && !isReply(err) {
		return err
	}
	why := ""
	if isNoPermission(err) || err != nil && old != 0 && !strings.Contains(err.Error(), "No such client") {
		why = "an old connection can't be ended, so what is on its way there may run late: give the proxy's user the right to CLIENT KILL (" + err.Error() + ")"
	}
	l.warn(WarnKill, why)
	return nil
}

// askInfo adds to a pipeline what a backend is asked about itself, and gives back how to
// pick what matters out of the replies; what the backend would not tell stays empty.
func askInfo(ctx context.Context, pipe redis.Pipeliner) (told func() Greeting) {
	server := pipe.Do(ctx, "INFO", "server")
	replication := pipe.Do(ctx, "INFO", "replication")
	memory := pipe.Do(ctx, "INFO", "memory")
	stats := pipe.Do(ctx, "INFO", "stats")
	// Whether it takes writes depends on settings that it would not tell everybody. So it
	// is asked for one: the marker never has a ttl that this could take away.
	write := pipe.Do(ctx, "PERSIST", string(admission.MarkerKey))
	return func() Greeting {
		g := greeting(server, replication, memory, stats)
		g.Refusal = refusesWrites(write.Err())
		return g
	}
}

func greeting(server, replication, memory, stats *redis.Cmd) Greeting {
	text, _ := server.Text()
	repl, _ := replication.Text()
	mem, _ := memory.Text()
	stat, _ := stats.Text()
	evicted, err := strconv.ParseInt(infoField(stat, "evicted_keys"), 10, 64)
	if err != nil {
		evicted = -1
	}
	return Greeting{
		RunID:   infoField(text, "run_id"),
		Version: infoField(text, "redis_version"),
		Cluster: infoField(text, "redis_mode") == "cluster",
		Role:    infoField(repl, "role"),
		ReplID2: strings.Trim(infoField(repl, "master_replid2"), "0"), // all zeros for none
		Policy:  infoField(mem, "maxmemory_policy"),

		MaxMemory: infoField(mem, "maxmemory"), UsedMemory: infoField(mem, "used_memory"), Evicted: evicted,
	}
}

// infoField is the value of one field in a reply to INFO, "" if it is not there.
func infoField(info, field string) string {
	for line := range strings.Lines(info) {
		if name, value, _ := strings.Cut(strings.TrimSpace(line), ":"); name == field {
			return value
		}
	}
	return ""
}
