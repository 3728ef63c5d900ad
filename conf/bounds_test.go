package conf

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// setRow gives a value to one row of a fresh table.
func setRow(key, value string) error {
	c := Default()
	f, _ := table(&c).find(key)
	return f.set([]string{value})
}

// Both edges of every number and time span are accepted, what lies behind them
// is not. The edges are read out of the bounds that the documentation shows.
func TestBoundsHoldAtBothEdges(t *testing.T) {
	var c Config
	rows := 0
	for _, f := range table(&c) {
		_, span, ok := strings.Cut(f.bounds, "\"0s\" for none, or ")
		if !ok {
			span = f.bounds
		}
		lo, hi, ok := strings.Cut(span, " to ")
		if !ok || strings.Contains(f.bounds, "bytes") || strings.Contains(f.bounds, "letters") || strings.Contains(f.bounds, "three") {
			continue
		}
		rows++
		below, above := neighbours(t, f, lo, hi)
		for _, good := range []string{lo, hi} {
			if err := setRow(f.key, good); err != nil {
				t.Errorf("%s = %s: %v", f.key, good, err)
			}
		}
		for _, bad := range []string{below, above, "", "x", "99999999999999999999999", "-1", "NaN", "1 "} {
			if err := setRow(f.key, bad); err == nil {
				t.Errorf("%s = %q was accepted", f.key, bad)
			}
		}
	}
	if rows < 25 {
		t.Errorf("only %d settings have edges; was the text of the bounds changed?", rows)
	}
}

// neighbours are the values right outside of lo and hi.
func neighbours(t *testing.T, f field, lo, hi string) (below, above string) {
	t.Helper()
	if f.kind == kindNumber {
		var l, h int
		if _, err := fmt.Sscan(lo+" "+hi, &l, &h); err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(l - 1), fmt.Sprint(h + 1)
	}
	l, err := time.ParseDuration(lo)
	if err != nil {
		t.Fatal(err)
	}
	h, err := time.ParseDuration(hi)
	if err != nil {
		t.Fatal(err)
	}
	return (l - 1).String(), (h + 1).String()
}

func TestTextsAreChecked(t *testing.T) {
	for key, values := range map[string]struct{ good, bad []string }{
		"server.listen": {
			[]string{"127.0.0.1:0", ":6380", "[::1]:65535", "h:1", "unix:/run/p.sock"},
			[]string{"", "6380", "h", "h:", "h:65536", "h:-1", "h:x", "h h:1", "::1:1", "unix:", "unix:p.sock", "unix:/", "a\n:1", "unix:/" + strings.Repeat("x", 108)},
		},
		"server.admin":              {[]string{"", "127.0.0.1:9121", ":0"}, []string{"9121", "off"}},
		"server.advertised_version": {[]string{"8.4.0", "7.0.15", "0.0.255"}, []string{"", "8", "8.4", "8.4.0.0", "8.4.x", "8.4.0\r\n", "8.04.0", "8.4.256", "v8.4.0"}},
		"server.unavailable_reply":  {[]string{"error", "nil"}, []string{"", "null", "Error"}},
		"group.name":                {[]string{"a", "A-b_c.9", strings.Repeat("x", 64)}, []string{"", "a b", "é", "a\n", "a:b", strings.Repeat("x", 65)}},
		"group.init":                {[]string{"auto", "manual"}, []string{"", "never"}},
		"group.pad_ttl":             {[]string{"true", "false"}, []string{"", "1", "True", "yes"}},
		"log.level":                 {[]string{"trace", "debug", "info", "warn", "error", "disabled"}, []string{"", "INFO", "off"}},
		"log.format":                {[]string{"json", "console"}, []string{"", "text"}},
		"server.tls_cert":           {[]string{"", "/a", "b.pem"}, []string{"a\x00b", strings.Repeat("x", 4096)}},
		"server.password":           {[]string{"", "x", strings.Repeat("x", 512)}, []string{strings.Repeat("x", 513)}},
	} {
		for _, v := range values.good {
			if err := setRow(key, v); err != nil {
				t.Errorf("%s = %q: %v", key, v, err)
			}
		}
		for _, v := range values.bad {
			if err := setRow(key, v); err == nil {
				t.Errorf("%s = %q was accepted", key, v)
			}
		}
	}
}

