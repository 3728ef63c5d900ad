package status

import "time"

// Facts are how a proxy is at the moment.
type Facts struct {
	Version  string    `json:"version"`
	Group    string    `json:"group"`
	Topology string    `json:"topology"` // single or redlock
	At       time.Time `json:"at"`
	Uptime   float64   `json:"uptime_seconds"`

	Backends []Backend `json:"backends"`
	Voters   int       `json:"voters"`
	Quorum   int       `json:"quorum"`
	Votes    string    `json:"votes"` // what these mean, in words

	SuccessRate float64                     `json:"success_rate"` // of acquisitions in five minutes; 1 if there were none
	Operations  map[string]map[string]int64 `json:"operations"`   // by operation and outcome, since the start
	Stale       int64                       `json:"stale_fencing_tokens"`

	Clients     int              `json:"clients"`
	MaxClients  int              `json:"clients_max"`
	Commands    int64            `json:"commands"`
	Connections int64            `json:"connections"`
	Limits      map[string]int64 `json:"limits_hit"` // those that were hit
	LinesLost   int64            `json:"log_lines_dropped"`

	Replication *Replication `json:"replication,omitempty"` // topology single

	SlotSeconds float64 `json:"slot_seconds"` // what one Slot stands for
	History     []Slot  `json:"history"`      // five minutes, the oldest first
}

// Backend is one backend at the moment.
type Backend struct {
	Name      string  `json:"name"`
	State     string  `json:"state"`
	Reason    string  `json:"reason,omitempty"` // why it has no vote or not all, or needs a look
	Since     float64 `json:"state_seconds"`    // for how long it has been in this state
	Role      string  `json:"role,omitempty"`
	Version   string  `json:"version,omitempty"`
	RunID     string  `json:"run_id,omitempty"`
	RoundTrip float64 `json:"round_trip_ms"`
	// Drift is how far its clock has moved within five minutes; nil while unknown.
	Drift     *float64 `json:"drift_ms"`
	Restarts  int64    `json:"restarts"`
	Refills   int64    `json:"refills"`
	Debts     int      `json:"debts"`
	DebtsLost int64    `json:"debts_lost"`
	Waiting   int      `json:"waiting"`
	Granted   int64    `json:"granted"`
	Refused   int64    `json:"refused"`
	Failed    int64    `json:"failed"`
	Warnings  []string `json:"warnings,omitempty"` // what should be mended
}

// Replication is how far replicas are behind a single backend.
type Replication struct {
	Replicas int     `json:"replicas"`
	Lag      float64 `json:"lag_ms"`
	Known    bool    `json:"known"`
}

// Slot is what happened within some seconds.
type Slot struct {
	Won     int64    `json:"won"`
	Refused int64    `json:"refused"`
	Failed  int64    `json:"failed"`
	Mean    float64  `json:"mean_ms"`
	Longest float64  `json:"longest_ms"`
	Voters  int      `json:"voters"` // the fewest there were; -1 where nobody looked
	States  []string `json:"states"` // the worst of each backend's; none where nobody looked
}
