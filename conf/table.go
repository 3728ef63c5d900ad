package conf

import "time"

// A section is a part of the table with a heading of its own.
type section struct {
	name, doc string
	rows      func(t *fields, c *Config)
}

// sections are in the order in which the file, the help text and a printed
// Config show them.
var sections = [...]section{
	{"server", "What clients see: where they connect, who may, and what each may take up.", serverRows},
	{"group", "The Redis servers that vote.", groupRows},
	{"lock", "What the proxy does when proxies split the vote among themselves.", lockRows},
	{"lane", "The connection to each backend.", laneRows},
	{"script", "What a client's Lua script may use. Scripts run in the proxy, never on a backend.", scriptRows},
	{"log", "One line per acquisition, with what was decided and by how many backends.", logRows},
}

// Why settings can't change while the proxy runs.
const (
	clientsKnow = "clients and health checks were told this address"
	groupsAgree = "all proxies of a group must agree on it"
	refillsWait = "a refill of a backend waits for votes as long as this says, in every proxy"
	roundsGoBy  = "rounds are under way that go by it"
	lanesGoBy   = "the connections to the backends are used by it, and they stay"
)

// table is the list of all settings, each tied to its place in c.
func table(c *Config) fields {
	var t fields
	for _, s := range sections {
		s.rows(&t, c)
	}
	return t
}

func lockRows(t *fields, c *Config) {
	l := &c.Lock
	t.number("lock.attempts", &l.Attempts, 3, 1, 20,
		`How many rounds a SET NX may take when the vote is split.
A split vote means that several clients asked at once and none got a majority:
nobody holds the lock, and asking again after a random pause usually settles it.
A lock that somebody does hold is answered at once, whatever this says.`).fixed(roundsGoBy)
	t.duration("lock.retry_delay", &l.RetryDelay, 50*time.Millisecond, 0, 5*time.Second,
		`The pause between two rounds after a split vote.
All rounds together never take longer than server.answer_within.`).fixed(roundsGoBy)
	t.duration("lock.retry_jitter", &l.RetryJitter, 50*time.Millisecond, 0, 5*time.Second,
		`The longest random time added to retry_delay.
Danger: with 0 proxies that split the vote once tend to split it again.`).fixed(roundsGoBy)
}

func laneRows(t *fields, c *Config) {
	l := &c.Lane
	t.duration("lane.connect", &l.Connect, 100*time.Millisecond, 10*time.Millisecond, 10*time.Second,
		`The longest time for connecting to a backend, TLS and login included.
Raise it where backends are far away or use TLS on slow machines.`).fixed(lanesGoBy)
	t.duration("lane.vote", &l.Vote, 100*time.Millisecond, 5*time.Millisecond, 10*time.Second,
		`How long a round waits for one backend; at most server.answer_within.
A backend that takes longer counts as failed for this round. Danger: below the
usual round trip plus a pause of a busy Redis, healthy backends fail rounds.`).fixed(lanesGoBy)
	t.duration("lane.stall", &l.Stall, 3*time.Second, 100*time.Millisecond, time.Minute,
		`How long a connection may stay silent while requests wait on it, before it is given up.
It is longer than lane.vote on purpose: a request that was sent may still be
carried out, and its undo can follow it in order only on the same connection.
Danger: short values close connections to backends that only paused.`).fixed(lanesGoBy)
	t.number("lane.batch_requests", &l.BatchRequests, 256, 1, 10_000,
		`The most requests in one pipeline to a backend; at most lane.queue.`).fixed(lanesGoBy)
	t.number("lane.batch_bytes", &l.BatchBytes, 64<<10, 1<<10, 16<<20,
		`About how many bytes go into one pipeline to a backend.
A single request that is larger goes alone.`).fixed(lanesGoBy)
	t.number("lane.queue", &l.Queue, 4096, 16, 1_000_000,
		`The most requests that wait for one backend; what is over it fails at once.
Memory: this many requests for each backend at worst.`).fixed(lanesGoBy)
	t.number("lane.debts", &l.Debts, 10_000, 100, 1_000_000,
		`The most removals that are kept for a backend that is out of reach.
Danger: when there are more, the leftovers stay on that backend until their ttl
ends, and there stand in the way of new locks as one vote against.`).fixed(lanesGoBy)
	t.duration("lane.backoff_min", &l.BackoffMin, 10*time.Millisecond, time.Millisecond, 10*time.Second,
		`The pause after the first failed attempt to connect; it doubles up to backoff_max.`).fixed(lanesGoBy)
	t.duration("lane.backoff_max", &l.BackoffMax, 500*time.Millisecond, 10*time.Millisecond, time.Minute,
		`The longest pause between two attempts to connect.
It is also how long a backend that is back may go unnoticed.`).fixed(lanesGoBy)
}

func scriptRows(t *fields, c *Config) {
	s := &c.Script
	t.number("script.max_source", &s.MaxSource, 64<<10, 1<<10, 1<<20,
		`The longest script, in bytes; less than server.max_command_bytes.`).live()
	t.number("script.max_steps", &s.MaxSteps, 1_000_000, 1_000, 1_000_000_000,
		`The most VM instructions that one run may take.
Danger: a client may keep one core busy for as long as this allows.`).live()
	t.duration("script.max_time", &s.MaxTime, 50*time.Millisecond, time.Millisecond, 10*time.Second,
		`The longest time that one run may take in the VM; at most server.answer_within.
Waiting for backends does not count, nor does waiting for other long scripts: those
that compute for more than about a quarter of a millisecond run one at a time. With all
that waiting a script has server.answer_within.`).live()
	t.number("script.cache", &s.Cache, 1000, 10, 100_000,
		`How many scripts are kept for EVALSHA; the one not used for longest goes first.
Memory: up to script.max_source bytes for each, and the compiled form.`).live()
}

func logRows(t *fields, c *Config) {
	t.choice("log.level", &c.Log.Level, "info", []string{"trace", "debug", "info", "warn", "error", "disabled"},
		`The least important lines that are written.
info has one line per acquisition, debug also one per release, extension and
counter. Lock tokens and passwords are in none of them.`).live()
	t.choice("log.format", &c.Log.Format, "json", []string{"json", "console"},
		`json for machines, console for people at a terminal (slower).`).fixed("who reads the log relies on one form")
}
