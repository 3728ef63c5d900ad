package quorum

import "testing"

// sizes are the groups that can be configured.
var sizes = []int{1, 3, 5, 7}

// everyVote is what a backend can answer.
var everyVote = []Vote{Granted, Refused, Failed}

// naive is the decision, found another way: it tries every answer that the
// backends still silent could give. If the outcomes differ, nothing is decided.
// A complete vote is won or lost by more than half of the backends, or nothing.
func naive(n int, votes []Vote) Result {
	if len(votes) == n {
		count := map[Vote]int{}
		for _, v := range votes {
			count[v]++
		}
		switch {
		case count[Granted]*2 > n:
			return Won
		case count[Refused]*2 > n:
			return Lost
		}
		return Unavailable
	}
	first := Undecided
	for i, v := range everyVote {
		r := naive(n, append(votes[:len(votes):len(votes)], v))
		if i > 0 && r != first {
			return Undecided
		}
		first = r
	}
	return first
}

// everyOrder calls f with every sequence of votes of up to n backends, a
// sequence always after its beginnings.
func everyOrder(n int, f func(votes []Vote)) {
	var grow func(votes []Vote)
	grow = func(votes []Vote) {
		f(votes)
		if len(votes) == n {
			return
		}
		for _, v := range everyVote {
			grow(append(votes[:len(votes):len(votes)], v))
		}
	}
	grow(nil)
}

// tallyOf counts votes one by one.
func tallyOf(n int, votes []Vote) Tally {
	tally := Tally{N: n}
	for _, v := range votes {
		tally.Add(v)
	}
	return tally
}

// The naive version answers as soon as all completions agree, and not before:
// agreement with it means that every decision is right and as early as can be.
func TestResultIsTheNaiveOneInEveryOrder(t *testing.T) {
	for _, n := range sizes {
		everyOrder(n, func(votes []Vote) {
			if got, want := tallyOf(n, votes).Result(), naive(n, votes); got != want {
				t.Errorf("N = %d, votes %v: result %d, naively %d", n, votes, got, want)
			}
		})
	}
}

func TestDecidedResultNeverChanges(t *testing.T) {
	for _, n := range sizes {
		everyOrder(n, func(votes []Vote) {
			decided := Undecided
			tally := Tally{N: n}
			for i := -1; i < len(votes); i++ {
				if i >= 0 {
					tally.Add(votes[i])
				}
				result := tally.Result()
				if decided != Undecided && result != decided {
					t.Errorf("N = %d, votes %v: result %d after %d votes, %d before", n, votes, result, i+1, decided)
				}
				decided = result
			}
			if len(votes) == n && decided == Undecided {
				t.Errorf("N = %d, votes %v: undecided though all have voted", n, votes)
			}
		})
	}
}

// A result says something about every majority: two rounds over one group cannot
// both be won without a backend that granted both.
func TestResultIsCarriedByAMajority(t *testing.T) {
	for _, n := range sizes {
		everyOrder(n, func(votes []Vote) {
			tally := tallyOf(n, votes)
			carried := map[Result]int{Won: tally.Granted, Lost: tally.Refused}
			if r := tally.Result(); (r == Won || r == Lost) && 2*carried[r] <= n {
				t.Errorf("N = %d, votes %v: result %d with %d votes for it", n, votes, r, carried[r])
			}
		})
	}
}

func TestFullSetOfGrantsAndRefusalsDecides(t *testing.T) {
	for _, n := range sizes {
		everyOrder(n, func(votes []Vote) {
			tally := tallyOf(n, votes)
			if tally.Reached() != n {
				return
			}
			if r := tally.Result(); r != Won && r != Lost {
				t.Errorf("N = %d, votes %v: result %d though nobody failed", n, votes, r)
			}
		})
	}
}

func TestPendingVotesDoNotCount(t *testing.T) {
	for _, n := range sizes {
		tally := Tally{N: n}
		tally.Add(Pending)
		if tally != (Tally{N: n}) {
			t.Errorf("N = %d: counted a pending vote: %+v", n, tally)
		}
	}
}

func TestReachedCountsUsableAnswers(t *testing.T) {
	everyOrder(5, func(votes []Vote) {
		want := 0
		for _, v := range votes {
			if v == Granted || v == Refused {
				want++
			}
		}
		if got := tallyOf(5, votes).Reached(); got != want {
			t.Errorf("votes %v: %d reached, want %d", votes, got, want)
		}
	})
}

func TestTwoMajoritiesMeet(t *testing.T) {
	for _, n := range sizes {
		q := Majority(n)
		if 2*q <= n || 2*(q-1) > n {
			t.Errorf("N = %d: %d is not the smallest majority", n, q)
		}
	}
	if largest := sizes[len(sizes)-1]; largest != MaxBackends {
		t.Errorf("the tests go up to %d backends, a group up to %d", largest, MaxBackends)
	}
}
