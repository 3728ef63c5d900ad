package replication

import (
	"testing"
	"time"
)

const ms = time.Millisecond

// A primary writes a byte each millisecond from its start to 10 s, and is asked every
// 50 ms. Its replica was at an offset some time ago.
func TestLagIsTheTimeSinceThePrimaryWasAtTheReplicasOffset(t *testing.T) {
	start := time.Now()
	for _, behind := range []time.Duration{0, 1 * ms, 50 * ms, 130 * ms, 700 * ms, 4 * time.Second} {
		var l lags
		for now := time.Duration(0); now <= 10*time.Second; now += every {
			s := state{offset: now.Milliseconds(), replicas: []replica{{"fast", now.Milliseconds()}}}
			if now >= behind {
				s.replicas = append(s.replicas, replica{"slow", (now - behind).Milliseconds()})
			}
			lag, known := l.note(start.Add(now), s)
			if now < behind {
				continue
			}
			if !known || (lag-behind).Abs() > ms {
				t.Fatalf("after %s: %s (%t), wanted %s", now, lag, known, behind)
			}
		}
	}
}

// Acknowledgements come once a second. Between two of them a replica that keeps up
// looks as far behind as the last one is old; it is not.
func TestTimeBetweenAcknowledgementsIsNoLag(t *testing.T) {
	start := time.Now()
	var l lags
	for now := time.Duration(0); now <= 10*time.Second; now += every {
		acknowledged := now.Truncate(time.Second)
		lag, _ := l.note(start.Add(now), state{offset: now.Milliseconds(), replicas: []replica{{"r", acknowledged.Milliseconds()}}})
		if lag > every {
			t.Fatalf("after %s: %s", now, lag)
		}
	}
}

func TestReplicaThatAcknowledgesNothingFallsBehind(t *testing.T) {
	start := time.Now()
	var l lags
	var lag time.Duration
	for now := time.Duration(0); now <= 5*time.Second; now += every {
		lag, _ = l.note(start.Add(now), state{offset: now.Milliseconds(), replicas: []replica{{"r", min(now, 2*time.Second).Milliseconds()}}})
	}
	if (lag - 3*time.Second).Abs() > every {
		t.Errorf("%s, wanted 3s", lag)
	}
	// As soon as it has caught up, it is not behind.
	if lag, _ = l.note(start.Add(5100*ms), state{offset: 5100, replicas: []replica{{"r", 5100}}}); lag != 0 {
		t.Errorf("%s after catching up", lag)
	}
}

func TestIdlePrimaryHasNoLag(t *testing.T) {
	start := time.Now()
	var l lags
	for now := time.Duration(0); now <= 20*time.Second; now += every {
		if lag, known := l.note(start.Add(now), state{offset: 42, replicas: []replica{{"r", 42}}}); lag != 0 || !known {
			t.Fatalf("after %s: %s (%t)", now, lag, known)
		}
	}
	if _, known := l.note(start.Add(21*time.Second), state{offset: 42}); known {
		t.Error("a lag without a replica")
	}
}

func TestOffsetsOfAnotherPrimaryAreForgotten(t *testing.T) {
	start := time.Now()
	var l lags
	for now := time.Duration(0); now <= 3*time.Second; now += every {
		l.note(start.Add(now), state{offset: 1000 + now.Milliseconds(), replicas: []replica{{"r", 1000}}})
	}
	if lag, _ := l.note(start.Add(3100*ms), state{offset: 10, replicas: []replica{{"r", 10}}}); lag != 0 {
		t.Errorf("%s", lag)
	}
	if n := len(l.marks); n != 1 {
		t.Errorf("%d marks are left", n)
	}
}

func TestRememberedOffsetsAreBounded(t *testing.T) {
	start := time.Now()
	var l lags
	var lag time.Duration
	for now := time.Duration(0); now <= 2*memory; now += every {
		lag, _ = l.note(start.Add(now), state{offset: now.Milliseconds(), replicas: []replica{{"r", 1}}})
	}
	if len(l.marks) != maxMark || (lag-memory).Abs() > 2*every {
		t.Errorf("%d marks, a lag of %s", len(l.marks), lag)
	}
}

func TestOnlyReplicasThatAreOnlineCount(t *testing.T) {
	s := parse("# Replication\r\nrole:master\r\nconnected_slaves:3\r\n" +
		"slave0:ip=10.0.0.1,port=6379,state=online,offset=70,lag=0\r\n" +
		"slave1:ip=10.0.0.2,port=6379,state=wait_bgsave,offset=0,lag=0\r\n" +
		"slave2:ip=::1,port=6380,state=online,offset=60,lag=1\r\n" +
		"slave_read_only:1\r\nmaster_repl_offset:84\r\n")
	if s.offset != 84 || len(s.replicas) != 2 || s.replicas[0] != (replica{"10.0.0.1 6379", 70}) || s.replicas[1] != (replica{"::1 6380", 60}) {
		t.Errorf("%+v", s)
	}
}
