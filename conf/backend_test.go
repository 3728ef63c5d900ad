package conf

import (
	"slices"
	"strings"
	"testing"
)

func TestBackendForms(t *testing.T) {
	for entry, want := range map[string]struct {
		network, address, user, password string
		tls                              bool
	}{
		"h:1":                          {network: "tcp", address: "h:1"},
		" Redis-1.Example.ORG.:06379 ": {network: "tcp", address: "redis-1.example.org:6379"},
		"[::ffff:127.0.0.1]:1":         {network: "tcp", address: "127.0.0.1:1"},
		"[0:0::1]:1":                   {network: "tcp", address: "[::1]:1"},
		"redis://h":                    {network: "tcp", address: "h:6379"},
		"redis://h:7/0":                {network: "tcp", address: "h:7"},
		"redis://:p@h:7/":              {network: "tcp", address: "h:7", password: "p"},
		"redis://u:p%40%2C@h:7":        {network: "tcp", address: "h:7", user: "u", password: "p@,"},
		"rediss://u:p@[::1]:7":         {network: "tcp", address: "[::1]:7", user: "u", password: "p", tls: true},
		"unix:/run//r.sock":            {network: "unix", address: "/run/r.sock"},
	} {
		b, err := parseBackend(strings.TrimSpace(entry))
		if err != nil || b.Network != want.network || b.Address != want.address || b.TLS != want.tls ||
			b.User.Reveal() != want.user || b.Password.Reveal() != want.password {
			t.Errorf("%q: %v %+v %q %q", entry, err, b, b.User.Reveal(), b.Password.Reveal())
		}
	}
}

