package conf

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestEverySettingSaysWhetherAReloadTakesItOver(t *testing.T) {
	var c Config
	for _, f := range table(&c) {
		if f.canChange == (f.because != "") {
			t.Errorf("%s: live %t, fixed because %q; a setting is one of the two", f.key, f.canChange, f.because)
		}
		if !strings.Contains(Example(), f.env()+"\n# Reload: "+f.reload()+".\n") {
			t.Errorf("the example file does not say it of %s", f.key)
		}
	}
}

// other is a value of a setting that is not the one in force.
func other(t *testing.T, f field) []string {
	t.Helper()
	candidates := [][]string{
		{"127.0.0.1:7777"}, {"true"}, {"false"}, {"1.2.3"}, {"nil"}, {"manual"}, {"warn"}, {"console"}, {"3s"}, {"4s"}, {"77ms"}, {"9"}, {"64"}, {"5000"}, {"99999"},
		{"other"}, {"h:1", "h:2", "h:3"},
	}
	before := f.value()
	for _, texts := range candidates {
		if (f.kind == kindList) == (len(texts) > 1) && f.set(texts) == nil && f.value() != before {
			return texts
		}
	}
	t.Fatalf("no other value for %s", f.key)
	return nil
}

func TestOnlyFixedSettingsAreRefusedAndWithTheReason(t *testing.T) {
	for _, key := range keys() {
		from, to := Default(), Default()
		f, _ := table(&to).find(key)
		other(t, f)
		changed, err := from.Change(to)
		if !slices.Equal(changed, []string{key}) {
			t.Errorf("%s changed, and %v is reported", key, changed)
		}
		switch {
		case f.canChange && err != nil:
			t.Errorf("%s: %v", key, err)
		case !f.canChange && (err == nil || !strings.Contains(err.Error(), key) || !strings.Contains(err.Error(), f.because)):
			t.Errorf("%s: %v, which should say: %s", key, err, f.because)
		}
	}
}

func TestEverythingThatCantChangeIsNamedAtOnce(t *testing.T) {
	to := Default()
	to.Server.Listen, to.Lane.Queue, to.Server.Idle = "127.0.0.1:1", 77, 1e9
	changed, err := Default().Change(to)
	if want := []string{"server.listen", "server.idle", "lane.queue"}; !slices.Equal(changed, want) {
		t.Errorf("%v changed, want %v", changed, want)
	}
	if err == nil || strings.Count(err.Error(), "\n") != 1 || strings.Contains(err.Error(), "server.idle") {
		t.Errorf("%v", err)
	}
}

func TestBackendsMayChangeCredentialsButNoAddress(t *testing.T) {
	backends := func(first string) Config {
		c, _ := load(t, []string{"-backends", first + ",h:2,h:3"}, nil, files{"f": "S3cr3tCanary", "g": "0ther"})
		return c
	}
	from := backends("redis://u:S3cr3tCanary@h:1")
	for _, entry := range []string{"redis://u:0ther@h:1", "redis://v:S3cr3tCanary@h:1", "h:1", "redis://u@h:1?password_file=g"} {
		changed, err := from.Change(backends(entry))
		if err != nil || !slices.Equal(changed, []string{"group.backends"}) {
			t.Errorf("%s: %v, %v", entry, changed, err)
		}
	}
	for _, entry := range []string{"redis://u:S3cr3tCanary@h:4", "rediss://u:S3cr3tCanary@h:1", "unix:/h"} {
		_, err := from.Change(backends(entry))
		if err == nil {
			t.Fatalf("%s was accepted", entry)
		}
		noCanary(t, entry, err.Error())
	}
	if changed, err := from.Change(backends("redis://u:S3cr3tCanary@h:1")); err != nil || len(changed) > 0 {
		t.Errorf("without a change: %v, %v", changed, err)
	}
}

