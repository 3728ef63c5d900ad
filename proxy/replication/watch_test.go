package replication_test

import (
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"redlockproxy/proxy/redistest"
	"redlockproxy/proxy/replication"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestRealReplicaThatIsPausedFallsBehindAndCatchesUp(t *testing.T) {
	primary := redistest.Start(t)
	host, port, err := net.SplitHostPort(primary.Addr())
	if err != nil {
		t.Fatal(err)
	}
	w := replication.Open(redis.Options{Network: "unix", Addr: primary.Socket()})
	defer w.Close()
	redistest.Eventually(t, 10*time.Second, "the primary is asked", func() bool { return !w.Lag().Known })
	replica := redistest.Start(t, redistest.Args("--replicaof", host+" "+port))
	redistest.Eventually(t, 20*time.Second, "the replica is connected", func() bool { l := w.Lag(); return l.Known && l.Replicas == 1 })

	n := 0
	write := func() { n++; primary.MustDo("SET", "k", fmt.Sprint(n)) }
	// That it keeps up shows while the primary goes on writing, too.
	redistest.Settles(t, 2*time.Second, 20*time.Second, "a replica that follows is hardly behind", func() bool {
		write()
		return w.Lag().Worst < 600*time.Millisecond
	})
	replica.Pause()
	start, before := time.Now(), w.Lag().Worst
	const behind = 4 * time.Second
	redistest.Eventually(t, 20*time.Second, "a replica that is paused falls behind", func() bool {
		write()
		return w.Lag().Worst > behind
	})
	// It may have been silent for nearly as long as does not count, and what it
	// acknowledged last was asked for some time ago.
	if took := time.Since(start); took < behind-before-replication.Overdue-500*time.Millisecond {
		t.Errorf("it is said to be %s behind after %s, and was %s behind before", behind, took, before)
	}
	replica.Resume()
	redistest.Eventually(t, 20*time.Second, "it catches up", func() bool { return w.Lag().Worst < 100*time.Millisecond })
	primary.Kill()
	redistest.Eventually(t, 20*time.Second, "a primary that is gone is not known any more", func() bool { return !w.Lag().Known })
}
