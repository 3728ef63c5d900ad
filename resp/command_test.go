package resp

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestLookupKnowsNamesInAnyCase(t *testing.T) {
	for name, want := range map[string]Family{
		"set": Lock, "SET": Lock, "sEt": Lock, "INCRBY": Counter, "evalsha_RO": Script, "Script": Script,
		"multi": Session, "WATCH": Session, "hello": Local, "PING": Local, "lpush": Refused,
		"HSET": Refused, "FLUSHALL": Refused, "cluster": Refused, "JSON.SET": Refused, "ft.search": Refused,
	} {
		if info, ok := Lookup(name); !ok || info.Family != want || info.Name != strings.ToLower(name) {
			t.Errorf("%s: %+v, %v", name, info, ok)
		}
	}
	for _, name := range []string{"", "se", "sett", "set\x00", "set ", "client|id", "config|set", "wait", "WAITAOF",
		"sentinel", "\u017fet", "json.", "jsonx", strings.Repeat("s", 1000)} {
		if info, ok := Lookup(name); ok {
			t.Errorf("%q is known as %+v", name, info)
		}
	}
}

func TestLookupAllocatesNothing(t *testing.T) {
	for _, name := range []string{"set", "SET", "pExpireTime", "nosuch", strings.Repeat("X", 500)} {
		if n := testing.AllocsPerRun(100, func() { Lookup(name) }); n != 0 {
			t.Errorf("%.20s: %v allocations", name, n)
		}
	}
}

func TestCheckStopsBeforeTheArguments(t *testing.T) {
	for line, want := range map[string]string{
		"set k v FOO":      "set",
		"CLIENT SetName x": "client|setname",
		"config get a":     "config|get",
		"SCRIPT load x":    "script|load",
		"COMMAND":          "command",
		"PING a b c":       "ping",
		"MULTI":            "multi",
	} {
		if info, err := Check(splitLine(t, line)); err != nil || info.Name != want {
			t.Errorf("%s: %+v, %v", line, info, err)
		}
	}
	for line, want := range map[string]Error{
		"set k":          WrongArity("set"),
		"CLIENT":         WrongArity("client"),
		"CLIENT ID x":    WrongArity("client|id"),
		"CLIENT foo":     UnknownSubcommand("client", "foo"),
		"CLIENT KILL":    WrongArity("client|kill"),
		"CLIENT PAUSE 1": Unsupported("CLIENT PAUSE"),
		"CONFIG SET a b": Unsupported("config set"),
		"LPUSH":          Unsupported("lpush"),
		"Json.Get x":     Unsupported("json.get"),
		"nosuch a":       UnknownCommand([]string{"nosuch", "a"}),
		"MULTI x":        WrongArity("multi"),
	} {
		if _, err := Check(splitLine(t, line)); err != want {
			t.Errorf("%s: %v, want %v", line, err, want)
		}
	}
}

func TestKeysAreFoundWhereverTheyStand(t *testing.T) {
	for line, want := range map[string][]string{
		"SET k v PX 5":   {"k"},
		"get k":          {"k"},
		"MGET a b a":     {"a", "b", "a"},
		"MSET a 1 b 2":   {"a", "b"},
		"DEL a b":        {"a", "b"},
		"EVAL s 2 a b c": {"a", "b"},
		"evalsha x 1 a":  {"a"},
		"EVAL s 0 a":     {},
		"EVAL s 3 a b":   nil,
		"EVAL s -1 a":    nil,
		"EVAL s":         nil,
		"SET":            nil,
		"PING k":         nil,
		"SCRIPT LOAD k":  nil,
		"WATCH a b":      {"a", "b"},
		"LPUSH k v":      nil,
		"nosuch k":       nil,
		"DELEX k IFEQ v": {"k"},
		"EXPIRE k 10 NX": {"k"},
	} {
		if got := Keys(splitLine(t, line)); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %#v, want %#v", line, got, want)
		}
	}
	if Keys(nil) != nil {
		t.Error("no words have keys")
	}
}

func TestEveryServedCommandIsComplete(t *testing.T) {
	for name, c := range commands {
		if c.Name != name || name != strings.ToLower(name) || len(name) > maxName {
			t.Errorf("%s: bad name %s", name, c.Name)
		}
		if c.Family == Refused {
			continue
		}
		if c.Arity == 0 || c.Help == "" || (c.FirstKey > 0) != (c.Step > 0) {
			t.Errorf("%s is not complete: %+v", name, c.Info)
		}
		if _, both := refusals[name]; both {
			t.Errorf("%s is served and refused", name)
		}
		wantParse := c.Family == Lock || c.Family == Counter || c.Family == Script || c.Family == Walk
		if wantParse != (c.parse != nil) {
			t.Errorf("%s: family %d and parse don't fit", name, c.Family)
		}
		if c.Keyed() && c.Family == Local {
			t.Errorf("%s is local and has keys", name)
		}
		for _, sub := range Subcommands(name) {
			if sub.Arity == 0 || sub.Help == "" || !strings.HasPrefix(sub.Name, name+"|") {
				t.Errorf("%s is not complete: %+v", sub.Name, sub)
			}
		}
	}
	for name := range refusals {
		parent, sub, isSub := strings.Cut(name, "|")
		c := find(parent)
		if c == nil || (isSub && c.subs[sub].Family != Refused) || (!isSub && c.Family != Refused) {
			t.Errorf("%s is not refused", name)
		}
	}
}

