package conf

import (
	"errors"
	"io/fs"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// files is a file system for Load.
type files map[string]string

func (f files) read(name string) ([]byte, error) {
	if text, ok := f[name]; ok {
		return []byte(text), nil
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

// load is Load for a test that expects no error.
func load(t *testing.T, args, environ []string, f files) (Config, Command) {
	t.Helper()
	c, cmd, err := Load(args, environ, f.read)
	if err != nil {
		t.Fatalf("Load(%q, %q): %v", args, environ, err)
	}
	return c, cmd
}

// loadFails returns the error of Load, which must hold all the parts.
func loadFails(t *testing.T, args, environ []string, f files, parts ...string) string {
	t.Helper()
	_, _, err := Load(args, environ, f.read)
	if err == nil {
		t.Fatalf("Load(%q, %q, %q) gave no error, want one with %q", args, environ, f, parts)
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("Load(%q, %q, %q):\n%v\nhas no %q", args, environ, f, err, p)
		}
	}
	return err.Error()
}

// loadTOML is a Load of nothing but this text.
func loadTOML(text string) (Config, error) {
	c, _, err := Load([]string{"-config", "f.toml"}, nil, files{"f.toml": text}.read)
	return c, err
}

func TestNothingConfiguredServesEmbedded(t *testing.T) {
	c, cmd := load(t, nil, nil, nil)
	if cmd != (Command{Action: Serve}) || !c.Embedded {
		t.Errorf("command %v, embedded %v", cmd, c.Embedded)
	}
	want := Default()
	want.Embedded = true
	if !reflect.DeepEqual(c, want) {
		t.Errorf("got %v, want the defaults", c)
	}
}

// The defaults that other parts of the project and the documentation speak of.
func TestDefaultsAreTheDocumentedOnes(t *testing.T) {
	c := Default()
	for _, d := range []struct {
		name      string
		got, want any
	}{
		{"listen", c.Server.Listen, "127.0.0.1:6380"},
		{"admin", c.Server.Admin, "127.0.0.1:9121"},
		{"protected", c.Server.Protected, true},
		{"answer_within", c.Server.AnswerWithin, 200 * time.Millisecond},
		{"drain", c.Server.Drain, 5 * time.Second},
		{"max_ttl", c.Group.MaxTTL, 24 * time.Hour},
		{"pad_ttl", c.Group.PadTTL, true},
		{"attempts", c.Lock.Attempts, 3},
		{"vote", c.Lane.Vote, 100 * time.Millisecond},
		{"connect", c.Lane.Connect, 100 * time.Millisecond},
		{"queue", c.Lane.Queue, 4096},
	} {
		if d.got != d.want {
			t.Errorf("%s is %v, want %v", d.name, d.got, d.want)
		}
	}
}

func TestLaterSourcesWin(t *testing.T) {
	file := files{"p.toml": "[server]\nlisten = \"127.0.0.1:1\"\n[log]\nlevel = \"warn\"\n[lane]\nvote = \"20ms\""}
	env := []string{"REDLOCK_PROXY_SERVER_LISTEN=127.0.0.1:2", "REDLOCK_PROXY_LOG_LEVEL=error", "HOME=/"}
	for _, step := range []struct {
		args, env     []string
		listen, level string
		vote          time.Duration
	}{
		{nil, nil, "127.0.0.1:6380", "info", 100 * time.Millisecond},
		{[]string{"-config", "p.toml"}, nil, "127.0.0.1:1", "warn", 20 * time.Millisecond},
		{[]string{"-config", "p.toml"}, env, "127.0.0.1:2", "error", 20 * time.Millisecond},
		{[]string{"-config", "p.toml", "-listen", "127.0.0.1:3"}, env, "127.0.0.1:3", "error", 20 * time.Millisecond},
		{[]string{"-listen", "127.0.0.1:3"}, append(env, "REDLOCK_PROXY_CONFIG=p.toml"), "127.0.0.1:3", "error", 20 * time.Millisecond},
	} {
		c, _ := load(t, step.args, step.env, file)
		if c.Server.Listen != step.listen || c.Log.Level != step.level || c.Lane.Vote != step.vote {
			t.Errorf("%q %q: listen %s, level %s, vote %s", step.args, step.env, c.Server.Listen, c.Log.Level, c.Lane.Vote)
		}
	}
}

func TestEverySettingCanComeFromFileAndEnvironment(t *testing.T) {
	var c Config
	for _, f := range table(&c) {
		if f.kind == kindList {
			continue // has tests of its own
		}
		f.reset()
		value := strings.Trim(f.literal(), `"`)
		environ := []string{f.env() + "=" + value}
		if _, _, err := Load(nil, environ, files{}.read); err != nil {
			t.Errorf("%q: %v", environ, err)
		}
		if _, err := loadTOML("[" + f.section() + "]\n" + f.name() + " = " + f.literal()); err != nil {
			t.Errorf("%s: %v", f.key, err)
		}
		if want := "REDLOCK_PROXY_" + strings.ToUpper(strings.Replace(f.key, ".", "_", 1)); f.env() != want {
			t.Errorf("variable %s, want %s", f.env(), want)
		}
	}
}

func TestEveryFieldOfConfigHasARow(t *testing.T) {
	var c Config
	c.Group.Backends = []Backend{{}}
	before := leaves(reflect.ValueOf(c))
	names := keys()
	if len(names) != before-1 { // Embedded is not a setting
		t.Errorf("%d rows for %d fields", len(names), before-1)
	}
	if slices.Sort(names); len(slices.Compact(names)) != len(names) {
		t.Error("a key stands twice in the table")
	}
}

// leaves counts the fields of a Config and of its sections.
func leaves(v reflect.Value) (n int) {
	for i := range v.NumField() {
		if f := v.Field(i); f.Kind() == reflect.Struct && f.Type() != reflect.TypeFor[Secret]() {
			n += leaves(f)
		} else {
			n++
		}
	}
	return n
}

func TestFlagsStandBeforeAndAfterTheCommand(t *testing.T) {
	for _, args := range [][]string{
		{"check", "-log-level", "debug", "-backends", "h:1"},
		{"-log-level", "debug", "check", "-backends", "h:1"},
		{"-log-level=debug", "--backends=h:1", "check"},
	} {
		c, cmd := load(t, args, nil, nil)
		if cmd.Action != Check || c.Log.Level != "debug" || len(c.Group.Backends) != 1 || c.Embedded {
			t.Errorf("%q: %v %v", args, cmd, c)
		}
	}
}

func TestEveryFlagSetsItsSetting(t *testing.T) {
	c, _ := load(t, []string{
		"-listen", "unix:/tmp/p.sock", "-admin", "", "-backends", "a:1,b:2,c:3", "-log-level", "warn", "-log-format", "console",
	}, nil, nil)
	if c.Server.Listen != "unix:/tmp/p.sock" || c.Server.Admin != "" || len(c.Group.Backends) != 3 ||
		c.Log != (Log{Level: "warn", Format: "console"}) {
		t.Error(c)
	}
}

func TestHelpAndVersionWorkInABrokenEnvironment(t *testing.T) {
	for _, args := range [][]string{{"-h"}, {"--help"}, {"help"}, {"serve", "-h"}, {"version"}, {"check", "-help"}} {
		_, cmd := load(t, args, []string{"REDLOCK_PROXY_NONSENSE=1", "REDLOCK_PROXY_CONFIG=/missing"}, nil)
		if cmd.Action != Help && cmd.Action != Version {
			t.Errorf("%q gives %v", args, cmd)
		}
	}
	for _, part := range append(keys(), "-config", "-listen", "-admin", "-backends", "-log-level", "-log-format", "-ping", "serve", "check", "top", "inspect", "init", "version") {
		_, name, _ := strings.Cut("."+part, ".")
		if i := strings.LastIndex(name, "."); i >= 0 {
			name = name[i+1:]
		}
		if !strings.Contains(HelpText(), name) {
			t.Errorf("the help text lacks %s", part)
		}
	}
}

func TestMistakesOnTheCommandLineAreNamed(t *testing.T) {
	for _, c := range []struct {
		args  []string
		parts []string
	}{
		{[]string{"serv"}, []string{"command", "serv", "did you mean serve?"}},
		{[]string{"frobnicate"}, []string{"frobnicate", "redlock-proxy -h"}},
		{[]string{"check", "serve"}, []string{"serve", "second command"}},
		{[]string{"-backends", "a:1,", "b:2"}, []string{"command"}},
		{[]string{"serve", "-backends", "a:1,", "b:2"}, []string{"commas and no spaces"}},
		{[]string{"-nonsense"}, []string{"-nonsense", "redlock-proxy -h"}},
		{[]string{"-config"}, []string{"-config", "argument"}},
		{[]string{"-listen", "nonsense"}, []string{"-listen", "server.listen", "host:port"}},
		{[]string{"-log-level", "loud"}, []string{"-log-level", "loud", "debug"}},
		{[]string{"-ping"}, []string{"check -ping"}},
		{[]string{"-config", "/missing.toml"}, []string{"/missing.toml"}},
	} {
		loadFails(t, c.args, nil, nil, c.parts...)
	}
}

func TestMissingFileIsErrNotExist(t *testing.T) {
	if _, _, err := Load([]string{"-config", "x"}, nil, files{}.read); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func TestMistakesInTheFileNameTheirLine(t *testing.T) {
	for _, c := range []struct{ text, where, what string }{
		{"[server]\n\nlisen = \"x\"", "f.toml:3:", "server.lisen; did you mean server.listen?"},
		{"[server]\nvote = \"1s\"", "f.toml:2:", "server.vote"},
		{"listen = \"127.0.0.1:1\"", "f.toml:1:", "no setting listen"},
		{"\n[sever]\nlisten = \"127.0.0.1:1\"", "f.toml:2:", "[sever]"},
		{"[server.more]\nx = 1", "f.toml:1:", "[server.more]"},
		{"[[server]]\nlisten = \"127.0.0.1:1\"", "f.toml:1:", "[server]"},
		{"[server]\nlisten.port = 1", "f.toml:2:", "server.listen.port"},
		{"server = 1", "f.toml:1:", "server"},
		{"[server]\nlisten = 6380", "f.toml:2:", "text in quotes"},
		{"[server]\nmax_clients = \"10\"", "f.toml:2:", "without quotes"},
		{"[server]\nprotected = \"true\"", "f.toml:2:", "true or false"},
		{"[group]\nbackends = \"a:1\"", "f.toml:2:", "list"},
		{"[group]\nbackends = [1]", "f.toml:2:", "list"},
		{"[server]\nanswer_within = 200", "f.toml:2:", "text in quotes"},
		{"[server]\nanswer_within = \"200\"", "f.toml:2:", "150ms"},
		{"[server]\nlisten = \"a:1\"\nlisten = \"a:1\"", "f.toml:3:", "TOML"},
		{"[server\n", "f.toml:1:", "TOML"},
		{"[server]\n\nlisten = oops", "f.toml:3:", "TOML"},
		{"\x00", "f.toml:1:", "TOML"},
		{"server = { lisen = \"a:1\" }", "f.toml:1:", "server.lisen"},
		{strings.Repeat("# long\n", maxFile), "f.toml: ", "bytes"},
	} {
		_, err := loadTOML(c.text)
		if err == nil || !strings.Contains(err.Error(), c.where) || !strings.Contains(err.Error(), c.what) {
			t.Errorf("%.80q: %v; want %q and %q", c.text, err, c.where, c.what)
		}
	}
}

func TestAllMistakesAreReportedAtOnce(t *testing.T) {
	loadFails(t, []string{"-config", "f", "-log-level", "x"}, []string{"REDLOCK_PROXY_LANE_VOTE=1", "REDLOCK_PROXY_NO=1"},
		files{"f": "[lock]\nattempts = 0\nnope = 1"}, "f:2", "f:3", "LANE_VOTE", "REDLOCK_PROXY_NO", "-log-level")
	if err := errText(loadTOML(strings.Repeat("[lock]\n", 1) + many(1000))); strings.Count(err, "\n") > maxMistakes {
		t.Errorf("%d mistakes reported", strings.Count(err, "\n"))
	}
}

func errText(_ Config, err error) string { return err.Error() }

// many is a table of unknown names.
func many(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString("x" + strings.Repeat("y", i%50) + strings.Repeat("z", i/50) + " = 1\n")
	}
	return b.String()
}

func TestTOMLMayBeWrittenInOtherWays(t *testing.T) {
	for _, text := range []string{
		"server.max_clients = 1_0\nlog = { level = \"warn\" }",
		"server = { max_clients = 0xA }\n[log]\n\"level\" = 'warn'",
		"[ server ]\r\nmax_clients = +10 # ten\r\n[log]\r\nlevel = \"\"\"warn\"\"\"",
	} {
		c, err := loadTOML(text)
		if err != nil || c.Server.MaxClients != 10 || c.Log.Level != "warn" {
			t.Errorf("%q: %v %d %s", text, err, c.Server.MaxClients, c.Log.Level)
		}
	}
}