func TestUnfitBackendsAreNumbered(t *testing.T) {
	for _, bad := range []string{
		"", " ", "h", "h:", ":1", "h:0", "h:65536", "h:x", "h h:1", "::1:1", "[::1]", "h\n:1", "u:p@h:1",
		"http://h:1", "redis://", "redis://:1", "redis://h:x", "redis://h:0", "redis://h:1/1", "redis://h:1/x", "redis://h:1?db=1",
		"redis://h:1#f", "redis://u:%zz@h:1", "unix:", "unix:r.sock", "unix:/", "redis+tls://h:1", strings.Repeat("h", 254) + ":1",
	} {
		_, err := parseBackends([]string{"ok:1", bad, "ok:2"})
		if err == nil || !strings.HasPrefix(err.Error(), "entry 2: ") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// A majority must be one of the configured group, so the group's size has to be
// odd, and nobody may have two votes.
func TestGroupsHaveAnOddNumberOfBackends(t *testing.T) {
	all := []string{"h:1", "h:2", "h:3", "h:4", "h:5", "h:6", "h:7", "h:8", "h:9"}
	for n := 1; n <= len(all); n++ {
		list := strings.Join(all[:n], ",")
		if n%2 == 1 && n <= 7 {
			if c, _ := load(t, []string{"-backends", list}, nil, nil); len(c.Group.Backends) != n || c.Embedded {
				t.Errorf("%d backends: %v", n, c.Group.Backends)
			}
			continue
		}
		loadFails(t, []string{"-backends", list}, nil, nil, "-backends: group.backends", "1, 3, 5 or 7", "add or remove one")
	}
}

// An empty list is not the same as none: a shell variable that is not set must
// not turn a real group into one that lives in this process's memory.
func TestEmptyListOfBackendsIsAnError(t *testing.T) {
	loadFails(t, []string{"-backends", ""}, nil, nil, "-backends", "empty", "in-process")
	loadFails(t, []string{"-backends= "}, nil, nil, "-backends", "empty")
	loadFails(t, nil, []string{"REDLOCK_PROXY_GROUP_BACKENDS="}, nil, "REDLOCK_PROXY_GROUP_BACKENDS", "empty")
	loadFails(t, []string{"-config", "f"}, nil, files{"f": "[group]\nbackends = []"}, "f:2", "empty")
	loadFails(t, []string{"-backends", "a:1,,b:1"}, nil, nil, "entry 2")
	loadFails(t, []string{"check"}, nil, nil, "`check`", "-backends")
	loadFails(t, []string{"init"}, nil, nil, "`init`", "-backends")
}

func TestOneServerTwiceIsAnError(t *testing.T) {
	for _, pair := range [][2]string{
		{"localhost:7001", "localhost:7001"},
		{"localhost:7001", "127.0.0.1:7001"},
		{"[::1]:7001", "localhost:7001"},
		{"h:7001", "H.:07001"},
		{"redis://a:b@h:7001", "redis://c:d@h:7001"},
		{"redis://h:7001/0", "h:7001"},
		{"redis://h:7001", "rediss://h:7001"},
		{"redis://h", "h:6379"},
		{"127.0.0.1:7001", "[::ffff:7f00:1]:7001"},
		{"unix:/run/a.sock", "unix:/run/../run/a.sock"},
	} {
		err := loadFails(t, []string{"-backends", pair[0] + ",other:1," + pair[1]}, nil, nil, "entries 1 and 3", "same server", "vote twice", "replace")
		if strings.Contains(err, "b@") || strings.Contains(err, "d@") {
			t.Errorf("%s shows credentials", err)
		}
	}
	for _, list := range []string{"127.0.0.1:1,127.0.0.2:1,[::1]:1", "localhost:1,localhost:2,h:1", "unix:/a,unix:/b,h:1"} {
		load(t, []string{"-backends", list}, nil, nil)
	}
}

func TestBackendsShareCredentialsUnlessTheyHaveTheirOwn(t *testing.T) {
	c, _ := load(t, []string{"-backends", "h:1,redis://:own@h:2,redis://me:mine@h:3"},
		[]string{"REDLOCK_PROXY_GROUP_BACKEND_USER=all", "REDLOCK_PROXY_GROUP_BACKEND_PASSWORD_FILE=pw"}, files{"pw": "shared\r\n"})
	var got []string
	for _, b := range c.Group.Backends {
		got = append(got, b.User.Reveal()+":"+b.Password.Reveal())
	}
	if want := []string{"all:shared", ":own", "me:mine"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestAddressesForNet(t *testing.T) {
	for listen, want := range map[string]string{
		"127.0.0.1:6380": "tcp 127.0.0.1:6380", ":6380": "tcp 127.0.0.1:6380", "0.0.0.0:6380": "tcp 127.0.0.1:6380",
		"[::]:6380": "tcp 127.0.0.1:6380", "192.0.2.1:1": "tcp 192.0.2.1:1", "unix:/run/p.sock": "unix /run/p.sock", "[::1]:1": "tcp [::1]:1",
	} {
		if network, addr := (Server{Listen: listen}).PingAddress(); network+" "+addr != want {
			t.Errorf("%s: %s %s, want %s", listen, network, addr, want)
		}
	}
}

func TestInspectTakesTheKeyToLookAt(t *testing.T) {
	for _, args := range [][]string{
		{"inspect", "k", "-backends", "a:1"}, {"-backends", "a:1", "inspect", "k"}, {"inspect", "-backends", "a:1", "k"},
	} {
		if _, cmd := load(t, args, nil, nil); cmd != (Command{Action: Inspect, Key: "k"}) {
			t.Errorf("%q: %+v", args, cmd)
		}
	}
	// Any key can be named: one that looks like a command or, behind --, like a flag.
	if _, cmd := load(t, []string{"inspect", "serve", "-backends", "a:1"}, nil, nil); cmd.Action != Inspect || cmd.Key != "serve" {
		t.Errorf("%+v", cmd)
	}
	if _, cmd := load(t, []string{"-backends", "a:1", "inspect", "--", "-k"}, nil, nil); cmd.Key != "-k" {
		t.Errorf("%+v", cmd)
	}
	loadFails(t, []string{"inspect", "-backends", "a:1"}, nil, nil, "`redlock-proxy inspect KEY`")
	loadFails(t, []string{"inspect", "k", "l", "-backends", "a:1"}, nil, nil, "an argument too many")
	loadFails(t, []string{"inspect", "k"}, nil, nil, "`inspect`", "-backends")
}

func TestTopNeedsNoBackends(t *testing.T) {
	if _, cmd := load(t, []string{"top"}, nil, nil); cmd != (Command{Action: Top}) {
		t.Error(cmd)
	}
	if network, addr := (Server{Admin: ":9121"}).AdminAddress(); network != "tcp" || addr != "127.0.0.1:9121" {
		t.Errorf("%s %s", network, addr)
	}
}

func TestPingNeedsNoBackends(t *testing.T) {
	if _, cmd := load(t, []string{"check", "-ping"}, nil, nil); cmd != (Command{Action: Check, Ping: true}) {
		t.Error(cmd)
	}
}
