package proxy_test

import (
	"encoding/json"
	"math"
	"net"
	"testing"
	"time"

	"redlockproxy/proxy/redistest"
	"redlockproxy/proxy/status"
)

// promotedIn tells what the last acquisition line says of a promotion.
func (w *world) promotedIn(n int) bool {
	w.t.Helper()
	all := w.awaitLogged(n, message("acquisition"))
	last := all[len(all)-1]
	promoted, there := last["replica_promoted"].(bool)
	if _, reached := last["nodes_reached"]; !there || reached || last["topology"] != "single" {
		w.t.Errorf("%v", last)
	}
	return promoted
}

// One address, a primary behind it and a replica behind that. The primary dies, the
// replica is promoted, and the address moves to it.
func TestAcquisitionSaysThatAReplicaWasPromoted(t *testing.T) {
	primary := redistest.Start(t)
	host, port, err := net.SplitHostPort(primary.Addr())
	if err != nil {
		t.Fatal(err)
	}
	relay := redistest.NewRelay(t, primary.Addr())
	w := &world{t: t, backends: redistest.Group{primary}}
	w.start([]string{relay.Addr()}, 1)
	if lag := w.scrape()["replication_lag_ms"]; !math.IsNaN(lag) {
		t.Errorf("a lag of %g without a replica", lag)
	}
	replica := redistest.Start(t, redistest.Args("--replicaof", host+" "+port))
	redistest.Eventually(t, 20*time.Second, "the replica follows", func() bool { return w.scrape()["redlock_proxy_replicas"] == 1 })

	c := w.client()
	c.want(ok, "SET", "one", "t", "NX", "PX", "60000")
	if w.promotedIn(1) {
		t.Error("a promotion that was none")
	}
	redistest.Eventually(t, 20*time.Second, "the replica has it", func() bool { return replica.Get("one") != "" })
	redistest.Eventually(t, 20*time.Second, "it is not behind", func() bool { return w.scrape()["replication_lag_ms"] < 100 })

	replica.Pause()
	redistest.Eventually(t, 20*time.Second, "the lag of a paused replica grows", func() bool {
		c.do("INCR", "n")
		return w.scrape()["replication_lag_ms"] > 1000
	})
	primary.Kill() // what the replica lacks is lost
	replica.Resume()
	replica.MustDo("REPLICAOF", "NO", "ONE")
	relay.Retarget(replica.Addr())
	redistest.Eventually(t, 20*time.Second, "the new primary votes", func() bool { return w.scrape()["redlock_proxy_voters"] == 1 && w.restarts() == 1 })
	c.want(nil, "SET", "one", "u", "NX", "PX", "60000")
	if !w.promotedIn(2) {
		t.Error("the promotion is not in the line")
	}
	c.want(ok, "SET", "two", "t", "NX", "PX", "60000")
	if w.promotedIn(3) {
		t.Error("the promotion is told twice")
	}
	if _, there := w.scrape()["lock_quorum_success_rate"]; there {
		t.Error("a success rate of a quorum of one")
	}
}

// restarts are those of the first backend.
func (w *world) restarts() int64 { return w.facts().Backends[0].Restarts }

// facts are what the status page is told.
func (w *world) facts() status.Facts {
	w.t.Helper()
	var f status.Facts
	if err := json.Unmarshal(w.get("/status.json").Body.Bytes(), &f); err != nil {
		w.t.Fatal(err)
	}
	return f
}
