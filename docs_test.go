package main

import (
	"os"
	"strings"
	"testing"

	"redlockproxy/conf"
	"redlockproxy/resp"
)

func readme(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestReadmeNamesEveryServedCommand(t *testing.T) {
	table := section(t, readme(t), "## Commands")
	for _, info := range resp.Commands() {
		if name := strings.ToUpper(info.Name); !strings.Contains(table, name) {
			t.Errorf("the command table does not have %s", name)
		}
	}
}

func TestReadmeAndHelpShowTheSameCommandLine(t *testing.T) {
	text := section(t, readme(t), "## Configuration")
	for _, word := range []string{"serve", "check", "top", "inspect KEY", "init", "version", "-config", "-listen", "-admin", "-backends", "-log-level", "-log-format", "-ping"} {
		if !strings.Contains(text, word) {
			t.Errorf("the README does not show %s", word)
		}
		if !strings.Contains(conf.HelpText(), word) {
			t.Errorf("the help text does not show %s", word)
		}
	}
}

func TestReadmeQuotesTheUnavailableReplyAsItIs(t *testing.T) {
	want := string(resp.Unavailable(2, 0, 3, 5, 3))
	if !strings.Contains(readme(t), want) {
		t.Errorf("the README does not show %q", want)
	}
}

// section is what stands below a heading, up to the next one of its kind.
func section(t *testing.T, text, heading string) string {
	t.Helper()
	_, after, found := strings.Cut(text, "\n"+heading+"\n")
	if !found {
		t.Fatalf("no section %q", heading)
	}
	before, _, _ := strings.Cut(after, "\n## ")
	return before
}
