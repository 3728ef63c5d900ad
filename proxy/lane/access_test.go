package lane

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"redlockproxy/proxy/redistest"
	"redlockproxy/quorum"
)

// entry makes a lane that gets in by a login, and the log that it writes.
func entry(t *testing.T, addr string, login Login) (*Lane, *Access, *text) {
	t.Helper()
	a := NewAccess(login)
	cfg, log := logged(testConfig(a.Options("tcp", addr)))
	return open(t, cfg), a, log
}

// user gives the user u these passwords and no others.
func user(s *redistest.Server, passwords ...string) {
	rules := []string{"ACL", "SETUSER", "u", "on", "~*", "&*", "+@all", "resetpass"}
	for _, p := range passwords {
		rules = append(rules, ">"+p)
	}
	s.MustDo(rules...)
}

// numbered is the number that the lane's connection has at the backend; nothing else
// may be under way.
func numbered(t *testing.T, l *Lane) int64 {
	t.Helper()
	a := ask(t, l, quorum.Read{Keys: []quorum.Key{"k"}})
	wantVote(t, a, quorum.Granted)
	return l.connID
}

func TestPasswordChangesOnTheConnectionThatIsThere(t *testing.T) {
	server := redistest.Start(t)
	user(server, "old")
	l, access, log := entry(t, server.Addr(), Login{User: "u", Password: "old"})
	before := numbered(t, l)
	user(server, "old", "new")
	if !access.Replace(Login{User: "u", Password: "new"}) {
		t.Error("other credentials are taken for the same")
	}
	l.Relogin()
	eventually(t, "the new login", func() bool { return log.lines("has taken the new credentials") == 1 })
	user(server, "new")
	if now := numbered(t, l); now != before {
		t.Errorf("connection %d became %d", before, now)
	}
	// The next connection begins with the new one; nothing is left to be shown on it.
	server.MustDo("CLIENT", "KILL", "ID", strconv.FormatInt(before, 10))
	eventually(t, "another connection", func() bool {
		return ask(t, l, quorum.Read{Keys: []quorum.Key{"k"}}).Vote == quorum.Granted
	})
	if log.lines("new credentials") != 1 {
		t.Errorf("%s", log)
	}
}

// A password that the backend does not have yet, or an administrator's mistake, costs
// the connection nothing: what is queued behind a write goes after it.
func TestCredentialsThatAreRefusedLeaveTheConnectionAsItWas(t *testing.T) {
	server := redistest.Start(t)
	user(server, "old")
	l, access, log := entry(t, server.Addr(), Login{User: "u", Password: "old"})
	before := numbered(t, l)
	access.Replace(Login{User: "u", Password: "S3cret-mistake"})
	l.Relogin()
	eventually(t, "a line about it", func() bool { return log.lines(`"level":"error"`) == 1 })
	if log.lines("WRONGPASS") != 1 || log.lines("S3cret") != 0 {
		t.Errorf("%s", log)
	}
	wantVote(t, ask(t, l, acquireOp("lock", "x")), quorum.Granted)
	if now := numbered(t, l); now != before {
		t.Errorf("connection %d became %d", before, now)
	}
	access.Replace(Login{User: "u", Password: "old"})
	l.Relogin()
	eventually(t, "the old login again", func() bool { return log.lines("has taken the new credentials") == 1 })
}

func TestBackendThatIsDownIsMetWithTheNewestPassword(t *testing.T) {
	server := redistest.Start(t)
	user(server, "new")
	a := NewAccess(Login{User: "u", Password: "old"})
	cfg, log := logged(testConfig(a.Options("tcp", server.Addr())))
	cfg.BackoffMin, cfg.BackoffMax = time.Second, time.Second // it does not try again while the password changes
	l := Open(cfg)
	t.Cleanup(l.Close)
	<-l.Tried()
	if l.State() != Down || log.lines("WRONGPASS") != 1 {
		t.Errorf("state %s, log %s", l.State(), log)
	}
	a.Replace(Login{User: "u", Password: "new"})
	l.Relogin()
	eventually(t, "the lane is up", func() bool { return l.State() == Voter })
	for range 20 { // between any two of them a login could have its turn
		numbered(t, l)
	}
	if log.lines("new credentials") != 0 {
		t.Errorf("it logged in twice: %s", log)
	}
}

func TestRenewedCertificateServesTheNextConnection(t *testing.T) {
	authority, other := redistest.NewAuthority(t), redistest.NewAuthority(t)
	server := redistest.Start(t, authority.TLS(authority.Issue("backend")))
	mine := authority.Issue("proxy")
	l, access, log := entry(t, server.Addr(), Login{TLS: authority.Client(mine)})
	before := numbered(t, l)
	if access.Replace(Login{TLS: authority.Client(other.Issue("stranger"))}) {
		t.Error("other certificates are taken for other credentials")
	}
	if now := numbered(t, l); now != before {
		t.Errorf("connection %d became %d", before, now)
	}
	server.MustDo("CLIENT", "KILL", "ID", strconv.FormatInt(before, 10))
	eventually(t, "the stranger is refused", func() bool { return l.State() == Down })
	access.Replace(Login{TLS: authority.Client(mine)})
	eventually(t, "the lane is up", func() bool { return l.State() == Voter })
	if log.lines(`"state":"down"`) == 0 {
		t.Errorf("%s", log)
	}
}

func TestLoginsDifferByUserAndPasswordOnly(t *testing.T) {
	var differ []bool
	a := NewAccess(Login{User: "u", Password: "p"})
	for _, l := range []Login{{User: "u", Password: "p"}, {User: "v", Password: "p"}, {User: "v"}, {User: "v"}} {
		differ = append(differ, a.Replace(l))
	}
	if want := []bool{false, true, true, false}; !slices.Equal(differ, want) {
		t.Errorf("%v, want %v", differ, want)
	}
}

func TestSecretsOfABackendAreInNoLogAndNoError(t *testing.T) {
	const right, wrong, user = "R1ghtSecret", "Wr0ngSecret", "SomeUser77"
	server := redistest.Start(t, redistest.Password(right))
	for name, c := range map[string]struct {
		options redis.Options
		fit     bool
	}{
		"right password":       {redis.Options{Addr: server.Addr(), Password: right}, true},
		"wrong password":       {redis.Options{Addr: server.Addr(), Password: wrong}, false},
		"wrong user":           {redis.Options{Addr: server.Addr(), Username: user, Password: wrong}, false},
		"no password":          {redis.Options{Addr: server.Addr()}, false},
		"nobody there":         {redis.Options{Addr: "127.0.0.1:1", Username: user, Password: wrong}, false},
		"a name of no machine": {redis.Options{Addr: "no-such-host.invalid:1", Username: user, Password: wrong}, false},
	} {
		t.Run(name, func(t *testing.T) {
			cfg, log := logged(testConfig(c.options))
			l := Open(cfg)
			t.Cleanup(l.Close)
			<-l.Tried()
			a := ask(t, l, acquireOp("k", "T0kenSecret"))
			report := Inspect(t.Context(), cfg)
			if (a.Vote != quorum.Failed) != c.fit || (report.Err == nil) != c.fit {
				t.Errorf("vote %d (%v), inspection %v", a.Vote, a.Err, report.Err)
			}
			said := log.String()
			for _, err := range []error{a.Err, report.Err} {
				if err != nil {
					said += err.Error()
				}
			}
			for _, secret := range []string{right, wrong, user, "T0kenSecret"} {
				if strings.Contains(said, secret) {
					t.Errorf("%s is in: %s", secret, said)
				}
			}
			server.MustDo("DEL", "k")
		})
	}
}
