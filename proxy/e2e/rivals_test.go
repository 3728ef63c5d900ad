package e2e_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"redlockproxy/proxy/redistest"
)

// race lets one client of each proxy address ask for a lock at the same instant
// and returns the tokens of those who got it.
func race(t *testing.T, clients []*redistest.Client, key string) (winners []string) {
	t.Helper()
	start := make(chan struct{})
	won := make([]bool, len(clients))
	errs := make([]error, len(clients))
	var wg sync.WaitGroup
	for i, c := range clients {
		wg.Go(func() {
			<-start
			reply, err := c.Do("SET", key, token(i), "NX", "PX", "60000")
			if e, isError := reply.(redistest.Error); isError {
				err = e
			}
			won[i], errs[i] = reply == ok, err
		})
	}
	close(start)
	wg.Wait()
	for i := range clients {
		if errs[i] != nil {
			t.Errorf("client %d: %v", i, errs[i])
		}
		if won[i] {
			winners = append(winners, token(i))
		}
	}
	return winners
}

func token(i int) string { return fmt.Sprintf("client-%d;", i) }

func TestOneOfAHundredClientsWinsEachRound(t *testing.T) {
	w := newWorld(t, redistest.Patient(t)...)
	clients := make([]*redistest.Client, 100)
	for i := range clients {
		clients[i] = w.proxy.Client()
	}
	for round := range 20 {
		winners := race(t, clients, lockName(round))
		if len(winners) != 1 {
			t.Errorf("round %d: winners %v", round, winners)
			continue
		}
		redistest.Eventually(t, time.Second, "all backends hold the winner's lock", func() bool {
			for _, s := range w.backends {
				if !holds(s, lockName(round), winners[0]) {
					return false
				}
			}
			return true
		})
	}
}

// Three proxies that are each fast to other backends than the rest: the worst
// case for a lock that several ask for at the same instant.
func TestSplitVotesHaveAtMostOneWinner(t *testing.T) {
	w := newWorld(t, redistest.Patient(t)...)
	var clients []*redistest.Client
	for p := range 3 {
		relays, addrs := redistest.NewRelays(t, w.backends.Addrs())
		for i, r := range relays {
			if i != 2*p%5 && i != (2*p+1)%5 {
				r.Delay(3*time.Millisecond, redistest.Requests)
			}
		}
		proxy := redistest.StartProxy(t, addrs, redistest.Patient(t)...)
		w.awaitVotes(proxy, w.backends...)
		clients = append(clients, proxy.Client())
	}
	const rounds = 60
	undecided := 0
	for round := range rounds {
		key := lockName(round)
		switch winners := race(t, clients, key); len(winners) {
		case 0:
			undecided++
			w.gone(w.backends, key)
		case 1:
			redistest.Eventually(t, 2*time.Second, "nothing but the winner's lock is left", func() bool {
				n := 0
				for _, s := range w.backends {
					switch {
					case holds(s, key, winners[0]):
						n++
					case s.Get(key) != "":
						return false
					}
				}
				return n >= 3
			})
		default:
			t.Fatalf("round %d: winners %v", round, winners)
		}
	}
	t.Logf("%d of %d rounds without a winner", undecided, rounds)
	if undecided > rounds/10 {
		t.Errorf("%d of %d rounds without a winner: retries don't resolve split votes", undecided, rounds)
	}
}
