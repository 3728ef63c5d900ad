package conf

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// canary is a password that must appear nowhere.
const canary = "S3cr3tCanary"

func noCanary(t *testing.T, where, text string) {
	t.Helper()
	if strings.Contains(text, canary) || strings.Contains(text, fmt.Sprintf("%x", canary)) ||
		strings.Contains(text, strings.Trim(fmt.Sprint([]byte(canary)), "[]")) {
		t.Errorf("%s shows the password: %.200s", where, text)
	}
}

func TestSecretsShowInNoFormat(t *testing.T) {
	user := "U" + canary
	c, _ := load(t, []string{"-backends", "redis://" + user + ":" + canary + "@h:1,h:2,unix:/x"}, []string{
		"REDLOCK_PROXY_SERVER_PASSWORD=" + canary,
		"REDLOCK_PROXY_GROUP_BACKEND_USER=" + user,
		"REDLOCK_PROXY_GROUP_BACKEND_PASSWORD=" + canary,
	}, nil)
	if c.Server.Password.Reveal() != canary || c.Group.Backends[1].Password.Reveal() != canary {
		t.Fatal("the passwords were not read")
	}
	type outer struct{ inner any }
	type unexported struct {
		b Backend
		s Secret
	}
	values := map[string]any{
		"config": c, "pointer": &c, "server": c.Server, "group": c.Group, "backends": c.Group.Backends, "backend": c.Group.Backends[0],
		"pointer to backend": &c.Group.Backends[0], "secret": c.Server.Password, "pointer to secret": &c.Server.Password,
		"unexported": unexported{c.Group.Backends[0], c.Server.Password}, "any": outer{c.Group}, "map": map[string]any{"x": c.Group},
	}
	for name, v := range values {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x", "%X", "%t", "%p", "%#q", "% x", "%20s", "%T"} {
			noCanary(t, name+" as "+verb, fmt.Sprintf(verb, v))
		}
		encoded, err := json.Marshal(v)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		noCanary(t, name+" as JSON", string(encoded))
	}
	if s := c.String(); !strings.Contains(s, `password = "(hidden)"`) || !strings.Contains(s, `"h:1"`) {
		t.Errorf("the printed configuration has lost its content:\n%s", s)
	}
}

func TestUnsetSecretIsEmpty(t *testing.T) {
	if s := NewSecret(""); s.IsSet() || s.Reveal() != "" || fmt.Sprint(s) != "" {
		t.Errorf("%q", s.String())
	}
	if s := fmt.Sprintf("%q %#v", NewSecret("x"), NewSecret("x")); s != `"(hidden)" "(hidden)"` {
		t.Error(s)
	}
}

func TestErrorsRepeatNoPassword(t *testing.T) {
	for _, entry := range []string{
		"redis://u:" + canary + "@h:x", "redis://u:" + canary + "%zz@h:1", "redis://u:" + canary + "@", "redis://:" + canary,
		canary + "@h:1", "u:" + canary + "@h:1", "redis://u:" + canary + "@h:1/9", "redis://u:" + canary + "@h:1?x=" + canary,
		"http://u:" + canary + "@h:1", "redis://u:" + canary + "@h@:1", "redis://u:a/" + canary + "@h:1", "redis://u:a b" + canary + "@h:1",
		"redis://" + canary + "@h:1", "unix:" + canary, "redis://u:a\x01" + canary + "@h:1", canary,
	} {
		noCanary(t, "-backends", loadFails(t, []string{"-backends", entry}, nil, nil))
		noCanary(t, "environment", loadFails(t, nil, []string{"REDLOCK_PROXY_GROUP_BACKENDS=" + entry}, nil))
		noCanary(t, "file", loadFails(t, []string{"-config", "f"}, nil, files{"f": "[group]\nbackends = ['" + entry + "']"}))
		noCanary(t, "command", loadFails(t, []string{entry}, nil, nil))
		noCanary(t, "argument", loadFails(t, []string{"serve", entry}, nil, nil))
		noCanary(t, "listen", loadFails(t, []string{"-listen", entry + "/"}, nil, nil))
	}
	for _, text := range []string{
		"pasword = \"%s\"", "password = %s", "password = \"%s", "password = \"%s\" x", "password = [\"%s\"]", "password = { x = \"%s\" }",
		"x = '%s'\\nx = '%s'", "password \"%s\"", "password : %s", "password = \"a\"%s", "password = \"\\q%s\"",
		"password = \"%s\n\"", "[password \"%s\"]", "backend = [\"redis://:%s@h:1\"]", "password = \"\"\"%s", "password = 1%s",
	} {
		text = strings.ReplaceAll(text, "%s", canary)
		noCanary(t, text, loadFails(t, []string{"-config", "f"}, nil, files{"f": "[server]\n" + text}, "f:"))
	}
	long := strings.Repeat(canary, 100)
	noCanary(t, "long", loadFails(t, nil, []string{"REDLOCK_PROXY_SERVER_PASSWORD=" + long}, nil))
	noCanary(t, "unknown", loadFails(t, nil, []string{"REDLOCK_PROXY_SERVER_PASWORD=" + canary}, nil))
	noCanary(t, "file of passwords", loadFails(t, nil, []string{"REDLOCK_PROXY_SERVER_PASSWORD_FILE=p"}, files{"p": long}, "server.password_file"))
	noCanary(t, "flag", loadFails(t, []string{"-password=" + canary}, nil, nil))
}

func TestPasswordFile(t *testing.T) {
	env := []string{"REDLOCK_PROXY_SERVER_PASSWORD_FILE=p"}
	for content, want := range map[string]string{"x": "x", "x\n": "x", "x\r\n": "x", "x\n\n": "x\n", " x ": " x "} {
		if c, _ := load(t, nil, env, files{"p": content}); c.Server.Password.Reveal() != want {
			t.Errorf("%q gives %q", content, c.Server.Password.Reveal())
		}
	}
	loadFails(t, nil, env, files{"p": "\n"}, "server.password_file", "REDLOCK_PROXY_SERVER_PASSWORD_FILE", "password of 1 to")
	loadFails(t, nil, env, nil, "server.password_file", "not exist")
}
