package admission

import (
	"crypto/rand"
	"fmt"
	"strconv"
	"strings"
	"time"

	"redlockproxy/quorum"
)

// MarkerKey is where each backend keeps its marker.
const MarkerKey = quorum.MarkerKey

// Role is what a marker makes of its backend.
type Role string

// The roles.
const (
	Voter   Role = "voter"   // it has forgotten nothing since it was admitted
	Locker  Role = "locker"  // a voter about locks; what it knows of numbers may be old
	Learner Role = "learner" // it is being refilled
	Founder Role = "founder" // all backends of the group were without a marker
)

// Identity is what one backend is to its group, the same for every proxy of it: the
// group's fingerprint. Two proxies with different lists could form two majorities that
// need not meet.
type Identity struct {
	Group string // the group's name: letters, digits, dots, - and _
	N     int    // how many backends the group has
	Place int    // this backend's place in the list, from 1
}

func (id Identity) String() string { return fmt.Sprintf("%s %d/%d", id.Group, id.Place, id.N) }

// A Marker is what a backend keeps about its own admission.
type Marker struct {
	Identity
	Role  Role
	RunID string // of the server process that it was written for

	// Token is new each time that a marker is written into a place without the one
	// before. Two looks at a backend that find the same token have nothing between
	// them that lost the backend's memory: whatever loses it loses the marker, and
	// the same token is never written twice.
	Token string

	// Quiet is the longest time, of any proxy that the backend has met, for which
	// the votes of one operation may be counted.
	Quiet time.Duration
}

const markerForm = "redlock-proxy/1" // and its version

// String is how a marker is stored: one line that people can read. It never allows for
// less time than it was meant to.
func (m Marker) String() string {
	quiet := (m.Quiet + time.Millisecond - 1).Milliseconds()
	return fmt.Sprintf("%s %s run_id=%s %s token=%s quiet_ms=%d", markerForm, m.Identity, m.RunID, m.Role, m.Token, quiet)
}

// Parse reads what String wrote; ok is false for anything else.
func Parse(text string) (m Marker, ok bool) {
	words := strings.Split(text, " ")
	if len(words) != 7 || words[0] != markerForm {
		return Marker{}, false
	}
	place, n, okPlace := strings.Cut(words[2], "/")
	runID, okRun := strings.CutPrefix(words[3], "run_id=")
	token, okToken := strings.CutPrefix(words[5], "token=")
	quiet, okQuiet := strings.CutPrefix(words[6], "quiet_ms=")
	m = Marker{Identity: Identity{Group: words[1]}, Role: Role(words[4]), RunID: runID, Token: token}
	var err1, err2, err3 error
	m.Place, err1 = strconv.Atoi(place)
	m.N, err2 = strconv.Atoi(n)
	var ms int64
	ms, err3 = strconv.ParseInt(quiet, 10, 32)
	m.Quiet = time.Duration(ms) * time.Millisecond
	ok = okPlace && okRun && okToken && okQuiet && err1 == nil && err2 == nil && err3 == nil && m.String() == text
	return m, ok
}

// newToken is 16 characters, 80 bits.
func newToken() string { return rand.Text()[:16] }

// Standing is what a look at a marker says of its backend.
type Standing int

// The standings.
const (
	Unmarked Standing = iota // no marker, or one of a process that is no more: it may have forgotten
	Founding                 // marked by a proxy that found nobody marked
	Learning                 // being refilled
	Brief                    // a voter whose marker allows for less time than this proxy's rounds take
	Locking                  // a voter about locks alone
	Admitted                 // a voter
	Foreign                  // marked for another group, another list, or another place
)

func (s Standing) String() string {
	return [...]string{"unmarked", "founding", "learning", "brief", "locking", "admitted", "foreign"}[s]
}

// Rule is what a proxy needs to judge a backend's marker.
type Rule struct {
	Identity
	Quiet time.Duration // how long this proxy counts the votes of one operation, at most
}

// Judge says what a backend that runs as runID is, by the text of its marker: "" for
// none. The marker's parts are of use for all but Unmarked.
func (r Rule) Judge(text, runID string) (Marker, Standing) {
	m, ok := Parse(text)
	switch {
	case text == "":
		return m, Unmarked
	case !ok, m.Identity != r.Identity:
		return m, Foreign
	case m.RunID != runID:
		return m, Unmarked
	case m.Role == Founder:
		return m, Founding
	case m.Role == Learner:
		return m, Learning
	case m.Role != Voter && m.Role != Locker:
		return m, Foreign
	case m.Quiet < r.Quiet:
		return m, Brief
	case m.Role == Locker:
		return m, Locking
	}
	return m, Admitted
}
