package metrics

import "time"

// Source is asked when somebody wants to know. Both methods may be called from any
// goroutine, and return at once.
type Source interface {
	// Backends are the group's, in the order of the configuration: always the same.
	Backends() []Backend
	Server() Server
}

// Backend is one backend at the moment. Counts begin with the process.
type Backend struct {
	Name  string // its address
	State string // one of States

	Numbers bool // a voter that votes about numbers, too

	Granted, Refused, Failed int64 // its votes

	Waiting   int   // requests in its queue
	Debts     int   // removals that are owed to it
	DebtsLost int64 // removals that were given up because there were too many

	Warnings []string // of Warnings, those that hold

	Restarts     int64     // how often its run_id has changed
	Refills      int64     // how often it has been brought up to date after a loss of memory
	LearnerSince time.Time // zero if it is no learner

	// Drift is how far its clock has moved against this machine's
	// within the last minutes, as far as that is certain; DriftKnown, whether that
	// could be measured.
	Drift      time.Duration
	DriftKnown bool
}

// States are the words for what a backend can do.
var States = []string{"down", "unfit", "stalled", "learner", "voter"}

// voterState is the one of States that counts for a quorum.
const voterState = "voter"

// Warnings are what does not take a backend's vote and should be mended: its eviction
// policy, no right to end old connections, a clock that can't be watched, writes that it
// refuses.
var Warnings = []string{"eviction_policy", "client_kill", "clock", "writes"}

// Server is the proxy at the moment. Counts begin with the process.
type Server struct {
	Quorum              int
	Clients, MaxClients int
	Connections         int64            // accepted so far
	Commands            int64            // so far, those without keys included
	Limits              map[string]int64 // clients turned away or cut off, by the limit; always the same names
	LogLinesDropped     int64
	ReloadRefused       bool // the last reload of the configuration was; the one before it is in force

	// Replication is of interest where there is one backend only.
	Replication Replication
}

// Replication is how far replicas are behind the one backend of topology single.
type Replication struct {
	Replicas int           // connected and following
	Lag      time.Duration // of the worst of them
	Known    bool          // false if there is none, or nothing was heard
}
