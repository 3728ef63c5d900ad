package e2e_test

import (
	"crypto/tls"
	"fmt"
	"strings"
	"testing"
	"time"

	"redlockproxy/proxy/redistest"
)

// serverTLS are the lines for clients that speak TLS and show certificates.
func serverTLS(a *redistest.Authority, c redistest.Certificate) []string {
	return []string{
		fmt.Sprintf("server.tls_cert = %q", c.Cert), fmt.Sprintf("server.tls_key = %q", c.Key),
		fmt.Sprintf("server.tls_client_ca = %q", a.CA()),
	}
}

// groupTLS are the lines for backends that speak TLS and ask for a certificate.
func groupTLS(a *redistest.Authority, c redistest.Certificate) []string {
	return []string{
		fmt.Sprintf("group.tls_ca = %q", a.CA()),
		fmt.Sprintf("group.tls_cert = %q", c.Cert), fmt.Sprintf("group.tls_key = %q", c.Key),
	}
}

// encrypted are the addresses of backends that speak TLS.
func encrypted(g redistest.Group) []string {
	addrs := g.Addrs()
	for i := range addrs {
		addrs[i] = "rediss://" + addrs[i]
	}
	return addrs
}

func TestLocksOverTLSToClientsAndBackends(t *testing.T) {
	clients, backends := redistest.NewAuthority(t), redistest.NewAuthority(t)
	group := redistest.StartGroup(t, 5, backends.TLS(backends.Issue("backend")))
	lines := append(serverTLS(clients, clients.Issue("proxy")), groupTLS(backends, backends.Issue("proxy"))...)
	r := startReloadable(t, encrypted(group), clients.Client(clients.Issue("client")), lines...)
	c := r.client()
	wantReply(t, c, ok, "SET", "lock", "token", "NX", "PX", "30000")
	wantReply(t, c, nil, "SET", "lock", "other", "NX", "PX", "30000")
	redistest.Eventually(t, 5*time.Second, "all five hold it", func() bool { return group.Holding("lock") == 5 })
	wantReply(t, c, int64(1), "EVAL", releaseScript, "1", "lock", "token")

	// Others than clients of the authority get no word out of it.
	plain, err := redistest.Dial(r.proxy.Addr())
	if err != nil {
		t.Fatal(err)
	}
	if reply, err := plain.Do("PING"); err == nil {
		t.Errorf("without TLS: %v", reply)
	}
	for name, config := range map[string]*tls.Config{
		"no certificate":                   clients.Client(),
		"a certificate of somebody else's": clients.Client(backends.Issue("client")),
	} {
		// With TLS 1.3 a client learns of it with the first answer only.
		stranger, err := redistest.DialTLS(r.proxy.Addr(), config)
		if err == nil {
			var reply any
			if reply, err = stranger.Do("PING"); err == nil {
				t.Errorf("%s: %v", name, reply)
			}
			_ = stranger.Close()
		}
	}

	if code, printed := runBinary(t, "check", "-ping", "-config", r.file, "-listen", r.proxy.Addr()); code != 0 {
		t.Errorf("check -ping ends with %d: %s", code, printed)
	}
	args := []string{"check", "-config", r.file, "-backends", strings.Join(encrypted(group), ",")}
	if code, printed := runBinary(t, args...); code != 0 || strings.Count(printed, " fit ") != 5 {
		t.Errorf("check ends with %d: %s", code, printed)
	}
	if code, printed := runBinary(t, "inspect", "lock", "-config", r.file, "-backends", strings.Join(encrypted(group), ",")); code != 0 || !strings.Contains(printed, "lock: free") {
		t.Errorf("inspect ends with %d: %s", code, printed)
	}
	// Each of these backends is shown a certificate that it does not know.
	r.write(append(serverTLS(clients, clients.Issue("proxy")), groupTLS(backends, clients.Issue("proxy"))...)...)
	if code, printed := runBinary(t, args...); code != 1 || strings.Count(printed, " unfit ") != 5 {
		t.Errorf("check with a wrong certificate ends with %d: %s", code, printed)
	}
	// And these are not those that the proxy knows.
	r.write(append(serverTLS(clients, clients.Issue("proxy")), groupTLS(clients, backends.Issue("proxy"))...)...)
	if code, printed := runBinary(t, args...); code != 1 || strings.Count(printed, "unknown authority") != 5 {
		t.Errorf("check with a wrong authority ends with %d: %s", code, printed)
	}
}

