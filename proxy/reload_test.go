package proxy_test

import (
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"
	"testing"

	"redlockproxy/conf"
	"redlockproxy/proxy/redistest"
)

// settings are those of the world with other lines.
func (w *world) settings(lines ...string) conf.Config {
	w.t.Helper()
	return settings(w.t, sockets(w.backends), append(append([]string{}, patient...), lines...)...)
}

func TestReloadedLimitsAndAnswersHoldForClientsThatAreThere(t *testing.T) {
	w := newWorld(t)
	c := dial(t, w.addr)
	c.want(int64(1), "EVAL", "local n = 0 for i = 1, 10000 do n = n + 1 end return 1", "0")
	changed, err := w.server.Reload(w.settings("SCRIPT_MAX_STEPS=1000", "SERVER_ADVERTISED_VERSION=7.4.0", "SERVER_UNAVAILABLE_REPLY=nil",
		"SERVER_MAX_CLIENTS=77", "SERVER_IDLE=1h", "SERVER_MAX_ARGS=8"), os.ReadFile)
	if got := fmt.Sprint(changed); err != nil || got != "[server.advertised_version server.unavailable_reply server.max_clients server.max_args server.idle script.max_steps]" {
		t.Errorf("%s, %v", got, err)
	}
	if e, _ := c.do("EVAL", "local n = 0 for i = 1, 10000 do n = n + 1 end return 1", "0").(redistest.Error); !strings.Contains(string(e), "more than 1000 steps") {
		t.Errorf("a long script: %q", e)
	}
	if info, _ := c.do("INFO", "server").(string); !strings.Contains(info, "redis_version:7.4.0\r\n") {
		t.Errorf("%s", info)
	}
	if got := fmt.Sprint(c.do("CONFIG", "GET", "maxclients"), c.do("CONFIG", "GET", "timeout")); got != "[maxclients 77] [timeout 3600]" {
		t.Errorf("%s", got)
	}
	for _, b := range w.backends[:3] {
		b.Kill()
	}
	w.awaitLogged(3, func(l line) bool { return l["state"] == "down" })
	c.want(nil, "SET", "lock", "token", "NX", "PX", "30000")
	// The last word, since it ends the connection.
	if e, _ := c.do("MGET", "1", "2", "3", "4", "5", "6", "7", "8").(redistest.Error); !strings.Contains(string(e), "invalid multibulk length") {
		t.Errorf("too many arguments: %q", e)
	}
}

// A file can go between the look at it and its use.
func TestReloadWhoseFilesVanishChangesNothing(t *testing.T) {
	w := newWorld(t)
	cfg := w.settings("SERVER_MAX_CLIENTS=77", "SERVER_PASSWORD=S3cret")
	cfg.Server.TLSCert, cfg.Server.TLSKey = "cert", "key"
	gone := func(name string) ([]byte, error) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	if changed, err := w.server.Reload(cfg, gone); err == nil || !strings.Contains(err.Error(), "server.tls_cert: open cert") || changed != nil {
		t.Errorf("%v, %v", changed, err)
	}
	c := dial(t, w.addr)
	c.want(pong, "PING")
	if got := fmt.Sprint(c.do("CONFIG", "GET", "maxclients")); got != "[maxclients 10000]" {
		t.Errorf("%s", got)
	}
}

// With the race detector: what a reload changes is read by everybody.
func TestReloadsWhileCommandsAreServed(t *testing.T) {
	w := newWorld(t)
	ended := make(chan struct{})
	var commands sync.WaitGroup
	for i := range 3 {
		c := dial(t, w.addr)
		commands.Go(func() {
			for key := fmt.Sprint("lock", i); ; {
				for _, step := range []struct {
					want any // nil: whatever comes
					args []string
				}{
					{ok, []string{"SET", key, "token", "NX", "PX", "30000"}},
					{int64(1), []string{"EVAL", release, "1", key, "token"}},
					{nil, []string{"INFO"}},
					{nil, []string{"HELLO", "2"}},
					{redistest.Status("RESET"), []string{"RESET"}},
				} {
					if got, err := c.Do(step.args...); err != nil || step.want != nil && got != step.want {
						t.Errorf("%v: %v, %v", step.args, got, err)
						return
					}
				}
				select {
				case <-ended:
					return
				default:
				}
			}
		})
	}
	for i := range 50 {
		if _, err := w.server.Reload(w.settings(fmt.Sprintf("SERVER_MAX_CLIENTS=%d", 100+i), fmt.Sprintf("SCRIPT_CACHE=%d", 100+i)), os.ReadFile); err != nil {
			t.Error(err)
		}
	}
	close(ended)
	commands.Wait()
}
