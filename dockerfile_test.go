package main

import (
	"debug/elf"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"redlockproxy/conf"
)

// An instruction of the Dockerfile: "USER" and "65532:65532".
type instruction struct{ name, rest string }

// dockerfile returns the instructions of each stage, first the FROM.
func dockerfile(t *testing.T) (stages [][]instruction) {
	t.Helper()
	data, err := os.ReadFile("Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		if strings.HasSuffix(line, `\`) {
			t.Fatalf("this test reads no continued lines: %s", line)
		}
		name, rest, _ := strings.Cut(line, " ")
		if name == "FROM" {
			stages = append(stages, nil)
		}
		if len(stages) == 0 {
			t.Fatalf("%s stands in front of the first FROM", line)
		}
		last := len(stages) - 1
		stages[last] = append(stages[last], instruction{name, rest})
	}
	if len(stages) != 2 {
		t.Fatalf("%d stages, want one that builds and one that runs", len(stages))
	}
	return stages
}

// only returns the rest of the one instruction of this name.
func only(t *testing.T, stage []instruction, name string) string {
	t.Helper()
	var found []string
	for _, i := range stage {
		if i.name == name {
			found = append(found, i.rest)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d times %s in the stage, want 1", len(found), name)
	}
	return found[0]
}

// words reads the JSON form of a command; any other form needs a shell.
func words(t *testing.T, text string) (list []string) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &list); err != nil || len(list) == 0 {
		t.Fatalf("%s is not in the form that works without a shell: %v", text, err)
	}
	return list
}

func TestImageHasNoShellAndNoRoot(t *testing.T) {
	stage := dockerfile(t)[1]
	if from := only(t, stage, "FROM"); from != "scratch" {
		t.Errorf("the image begins with %s, want scratch", from)
	}
	if user := only(t, stage, "USER"); !regexp.MustCompile(`^[1-9][0-9]*:[1-9][0-9]*$`).MatchString(user) {
		t.Errorf("the image runs as %q, want numbers that are not 0", user)
	}
	if ports := strings.Fields(only(t, stage, "EXPOSE")); !slices.Equal(ports, []string{"6380", "9121"}) {
		t.Errorf("the image exposes %q", ports)
	}
	for _, i := range stage {
		switch i.name {
		case "FROM", "COPY", "USER", "ENV", "EXPOSE", "HEALTHCHECK", "STOPSIGNAL", "ENTRYPOINT":
		default:
			t.Errorf("%s in an image without a shell", i.name)
		}
	}
}

func TestImageChecksItsHealthByItsOwnBinary(t *testing.T) {
	stage := dockerfile(t)[1]
	entry := words(t, only(t, stage, "ENTRYPOINT"))
	_, cmd, _ := strings.Cut(only(t, stage, "HEALTHCHECK"), " CMD ")
	check := words(t, cmd)
	if len(entry) != 1 || check[0] != entry[0] {
		t.Fatalf("entry point %q, health check %q", entry, check)
	}
	environ := append(imageEnviron(stage), "REDLOCK_PROXY_SERVER_PASSWORD=p")
	c, command, err := conf.Load(check[1:], environ, os.ReadFile)
	if err != nil || command != (conf.Command{Action: conf.Check, Ping: true}) {
		t.Fatalf("%q is %v: %v", check, command, err)
	}
	if _, address := c.Server.PingAddress(); address != "127.0.0.1:6380" {
		t.Errorf("the health check asks %s", address)
	}
}

func imageEnviron(stage []instruction) (environ []string) {
	for _, i := range stage {
		if i.name == "ENV" {
			environ = append(environ, strings.Fields(i.rest)...)
		}
	}
	return environ
}

func TestImageDoesNotStartOpenToEverybody(t *testing.T) {
	environ := imageEnviron(dockerfile(t)[1])
	_, _, err := conf.Load(nil, environ, os.ReadFile)
	if err == nil || !strings.Contains(err.Error(), "server.password_file") {
		t.Errorf("with nothing but the image's own settings: %v; want a refusal that says to set a password", err)
	}
	if _, _, err := conf.Load(nil, append(environ, "REDLOCK_PROXY_SERVER_PASSWORD=p"), os.ReadFile); err != nil {
		t.Errorf("with a password: %v", err)
	}
}

// The line that builds the image's binary, run here: the binary needs no shared
// library and no loader, knows its version, and names no directory of this machine.
func TestImageBinaryIsStatic(t *testing.T) {
	build := ""
	for _, i := range dockerfile(t)[0] {
		if i.name == "RUN" && strings.Contains(i.rest, "go build") {
			build = i.rest
		}
	}
	out := filepath.Join(t.TempDir(), "redlock-proxy")
	line := strings.Replace(build, "-o /redlock-proxy", "-o "+out, 1)
	if line == build {
		t.Fatalf("the build stage does not write /redlock-proxy: %q", build)
	}
	cmd := exec.Command("sh", "-c", line)
	cmd.Env = append(os.Environ(), "VERSION=9.8.7-image")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", line, err, text)
	}
	binary, err := elf.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = binary.Close() }()
	for _, p := range binary.Progs {
		if p.Type == elf.PT_INTERP || p.Type == elf.PT_DYNAMIC {
			t.Errorf("the binary is not static: it has a segment of type %v", p.Type)
		}
	}
	version := exec.Command(out, "version")
	version.Env = []string{} // as in an empty image
	if text, err := version.CombinedOutput(); err != nil || !strings.Contains(string(text), "9.8.7-image") {
		t.Errorf("version: %v, %q", err, text)
	}
	data, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(data), here+"/") {
		t.Errorf("the binary names the directory it was built in, %s", here)
	}
}