func TestPingOverTLSWithoutClientCertificates(t *testing.T) {
	a := redistest.NewAuthority(t)
	cert := a.Issue("proxy")
	r := startReloadable(t, redistest.StartGroup(t, 1).Addrs(), a.Client(), serverTLS(a, cert)[:2]...)
	wantReply(t, r.client(), redistest.Status("PONG"), "PING")
	if code, printed := runBinary(t, "check", "-ping", "-config", r.file, "-listen", r.proxy.Addr()); code != 0 {
		t.Errorf("check -ping ends with %d: %s", code, printed)
	}
	r.proxy.Stop()
	if code, printed := runBinary(t, "check", "-ping", "-config", r.file, "-listen", r.proxy.Addr()); code != 1 || printed == "" {
		t.Errorf("without a server check -ping ends with %d: %s", code, printed)
	}
}

// Whoever holds the port is told nothing before it has shown the server's certificate.
func TestPingSendsNothingToAnotherProgramAtItsPort(t *testing.T) {
	a := redistest.NewAuthority(t)
	cert, other := a.Issue("proxy"), a.Issue("stranger")
	pair, err := tls.LoadX509KeyPair(other.Cert, other.Key)
	if err != nil {
		t.Fatal(err)
	}
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{pair}})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	heard := make(chan string, 1)
	go func() {
		conn, err := l.Accept()
		if err != nil {
			heard <- err.Error()
			return
		}
		defer conn.Close()
		b := make([]byte, 100)
		n, _ := conn.Read(b)
		heard <- string(b[:n])
	}()
	file := t.TempDir() + "/proxy.toml"
	writeFile(t, file, fmt.Sprintf("server.password = \"T0psecret\"\nserver.tls_cert = %q\nserver.tls_key = %q\n", cert.Cert, cert.Key))
	if code, printed := runBinary(t, "check", "-ping", "-config", file, "-listen", l.Addr().String()); code != 1 || !strings.Contains(printed, "another certificate") {
		t.Errorf("check -ping ends with %d: %s", code, printed)
	}
	if got := <-heard; got != "" {
		t.Errorf("it was told %q", got)
	}
}

func TestCertificatesThatCantBeUsedEndTheStart(t *testing.T) {
	a := redistest.NewAuthority(t)
	cert := a.Issue("proxy")
	for want, args := range map[string][]string{
		"server.tls_cert: open":                                    {"-config", "missing"},
		"server.tls_key":                                           {"-config", "other key"},
		"group.backends: entry 2: tls_ca":                          {"-backends", "127.0.0.1:1,rediss://127.0.0.1:2?tls_ca=" + cert.Key + ",127.0.0.1:3"},
		"entry 1: has certificates but does not use TLS":           {"-backends", "redis://127.0.0.1:1?tls_ca=" + a.CA()},
		"password_file: open " + a.CA() + ".missing: no such file": {"-backends", "redis://127.0.0.1:1?password_file=" + a.CA() + ".missing"},
	} {
		file := t.TempDir() + "/proxy.toml"
		switch {
		case args[1] == "missing":
			writeFile(t, file, fmt.Sprintf("server.tls_cert = %q\nserver.tls_key = %q\n", cert.Cert+".missing", cert.Key))
			args[1] = file
		case args[1] == "other key":
			writeFile(t, file, fmt.Sprintf("server.tls_cert = %q\nserver.tls_key = %q\n", cert.Cert, a.Issue("other").Key))
			args[1] = file
		}
		if code, printed := runBinary(t, append([]string{"serve", "-listen", "127.0.0.1:0", "-admin", ""}, args...)...); code != 78 || !strings.Contains(printed, want) {
			t.Errorf("%v: exit code %d, wanted 78 and %q in: %s", args, code, want, printed)
		}
	}
}
