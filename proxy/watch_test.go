package proxy_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"redlockproxy/proxy/redistest"
)

func TestStallIsLoggedWithWhatItMeansForVotes(t *testing.T) {
	w := newWorld(t, "LANE_VOTE=200ms")
	all := w.logs.find(func(l line) bool { return l["state"] == "voter" })
	if last := all[len(all)-1]; last["votes"] != "5 of 5 can vote, 3 needed, 2 to spare" {
		t.Errorf("%v", last)
	}
	name := "unix:" + w.backends[2].Socket()
	w.backends[2].Pause()
	w.client().do("SET", "k", "t", "NX", "PX", "60000")
	stalled := w.awaitLogged(1, func(l line) bool { return l["state"] == "stalled" && l["backend"] == name })[0]
	if stalled["reason"] == nil || stalled["votes"] == nil || stalled["level"] != "warn" {
		t.Errorf("%v", stalled)
	}
	w.backends[2].Resume()
	again := w.awaitLogged(1, func(l line) bool { return l["message"] == "backend answers again" && l["backend"] == name })[0]
	if again["votes"] == nil || again["level"] != "info" || again["state"] != "voter" {
		t.Errorf("%v", again)
	}
}

// A flood of connections to the admin address takes no more than its bound, and ends
// when its time to ask is over.
func TestConnectionsToTheAdminAddressAreBounded(t *testing.T) {
	cfg, addr := onSocket(t, settings(t, nil))
	cfg.Server.Admin = "unix:" + addr + ".admin"
	stop := runInBackground(t, cfg, io.Discard, io.Discard)
	dialSoon(t, addr)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", addr+".admin")
	}}}
	health := func(within time.Duration) error {
		ctx, cancel := context.WithTimeout(t.Context(), within)
		defer cancel()
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://admin/healthz", nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := client.Do(r)
		if err == nil {
			_ = answer.Body.Close()
		}
		return err
	}
	if err := health(10 * time.Second); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	for range 64 {
		conn, err := net.Dial("unix", addr+".admin")
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close() //nolint:errcheck // it says nothing
	}
	if err := health(300 * time.Millisecond); err == nil && time.Since(start) < 1500*time.Millisecond {
		t.Error("one connection more than the bound is served")
	}
	redistest.Eventually(t, 20*time.Second, "silent connections are closed", func() bool { return health(time.Second) == nil })
	if err := stop(); err != nil {
		t.Error(err)
	}
}
