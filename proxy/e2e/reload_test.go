package e2e_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"redlockproxy/proxy/redistest"
)

func TestRenewedCertificatesUnderLoadCostNoClientAndNoLock(t *testing.T) {
	a := redistest.NewAuthority(t)
	group := redistest.StartGroup(t, 5, a.TLS(a.Issue("backend")))
	cert := a.Issue("proxy")
	r := startReloadable(t, encrypted(group), a.Client(a.Issue("client")), append(serverTLS(a, cert), groupTLS(a, cert)...)...)
	holder := r.client()
	wantReply(t, holder, ok, "SET", "held", "token", "NX", "PX", "60000")
	stop := r.load(2)
	for range 3 {
		before := cert.Serial
		cert = a.Issue("proxy") // in the same files
		if line := r.reload(reloaded); len(line["changed"].([]any)) != 0 {
			t.Errorf("no setting has changed, but: %v", line)
		}
		c := r.client()
		if c.Peer() != cert.Serial {
			t.Errorf("a new client meets certificate %d; %d was renewed and is %d", c.Peer(), before, cert.Serial)
		}
		wantReply(t, c, nil, "SET", "held", "other", "NX", "PX", "60000")
	}
	// Half a renewal: the key of another certificate. What is in force stays.
	writeFile(t, cert.Key, "not a key")
	if line := r.reload(notReloaded); !strings.Contains(fmt.Sprint(line["error"]), "server.tls_key") || line["level"] != "error" {
		t.Errorf("%v", line)
	}
	if c := r.client(); c.Peer() != cert.Serial {
		t.Errorf("after a reload that failed a new client meets certificate %d, not %d", c.Peer(), cert.Serial)
	}
	rounds, err := stop()
	if err != nil || rounds == 0 {
		t.Errorf("the load: %d rounds, %v", rounds, err)
	}
	wantReply(t, holder, int64(1), "EVAL", releaseScript, "1", "held", "token")
	if n := r.logged("state", "down"); n != 0 {
		t.Errorf("%d connections to backends were lost", n)
	}
	// One that is over is taken, since it was meant, and said to be of no use.
	a.IssueExpired("proxy")
	r.reload(reloaded)
	if n := r.logged("message", "the certificate for clients is over: they will refuse it; renew it and send SIGHUP"); n != 1 {
		t.Errorf("%d warnings of a certificate that is over", n)
	}
	// A lane goes by the new certificate when it connects next.
	a.Issue("proxy")
	r.reload(reloaded)
	group[0].MustDo("CLIENT", "KILL", "TYPE", "normal")
	redistest.Eventually(t, 10*time.Second, "the backend votes again", func() bool { return r.logged("state", "voter") >= 6 })
	if code := r.proxy.Stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func TestOneBadValueChangesNothing(t *testing.T) {
	dir := t.TempDir()
	password := filepath.Join(dir, "password")
	writeFile(t, password, "first\n")
	withPassword := fmt.Sprintf("server.password_file = %q", password)
	r := startReloadable(t, redistest.StartGroup(t, 1).Addrs(), nil, withPassword, `server.max_clients = 3`)
	c := r.client()
	wantReply(t, c, ok, "AUTH", "first")
	inForce := func(what string) {
		t.Helper()
		other := r.client()
		wantReply(t, other, ok, "AUTH", "first")
		reply, _ := other.Do("CONFIG", "GET", "maxclients")
		if list, _ := reply.([]any); len(list) != 2 || list[1] != "3" {
			t.Errorf("%s: maxclients %v", what, reply)
		}
		wantReply(t, c, redistest.Status("PONG"), "PING")
		_ = other.Close()
	}
	writeFile(t, password, "second\n")
	for _, bad := range []struct{ line, says string }{
		{`server.idle = "1ms"`, "server.idle: must be a time span"},
		{`server.no_such = 1`, "there is no setting server.no_such"},
		{`server.idle = `, "is not valid TOML"},
		{`server.tls_cert = "/nowhere/cert"`, "set both or none"},
		{"server.tls_cert = \"/nowhere/cert\"\nserver.tls_key = \"/nowhere/key\"", "server.tls_cert: open /nowhere/cert"},
		{`server.advertised_version = "8"`, "server.advertised_version"},
		{`group.name = "other"`, "group.name can't change from \"default\" to \"other\" while the proxy runs, because all proxies of a group must agree on it"},
		{`group.max_ttl = "1h"`, "group.max_ttl can't change"},
		{`log.format = "console"`, "log.format can't change"},
	} {
		r.write(withPassword, `server.max_clients = 7`, `log.level = "debug"`, bad.line)
		line := r.reload(notReloaded)
		if line["level"] != "error" || !strings.Contains(fmt.Sprint(line["error"]), bad.says) {
			t.Errorf("%s: %v, which does not say %q", bad.line, line, bad.says)
		}
		inForce(bad.line)
	}
	r.write(withPassword, `server.max_clients = 7`, `log.level = "debug"`)
	line := r.reload(reloaded)
	if got := fmt.Sprint(line["changed"]); got != "[server.password server.max_clients log.level]" {
		t.Errorf("changed: %s", got)
	}
	wantReply(t, c, redistest.Status("PONG"), "PING")
}

func TestClientsThatAreLoggedInStayAndNewOnesNeedTheNewPassword(t *testing.T) {
	password := filepath.Join(t.TempDir(), "password")
	writeFile(t, password, "S3cret-first")
	r := startReloadable(t, redistest.StartGroup(t, 1).Addrs(), nil, fmt.Sprintf("server.password_file = %q", password))
	loggedIn, waiting := r.client(), r.client()
	wantReply(t, loggedIn, ok, "AUTH", "S3cret-first")
	wantReply(t, loggedIn, ok, "SET", "lock", "token", "NX", "PX", "60000")
	writeFile(t, password, "S3cret-second")
	r.reload(reloaded)
	wantReply(t, loggedIn, int64(1), "EVAL", releaseScript, "1", "lock", "token")
	const wrong = redistest.Error("WRONGPASS invalid username-password pair or user is disabled.")
	for _, c := range []*redistest.Client{waiting, r.client()} {
		wantReply(t, c, wrong, "AUTH", "S3cret-first")
		wantReply(t, c, ok, "AUTH", "S3cret-second")
		wantReply(t, c, ok, "SET", "lock", "token", "NX", "PX", "60000")
		wantReply(t, c, int64(1), "DEL", "lock")
	}
	// Without a password there is nothing to log in with, and with one again there is.
	r.write()
	r.reload(reloaded)
	open := r.client()
	wantReply(t, open, redistest.Status("PONG"), "PING")
	r.write(fmt.Sprintf("server.password_file = %q", password))
	r.reload(reloaded)
	wantReply(t, open, redistest.Status("PONG"), "PING")
	wantReply(t, r.client(), redistest.Error("NOAUTH Authentication required."), "PING")
	if strings.Contains(r.proxy.Output(), "S3cret") {
		t.Errorf("a password is shown:\n%s", r.proxy.Output())
	}
}

func TestLogLevelFollowsTheFile(t *testing.T) {
	r := startReloadable(t, redistest.StartGroup(t, 1).Addrs(), nil)
	c := r.client()
	count := func() int { return r.logged("message", "counter") }
	wantReply(t, c, int64(1), "INCR", "n")
	r.write(`log.level = "debug"`)
	r.reload(reloaded)
	wantReply(t, c, int64(2), "INCR", "n")
	redistest.Eventually(t, 5*time.Second, "a line at debug", func() bool { return count() == 1 })
	r.write(`log.level = "error"`)
	r.reload(reloaded) // said once more at the level of before
	wantReply(t, c, ok, "SET", "lock", "token", "NX", "PX", "60000")
	r.write(`log.level = "info"`)
	r.reload(reloaded)
	wantReply(t, c, int64(3), "INCR", "n")
	wantReply(t, c, ok, "SET", "lock2", "token", "NX", "PX", "60000")
	redistest.Eventually(t, 5*time.Second, "a line of an acquisition", func() bool { return r.logged("resource", "lock2") == 1 })
	if r.logged("resource", "lock") != 0 || count() != 1 {
		t.Errorf("lines that the level does not allow")
	}
}

// As the README tells operators to do it: at each backend both passwords, then the new
// one at the proxy, then the old one away.
func TestPasswordOfBackendsChangesOneBackendAfterTheOther(t *testing.T) {
	dir := t.TempDir()
	group := redistest.StartGroup(t, 5)
	var entries []string
	var files []string
	for i, s := range group {
		file := filepath.Join(dir, fmt.Sprint("backend", i+1))
		writeFile(t, file, "S3cret-old\n")
		files = append(files, file)
		entries = append(entries, fmt.Sprintf("redis://proxy@%s?password_file=%s", s.Addr(), file))
		s.MustDo("ACL", "SETUSER", "proxy", "on", "~*", "&*", "+@all", ">S3cret-old")
		s.MustDo("ACL", "SETUSER", "default", "-@all", "+@connection", "+acl", "+client", "+get", "~*")
	}
	r := startReloadable(t, entries, nil)
	holder := r.client()
	wantReply(t, holder, ok, "SET", "held", "token", "NX", "PX", "60000")
	stop := r.load(3)
	for i, s := range group {
		s.MustDo("ACL", "SETUSER", "proxy", ">S3cret-new")
		writeFile(t, files[i], "S3cret-new\n")
		if got := fmt.Sprint(r.reload(reloaded)["changed"]); got != "[group.backends]" {
			t.Errorf("changed: %s", got)
		}
		redistest.Eventually(t, 10*time.Second, "the backend takes it", func() bool {
			return slices.ContainsFunc(r.proxy.Logs(), func(line map[string]any) bool {
				return line["backend"] == s.Addr() && line["message"] == "the backend has taken the new credentials"
			})
		})
		s.MustDo("ACL", "SETUSER", "proxy", "<S3cret-old")
	}
	// A mistake is said and costs nothing, until a connection breaks.
	writeFile(t, files[0], "S3cret-mistake\n")
	r.reload(reloaded)
	redistest.Eventually(t, 10*time.Second, "the backend refuses it", func() bool {
		return strings.Contains(r.proxy.Output(), "does not take the new credentials")
	})
	writeFile(t, files[0], "S3cret-new\n")
	r.reload(reloaded)
	rounds, err := stop()
	if err != nil || rounds == 0 {
		t.Errorf("the load: %d rounds, %v", rounds, err)
	}
	if n := r.logged("state", "down"); n != 0 {
		t.Errorf("%d connections were lost", n)
	}
	wantReply(t, holder, int64(1), "EVAL", releaseScript, "1", "held", "token")
	// New connections begin with the new password.
	for _, s := range group {
		s.MustDo("CLIENT", "KILL", "TYPE", "normal")
	}
	redistest.Eventually(t, 10*time.Second, "all vote again", func() bool { return r.logged("state", "voter") >= 10 })
	wantReply(t, holder, ok, "SET", "held", "token", "NX", "PX", "60000")
	if strings.Contains(r.proxy.Output(), "S3cret") {
		t.Errorf("a password is shown:\n%s", r.proxy.Output())
	}
}
