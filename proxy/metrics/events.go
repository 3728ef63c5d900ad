package metrics

// Operation is what a client wanted, by what its command did to keys: a script that
// removes a lock is a release, as DEL is.
type Operation uint8

// The operations.
const (
	Acquire Operation = iota // to create a key: SET NX, SETNX, and whatever amounts to that
	Release                  // to remove one
	Extend                   // to give one another expiry
	Count                    // to raise a counter
	Read                     // to look
	Write                    // any other command that may write
	Script                   // a script or an EXEC that did none of these

	operations
)

// Outcome is how an operation ended for its client.
type Outcome uint8

// The outcomes. The last three are those of an Acquire only.
const (
	Done        Outcome = iota // a majority did it
	Refused                    // a majority refused: taken, not yours, lost
	Unavailable                // no majority for either
	Failed                     // another error
	Split                      // several wanted it at once, and in all tries none of them got a majority
	Expired                    // it was over before the client could be told of it
	ClientGone                 // the client had hung up by then

	outcomes
)

// words are the label values, by operation and outcome; "" where there is no such
// pair.
var words = [operations]struct {
	operation string
	outcome   [outcomes]string
}{
	Acquire: {"acquire", [outcomes]string{"acquired", "taken", "unavailable", "error", "split", "expired", "client_gone"}},
	Release: {"release", [outcomes]string{"released", "not_yours", "unavailable", "error"}},
	Extend:  {"extend", [outcomes]string{"extended", "lost", "unavailable", "error"}},
	Count:   {"count", [outcomes]string{"counted", "refused", "unavailable", "error"}},
	Read:    {"read", [outcomes]string{"answered", "refused", "unavailable", "error"}},
	Write:   {"write", [outcomes]string{"written", "refused", "unavailable", "error"}},
	Script:  {"script", [outcomes]string{"run", "refused", "unavailable", "error"}},
}

// decided tells whether a quorum decided an acquisition, for or against it.
func (o Outcome) decided() bool { return o == Done || o == Refused || o == ClientGone }
