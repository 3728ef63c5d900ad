package quorum

// Vote is one backend's part in a decision.
type Vote uint8

// The votes. Pending is the zero value: a backend that has not answered.
const (
	Pending Vote = iota
	Granted
	Refused
	Failed // no usable answer; the operation may have been applied
)

// Result is what the votes of a round amount to.
type Result uint8

// The results. Undecided means that votes still to come can change it.
const (
	Undecided Result = iota
	Won
	Lost
	Unavailable
)

// MaxBackends is the largest group: more backends cost latency and money, and
// buy nothing that seven do not.
const MaxBackends = 7

// Majority is the number of backends, of n, that decide.
func Majority(n int) int { return n/2 + 1 }

// Tally counts the votes of a round over N backends.
type Tally struct {
	N                        int
	Granted, Refused, Failed int
}

// Add counts one vote; a Pending one does not count.
func (t *Tally) Add(v Vote) {
	switch v {
	case Granted:
		t.Granted++
	case Refused:
		t.Refused++
	case Failed:
		t.Failed++
	}
}

// Reached is the number of backends that gave a usable answer.
func (t Tally) Reached() int { return t.Granted + t.Refused }

// Result is the decision, as early as it is certain (I1): Won at the Q-th grant,
// Lost at the Q-th refusal, Unavailable when neither can happen any more.
func (t Tally) Result() Result {
	q := Majority(t.N)
	switch pending := t.N - t.Granted - t.Refused - t.Failed; {
	case t.Granted >= q:
		return Won
	case t.Refused >= q:
		return Lost
	case t.Granted+pending < q && t.Refused+pending < q:
		return Unavailable
	}
	return Undecided
}
