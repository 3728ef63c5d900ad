package lane

import (
	"errors"
	"strings"

	"github.com/redis/go-redis/v9"
)

// A Warning is something about a backend that does not take its vote and should be
// mended.
type Warning string

// The warnings.
const (
	WarnEviction Warning = "eviction_policy" // it would drop keys if it had a limit of memory
	WarnKill     Warning = "client_kill"     // an old connection can't be ended
	WarnClock    Warning = "clock"           // its clock can't be watched
	WarnWrites   Warning = "writes"          // it refuses to write: it or its disk is full, or its replicas are missing
)

// Warnings are all of them.
var Warnings = []Warning{WarnEviction, WarnKill, WarnClock, WarnWrites}

// warnings are those that hold at the moment, with their reasons.
type warnings map[Warning]string

// warn notes a warning, or with "" that it does not hold any more. Each is logged once,
// until it has been gone.
func (l *Lane) warn(w Warning, why string) {
	l.mu.Lock()
	was := l.warnings[w]
	if l.warnings == nil {
		l.warnings = warnings{}
	}
	if why == "" {
		delete(l.warnings, w)
	} else {
		l.warnings[w] = why
	}
	l.mu.Unlock()
	switch {
	case was == "" && why != "":
		l.cfg.Log.Warn().Str("backend", l.cfg.Name).Str("warning", string(w)).Str("reason", why).Msg("backend needs a look")
	case was != "" && why == "":
		l.cfg.Log.Info().Str("backend", l.cfg.Name).Str("warning", string(w)).Msg("backend's warning is over")
	}
}

// evicts is why the backend's eviction policy drops locks, as a warning as long as it
// has no limit of memory at which it would.
func (g Greeting) evicts() (why string, unfit bool) {
	if g.Policy == "" || g.Policy == "noeviction" {
		return "", false
	}
	if g.MaxMemory == "" || g.MaxMemory == "0" {
		return "its maxmemory-policy is " + g.Policy + ": with a limit of memory it would drop locks; set noeviction", false
	}
	return "its maxmemory-policy is " + g.Policy + ", and it has a limit of memory: it drops locks when that is reached; set noeviction", true
}

// refuses is why the backend does not write at the moment.
//
// Such a backend keeps its state, and with it its place among the voters. It is what it
// was, and has forgotten nothing, so there is nothing to refill it with; its answer to
// each write that it turns away is a failed vote, which grants nothing and is no refusal
// either. What it can still do counts: its reads, and on one that is full the releases
// and extensions, without which three full backends would keep every lock that is held.
// And since it may write again at any moment, when a key has expired or a replica is
// back, a state could only tell how it was a while ago; each vote tells how it is.
func (g Greeting) refuses() string {
	if g.Refusal == "" && g.full() {
		return refusesFull // PERSIST needs no memory, and is done all the same
	}
	return g.Refusal
}

const refusesFull = "its memory is full (maxmemory): it takes no locks, and releases still work"

// full tells whether the backend can't store anything more.
func (g Greeting) full() bool {
	return g.MaxMemory != "" && g.MaxMemory != "0" &&
		(len(g.UsedMemory) > len(g.MaxMemory) || len(g.UsedMemory) == len(g.MaxMemory) && g.UsedMemory >= g.MaxMemory)
}

// refusesWrites is why a backend turned a write away although it may be asked, "" if
// that is not what its answer says.
func refusesWrites(err error) string {
	if err == nil {
		return "" // mostly, and without the memory that a look at an error takes
	}
	var reply redis.Error
	if !errors.As(err, &reply) {
		return ""
	}
	switch word, _, _ := strings.Cut(reply.Error(), " "); word {
	case "OOM":
		return refusesFull
	case "MISCONF", "NOREPLICAS":
		return "it takes no locks and no releases: " + reply.Error()
	}
	return ""
}