func TestBackendsHaveFilesOfTheirOwn(t *testing.T) {
	certA, keyA := selfSigned(t)
	certB, keyB := selfSigned(t)
	f := files{"pw": "S3cr3tCanary\n", "ca": certA, "cert": certA, "key": keyA, "ca2": certB, "cert2": certB, "key2": keyB, "group": "gr0up"}
	c, _ := load(t, []string{
		"-backends", "rediss://u@h:1?password_file=pw&tls_ca=ca2&tls_cert=cert2&tls_key=key2,rediss://h:2?tls_ca=ca2,redis://h:3?password_file=pw",
	}, []string{
		"REDLOCK_PROXY_GROUP_TLS_CA=ca", "REDLOCK_PROXY_GROUP_TLS_CERT=cert", "REDLOCK_PROXY_GROUP_TLS_KEY=key",
		"REDLOCK_PROXY_GROUP_BACKEND_PASSWORD_FILE=group",
	}, f)
	b := c.Group.Backends
	got := fmt.Sprint(b[0].User.Reveal(), b[0].Password.Reveal(), b[0].TLSCA, b[0].TLSCert, b[0].TLSKey, " ",
		b[1].User.Reveal(), b[1].Password.Reveal(), b[1].TLSCA, b[1].TLSCert, b[1].TLSKey, " ",
		b[2].User.Reveal(), b[2].Password.Reveal(), b[2].TLSCA, b[2].TLSCert, b[2].TLSKey)
	if want := "uS3cr3tCanaryca2cert2key2 gr0upca2certkey S3cr3tCanary"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	for i, server := range []struct{ cert, ca string }{{certB, certB}, {certB, certA}} {
		client, err := c.Group.TLS(i, f.read)
		if err != nil {
			t.Fatal(err)
		}
		key := map[string]string{certA: keyA, certB: keyB}[server.cert]
		g := files{"cert": server.cert, "key": key, "ca": server.ca}
		config, err := (Server{TLSCert: "cert", TLSKey: "key", TLSClientCA: "ca"}).TLS(g.read)
		if err != nil {
			t.Fatal(err)
		}
		client.ServerName = "h"
		if err := handshake(t, config, client); err != nil {
			t.Errorf("backend %d: %v", i, err)
		}
	}
	if none, err := c.Group.TLS(2, f.read); none != nil || err != nil {
		t.Errorf("%v %v for a backend without TLS", none, err)
	}
}

func TestMistakesInABackendsFilesNameTheEntry(t *testing.T) {
	cert, key := selfSigned(t)
	f := files{"pw": "S3cr3tCanary", "empty": "\n", "cert": cert, "key": key, "nonsense": "S3cr3tCanary"}
	for entry, part := range map[string]string{
		"redis://h:1?password_file=missing":                                     "entry 1: password_file: open missing",
		"redis://h:1?password_file=empty":                                       "entry 1: password_file: the file must hold",
		"redis://:S3cr3tCanary@h:1?password_file=pw":                            "entry 1: has a password and a password_file",
		"redis://u@h:1":                                                         "entry 1 has a user but no password",
		"redis://h:1?password_file=":                                            "may have only password_file",
		"redis://h:1?password_file=pw&password_file=pw":                         "may have only password_file",
		"redis://h:1?S3cr3tCanary=1":                                            "may have only password_file",
		"redis://h:1?tls_ca=cert":                                               "write rediss://",
		"rediss://h:1?tls_cert=cert":                                            "one of tls_cert and tls_key",
		"rediss://h:1?tls_ca=nonsense":                                          "group.backends: entry 1: tls_ca: nonsense holds no certificate",
		"rediss://h:1?tls_cert=cert&tls_key=missing":                            "group.backends: entry 1: tls_key: open missing",
		"rediss://h:1?tls_cert=nonsense&tls_key=key":                            "entry 1: tls_cert nonsense and",
		"rediss://h:1?tls_ca=" + strings.Repeat("a", 4096):                      "may have only password_file",
		"rediss://h:1?tls_ca=cert&tls_cert=cert&tls_key=key&connect_timeout=1s": "may have only password_file",
	} {
		noCanary(t, entry, loadFails(t, []string{"-backends", entry}, nil, f, part))
	}
}
