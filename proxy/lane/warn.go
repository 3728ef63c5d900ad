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
	WarnWrites   Warning = "writes"          // it refuses to write: it is full, or its disk is
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

// full is why the backend can't store anything more.
func (g Greeting) full() string {
	if g.MaxMemory == "" || g.MaxMemory == "0" || len(g.UsedMemory) < len(g.MaxMemory) ||
		len(g.UsedMemory) == len(g.MaxMemory) && g.UsedMemory < g.MaxMemory {
		return ""
	}
	return "its memory is full (maxmemory): it takes no locks, and releases still work"
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
		return "its memory is full (maxmemory): it takes no locks, and releases still work"
	case "MISCONF", "NOREPLICAS":
		return "it refuses to write: " + reply.Error()
	}
	return ""
}