func TestSettingsMustGoTogether(t *testing.T) {
	for _, c := range []struct{ text, one, other string }{
		{"[server]\nanswer_within = \"99ms\"", "lane.vote (the default)", "server.answer_within (f.toml:2)"},
		{"[lane]\nvote = \"2s\"\nstall = \"1s\"\n[server]\nanswer_within = \"2s\"", "lane.vote", "lane.stall"},
		{"[lock]\nretry_delay = \"201ms\"", "lock.retry_delay", "server.answer_within"},
		{"[lane]\nbackoff_min = \"501ms\"", "lane.backoff_min", "lane.backoff_max"},
		{"[lane]\nqueue = 255", "lane.batch_requests", "lane.queue"},
		{"[script]\nmax_time = \"201ms\"", "script.max_time", "server.answer_within"},
		{"[server]\nmax_large_bytes = 1048575", "server.max_command_bytes", "server.max_large_bytes"},
		{"[server]\nmax_command_bytes = 65536", "script.max_source", "server.max_command_bytes"},
		{"[server]\nmax_command_bytes = 65535\n[script]\nmax_source = 1024", "server.max_inline_bytes", "server.max_command_bytes"},
		{"[server]\nadmin = \"127.0.0.1:6380\"", "server.listen", "server.admin"},
		{"[server]\ntls_cert = \"c\"", "server.tls_cert", "server.tls_key"},
		{"[server]\ntls_client_ca = \"c\"", "server.tls_client_ca", "server.tls_cert"},
		{"[group]\ntls_key = \"c\"", "group.tls_cert", "group.tls_key"},
		{"[group]\nbackends = [\"h:1\"]\ntls_ca = \"c\"", "group.backends", "rediss://"},
		{"[group]\nbackends = [\"redis://u@h:1\"]", "group.backends", "no password"},
		{"[group]\nbackend_user = \"u\"", "group.backend_user", "group.backend_password"},
		{"[server]\npassword = \"a\"\npassword_file = \"f.toml\"", "server.password (f.toml:2)", "server.password_file (f.toml:3)"},
	} {
		_, err := loadTOML(c.text)
		if err == nil || !strings.Contains(err.Error(), c.one) || !strings.Contains(err.Error(), c.other) {
			t.Errorf("%q: %v; want %q and %q", c.text, err, c.one, c.other)
		}
	}
}

// The other side of each edge above.
func TestEqualNeighboursGoTogether(t *testing.T) {
	for _, text := range []string{
		"[server]\nanswer_within = \"100ms\"",
		"[lane]\nvote = \"200ms\"\nstall = \"200ms\"",
		"[lock]\nretry_delay = \"200ms\"",
		"[lane]\nbackoff_min = \"500ms\"",
		"[lane]\nqueue = 256",
		"[script]\nmax_time = \"200ms\"",
		"[server]\nmax_command_bytes = 65537",
		"[server]\nlisten = \"127.0.0.1:0\"\nadmin = \"127.0.0.1:0\"",
	} {
		if _, err := loadTOML(text); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestOpenServerNeedsALockOnTheDoor(t *testing.T) {
	f := files{"pw": "s\n"}
	for _, listen := range []string{"0.0.0.0:6380", ":6380", "[::]:6380", "192.0.2.1:6380", "example.org:6380", "[::ffff:192.0.2.1]:1"} {
		env := []string{"REDLOCK_PROXY_SERVER_LISTEN=" + listen}
		loadFails(t, nil, env, f, "server.listen", "REDLOCK_PROXY_SERVER_LISTEN", "server.password_file", "server.protected")
		load(t, nil, append(env, "REDLOCK_PROXY_SERVER_PROTECTED=false"), f)
		load(t, nil, append(env, "REDLOCK_PROXY_SERVER_PASSWORD=s"), f)
		load(t, nil, append(env, "REDLOCK_PROXY_SERVER_PASSWORD_FILE=pw"), f)
		loadFails(t, nil, append(env, "REDLOCK_PROXY_SERVER_PASSWORD="), f, "server.listen")
	}
	for _, listen := range []string{"127.0.0.1:1", "127.9.9.9:1", "[::1]:1", "localhost:1", "LocalHost.:1", "[::ffff:127.0.0.1]:1", "unix:/run/p.sock"} {
		load(t, []string{"-listen", listen}, nil, nil)
	}
}
