package status

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func facts() Facts {
	drift := -12.34
	return Facts{
		Version: "v1", Group: "orders", Topology: "redlock", At: time.Unix(1000, 0), Uptime: 3600,
		Backends: []Backend{
			{Name: "10.0.0.1:6379", State: "voter", Role: "primary", RoundTrip: 0.5, Drift: &drift, Restarts: 3, Granted: 7, Warnings: []string{"clock", "writes"}},
			{Name: "10.0.0.2:6379", State: "down", Reason: "connection refused", Since: 90, Debts: 4, Warnings: []string{"client_kill"}},
		},
		Voters: 1, Quorum: 2, Votes: "1 of 2 can vote, 2 needed, no decisions", SuccessRate: 0.5,
		Operations: map[string]map[string]int64{"acquire": {"acquired": 10, "taken": 5}, "read": {}},
		Commands:   100, Limits: map[string]int64{"idle": 2},
	}
}

func TestTableSaysWhatThePageSays(t *testing.T) {
	text := Text(facts(), nil)
	for _, part := range []string{
		"group orders", "up 1h0m0s", "no decisions", "10.0.0.1:6379", "-12.3 ms", "0.50 ms", "needs a look: clock, writes\n", "connection refused; needs a look: client_kill\n", "1m30s",
		"50.00 %", "acquire: acquired 10, taken 5\n", "limits hit: idle 2\n", "- commands/s",
	} {
		if !strings.Contains(text, part) {
			t.Errorf("the table does not have %q:\n%s", part, text)
		}
	}
	if strings.Contains(text, "read") {
		t.Errorf("a line without content:\n%s", text)
	}
}

func TestRatesAreDifferencesBySecond(t *testing.T) {
	before, now := facts(), facts()
	now.At, now.Uptime, now.Commands = before.At.Add(2*time.Second), before.Uptime+2, 150
	now.Operations = map[string]map[string]int64{"acquire": {"acquired": 20}}
	if text := Text(now, &before); !strings.Contains(text, "25 commands/s, 5 locks/s") {
		t.Error(text)
	}
	now.Uptime = 1 // it was started anew meanwhile
	if text := Text(now, &before); !strings.Contains(text, "- commands/s") {
		t.Error(text)
	}
}

func TestTopPrintsOnceWhereNobodyWatches(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/status.json" {
			_ = json.NewEncoder(w).Encode(facts())
		}
	}))
	defer server.Close()
	addr := server.Listener.Addr().String()
	var out bytes.Buffer
	if err := Top(t.Context(), "tcp", addr, &out, false); err != nil || out.String() != Text(facts(), nil) {
		t.Errorf("%v:\n%s", err, &out)
	}
	server.Config.Handler = http.NotFoundHandler()
	if err := Top(t.Context(), "tcp", addr, &out, false); err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("another server: %v", err)
	}
	server.Close()
	if err := Top(t.Context(), "tcp", addr, &out, false); err == nil || !strings.Contains(err.Error(), "server.admin") {
		t.Errorf("no server: %v", err)
	}
}

// A live table is written over itself, says when nobody answers, and ends with ctx.
func TestLiveTopGoesOnUntilItIsEnded(t *testing.T) {
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) == 2 {
			w.WriteHeader(http.StatusInternalServerError)
		}
		_ = json.NewEncoder(w).Encode(facts())
	}))
	defer server.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var out screens
	out.wanted, out.enough = 3, cancel
	if err := Top(ctx, "tcp", server.Listener.Addr().String(), &out, true); err != nil {
		t.Fatal(err)
	}
	all := strings.Split(out.text.String(), "\x1b[H\x1b[2J")[1:]
	if len(all) < 3 || all[0] != Text(facts(), nil) || !strings.Contains(all[1], "500") || all[2] != Text(facts(), nil) {
		t.Errorf("%q", all)
	}
}

// screens counts how often something was written, and tells when that is enough.
type screens struct {
	text   bytes.Buffer
	wanted int
	enough func()
}

func (s *screens) Write(p []byte) (int, error) {
	if s.wanted--; s.wanted == 0 {
		s.enough()
	}
	return s.text.Write(p)
}

func TestHealthRemembersTheWorstOfEachSlot(t *testing.T) {
	names := []string{"down", "stalled", "voter"}
	h := NewHealth(3, 5*time.Second)
	now := h.start
	h.Note(now, 5, []int{2, 2})
	h.Note(now.Add(time.Second), 3, []int{0, 2})
	h.Note(now.Add(2*time.Second), 5, []int{2, 1})
	h.Note(now.Add(6*time.Second), 4, []int{2, 2})
	slots := make([]Slot, 4) // one more than it remembers
	h.Fill(now.Add(11*time.Second), slots, names)
	wanted := []string{"", "down stalled", "voter voter", ""}
	voters := []int{-1, 3, 4, -1}
	for i, s := range slots {
		if got := strings.Join(s.States, " "); got != wanted[i] || s.Voters != voters[i] {
			t.Errorf("slot %d: %q, %d voters", i, got, s.Voters)
		}
	}
	h.Note(now.Add(time.Hour), 1, []int{1, 1})
	h.Fill(now.Add(time.Hour), slots, names)
	if slots[3].Voters != 1 || slots[2].Voters != -1 || slots[1].Voters != -1 {
		t.Errorf("an hour later: %+v", slots)
	}
}
