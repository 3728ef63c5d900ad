package lane

import (
	"context"
	"net"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"redlockproxy/proxy/redistest"
	"redlockproxy/quorum"
)

// A SET NX that is sent again answers "taken" for the lock that its own
// first try took, and an INCR that is sent again counts twice.
func TestLostReplyIsAFailedVoteAndNothingIsSentAgain(t *testing.T) {
	server := redistest.Start(t)
	relay := redistest.NewRelay(t, server.Addr())
	l := open(t, tcp(relay.Addr()))
	seen := server.Monitor()
	for text, op := range map[string]quorum.Op{"lost-lock": acquireOp("lost-lock", "x"), "lost-number": quorum.Increment{Key: "lost-number", By: 1}} {
		relay.ForwardThenClose(text)
		a := ask(t, l, op)
		if a.Vote != quorum.Failed || a.Unsent {
			t.Errorf("%s: vote %d, unsent %t", text, a.Vote, a.Unsent)
		}
		relay.Pass()
		eventually(t, "the lane is back", func() bool { return ask(t, l, quorum.Read{Keys: []quorum.Key{"k"}}).Vote == quorum.Granted })
	}
	if n := seen.Count("SET", "lost-lock"); n != 1 {
		t.Errorf("%d SETs", n)
	}
	if n := seen.Count("INCRBY", "lost-number"); n != 1 {
		t.Errorf("%d INCRs", n)
	}
}

// MaxRetries, DialerRetries and PoolSize: the lane has its own pause between two
// attempts.
func TestOneAttemptToConnectIsOneDial(t *testing.T) {
	var dials atomic.Int64
	cfg := testConfig(redis.Options{Addr: "nowhere", Dialer: func(context.Context, string, string) (net.Conn, error) {
		dials.Add(1)
		return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	}})
	cfg.BackoffMin, cfg.BackoffMax = time.Minute, time.Minute
	l := Open(cfg)
	t.Cleanup(l.Close)
	<-l.Tried()
	redistest.Settles(t, 100*time.Millisecond, time.Second, "one dial and no more", func() bool { return dials.Load() == 1 })
}

// ContextTimeoutEnabled: the greeting has a limit of its own, long before a batch's.
func TestGreetingOfASilentBackendEndsAtItsOwnLimit(t *testing.T) {
	server := redistest.Start(t)
	server.Pause()
	cfg := tcp(server.Addr())
	cfg.Connect, cfg.Stall = 20*time.Millisecond, time.Minute
	l := Open(cfg)
	t.Cleanup(l.Close)
	select {
	case <-l.Tried():
	case <-time.After(5 * time.Second):
		t.Error("the greeting still waits")
	}
}

// Protocol, PipelinePoolSize, the identity and maintenance notifications: what the
// backend sees is one RESP2 connection with nothing on it but the lane's own.
func TestBackendSeesOnePlainConnection(t *testing.T) {
	server := redistest.Start(t)
	written := &text{}
	l := open(t, testConfig(recorded(server.Addr(), written)))
	for range 3 {
		for range 20 {
			send(l, quorum.Read{Keys: []quorum.Key{"k"}})
		}
		ask(t, l, quorum.Read{Keys: []quorum.Key{"a", "b"}, Full: true})
	}
	list, _ := server.MustDo("CLIENT", "LIST", "TYPE", "normal").(string)
	tcps := 0
	for line := range strings.Lines(list) {
		if strings.Contains(line, " addr=127.0.0.1:") && !strings.Contains(line, "cmd=monitor") {
			tcps++
			if !strings.Contains(line, " resp=2") {
				t.Errorf("the connection does not speak RESP2: %s", line)
			}
		}
	}
	if tcps != 1 {
		t.Errorf("%d connections:\n%s", tcps, list)
	}
	for _, word := range []string{"SETINFO", "MAINT_NOTIFICATIONS", "MULTI"} {
		if strings.Contains(strings.ToUpper(written.String()), word) {
			t.Errorf("the backend was sent %s", word)
		}
	}
}

// Where go-redis gave up a connection for a reply that it did not like, it leaves the
// commands that come later without an error.
func TestCommandsThatCouldNotBeSentHaveAnError(t *testing.T) {
	server := redistest.Start(t)
	client := redis.NewClient(options(tcp(server.Addr())))
	conn := client.Conn()
	defer func() { _, _ = conn.Close(), client.Close() }()
	server.MustDo("REPLICAOF", "127.0.0.1", "1")
	if err := conn.Set(t.Context(), "k", "x", 0).Err(); !isReply(err) || !turned(err) {
		t.Fatalf("a replica answered %v", err)
	}
	pipe := conn.Pipeline()
	cmds := []*redis.Cmd{pipe.Do(t.Context(), "GET", "a"), pipe.Do(t.Context(), "GET", "b")}
	trouble := exec(t.Context(), pipe)
	for _, cmd := range cmds {
		stamp(cmd, trouble)
		if err := lost(nil, cmd); err == nil {
			t.Errorf("%v: %v", cmd.Args(), cmd.Err())
		}
	}
}

// Some of the options have no effect on what the lane does today, and would have one
// with the next version of the library or another protocol.
func TestRequiredOptionsAreSpelledOut(t *testing.T) {
	cfg := tcp("x:1")
	cfg.Options.MaxRetries, cfg.Options.Protocol, cfg.Options.PoolSize, cfg.Options.PipelinePoolSize = 5, 3, 9, 9
	o := options(cfg)
	if o.MaxRetries != -1 || o.DialerRetries != 1 || !o.ContextTimeoutEnabled || o.Protocol != 2 || o.PipelinePoolSize != -1 || o.PoolSize != 2 ||
		o.MinIdleConns != 0 || o.ConnMaxIdleTime != -1 || o.ConnMaxLifetime != -1 || !o.DisableIdentity ||
		o.MaintNotificationsConfig == nil || o.MaintNotificationsConfig.Mode != maintnotifications.ModeDisabled {
		t.Errorf("%+v", o)
	}
	if o.DialTimeout != cfg.Connect || o.ReadTimeout != cfg.Stall || o.WriteTimeout != cfg.Stall {
		t.Errorf("limits %s, %s, %s", o.DialTimeout, o.ReadTimeout, o.WriteTimeout)
	}
	if cfg.Options.MaxRetries != 5 {
		t.Error("the caller's options were changed")
	}
}
