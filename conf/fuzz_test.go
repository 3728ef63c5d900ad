package conf

import (
	"strings"
	"testing"
)

// FuzzLoad: no file makes Load panic, what it accepts is in bounds, and printing
// what it accepted gives a file that it accepts again.
func FuzzLoad(f *testing.F) {
	f.Add(Example())
	f.Add("[group]\nbackends = [\"redis://u:p@h:1\", 'rediss://h:2', \"unix:/a\"]\n")
	f.Add("server = { listen = \"127.0.0.1:1\", max_clients = 0x10 }\n[lane]\nvote = '''10ms'''")
	f.Add("[[server]]\n[server.x]\na.b.c = [1, [2], { x = 3 }]\n\"\" = 1979-05-27")
	f.Add("[server]\npassword = \"a\\u0000\\\"\\\\b\"\n")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := loadTOML(text)
		if err != nil {
			if strings.TrimSpace(err.Error()) == "" {
				t.Error("an error without words")
			}
			return
		}
		if c.Server.PasswordFile+c.Group.BackendPasswordFile != "" {
			return // the only file here is the text itself
		}
		again, err := loadTOML(c.String())
		if err != nil {
			t.Fatalf("%q gave\n%s\nwhich does not load: %v", text, c, err)
		}
		if c.String() != again.String() {
			t.Errorf("%q gave\n%s\nand that gave\n%s", text, c, again)
		}
	})
}

// FuzzBackend: no entry panics, none that is accepted has anything but plain
// text to show, and its normal form is stable.
func FuzzBackend(f *testing.F) {
	for _, s := range []string{"h:1", "redis://u:p@h:1", "rediss://[::1]:1/0", "unix:/a/../b", "[fe80::1%eth0]:1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, entry string) {
		b, err := parseBackend(entry)
		if err != nil {
			return
		}
		again, err := parseBackend(b.String())
		if err != nil || again.String() != b.String() || !sameServer(b, again) {
			t.Errorf("%q became %q, and that %q: %v", entry, b, again, err)
		}
	})
}