func TestHelpTextNamesEverySubcommand(t *testing.T) {
	text := HelpText("client")
	if len(text) != 1+2*len(Subcommands("CLIENT")) || !strings.HasPrefix(string(text[0].(Status)), "CLIENT <subcommand>") {
		t.Errorf("%q", text)
	}
}

// ownTexts are the texts that no Redis has, with what they are made of.
func ownTexts() []Error {
	texts := []Error{ErrReplyOff, ErrTracking, ErrFilterCategory, errIncrNotAbove, ErrReservedKey, ErrTooManyChannels, ErrTooManyQueued, ErrTooManyWatched,
		ErrLongName, ErrReplySize, ErrPattern,
		ErrStopping, ErrTooLate, ErrLockOver, ErrUnwatched, Unavailable(1, 0, 4, 5, 3), Unavailable(1, 0, 4, 5, 3).Because("why"),
		TTLTooLong(time.Hour), UnavailableReason("not admitted"), Unsupported("json.get"), Unsupported("ping")}
	for name, why := range refusals {
		if why != "" {
			texts = append(texts, Unsupported(name))
		}
	}
	return texts
}

// otherTexts are Redis's own too: those of versions after that of the tests, and one that
// it makes of numbers.
var otherTexts = []Error{ErrDelExOption, ErrDelExType, ErrDigest, ErrHelloNoAuth, ErrMaxAge, ErrClientOption("x"), ErrDBNotInt32}

// TestEveryTextIsRedissOrLookedAt: each piece of a text in errors.go is in the server that
// clients were written for, or in one of our own, which the next test looks at.
func TestEveryTextIsRedissOrLookedAt(t *testing.T) {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		t.Fatal(err)
	}
	binary, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	file, err := parser.ParseFile(token.NewFileSet(), "errors.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	known := func(piece string) bool {
		return slices.ContainsFunc(append(ownTexts(), otherTexts...), func(e Error) bool { return strings.Contains(string(e), piece) }) ||
			bytes.Contains(binary, []byte(strings.TrimPrefix(piece, "ERR ")))
	}
	pieces := 0
	ast.Inspect(file, func(n ast.Node) bool {
		if _, isImport := n.(*ast.ImportSpec); isImport {
			return false
		}
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			piece, err := strconv.Unquote(lit.Value)
			if err != nil {
				t.Fatal(err)
			}
			pieces++
			if !known(piece) {
				t.Errorf("%q is neither Redis's nor looked at", piece)
			}
		}
		return true
	})
	if pieces < 50 {
		t.Errorf("%d pieces", pieces)
	}
}

// TestOurOwnTextsAvoidWordsThatClientsLookFor: some libraries search errors for
// these anywhere and then reconnect, retry or change their mind about the server.
func TestOurOwnTextsAvoidWordsThatClientsLookFor(t *testing.T) {
	words := []string{"socket", "went away", "connection lost", "read error on connection", "error while reading",
		"readonly", "noperm", "noproto", "noscript", "-oom", "unauthenticated", "cluster", "loading", "tryagain",
		"masterdown", "noreplicas", "moved", "busy", "unknown", "timed out", "max number of clients"}
	for _, text := range ownTexts() {
		first, _, _ := strings.Cut(string(text), " ")
		if first != "UNSUPPORTED" && first != "UNAVAILABLE" {
			t.Errorf("%s: begins with another word", text)
		}
		if strings.ContainsAny(string(text), "\r\n") || len(text) > 250 {
			t.Errorf("%q: more than a line", text)
		}
		for _, w := range words {
			if strings.Contains(strings.ToLower(string(text)), w) {
				t.Errorf("%s: has %q in it", text, w)
			}
		}
	}
}

func TestTextsWithNumbers(t *testing.T) {
	for got, want := range map[Error]Error{
		Unavailable(1, 0, 4, 5, 3):  "UNAVAILABLE 1 granted, 0 refused, 4 failed of 5 backends; 3 needed",
		UnavailableReason("a\r\nb"): "UNAVAILABLE a  b",
		Unsupported("LPush"):        "UNSUPPORTED LPUSH: " + whyType,
		Unsupported("config|set"):   "UNSUPPORTED CONFIG SET: " + whySetting,
		UnknownCommand(nil):         "ERR unknown command '', with args beginning with: ",
	} {
		if got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	if text := string(TTLTooLong(90 * time.Second)); !strings.HasPrefix(text, "UNSUPPORTED a time to live above 90000 ms: ") {
		t.Error(text)
	}
}

func BenchmarkParseSet(b *testing.B) {
	args := []string{"SET", "lock:orders", "4f2c1f6e", "NX", "PX", "30000"}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(args); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppendNull(b *testing.B) {
	b.ReportAllocs()
	var buf []byte
	for b.Loop() {
		buf = Append(buf[:0], Null{}, RESP3)
		buf = Append(buf, OK, RESP3)
	}
}
