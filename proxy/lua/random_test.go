package lua

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
)

// A writer writes random scripts: all of Lua's statements and operators, on few
// variables, so that they get into each other's way. Every script ends: loops
// count, and functions only call functions written before them.
type writer struct {
	r     *rand.Rand
	out   strings.Builder
	depth int
	names []string // of functions that may be called
	loops int
}

var variables = []string{"a", "b", "c", "t.x", "t[1]", "t[n(a) < 3]"}

func (w *writer) pick(list ...string) string { return list[w.r.IntN(len(list))] }

func (w *writer) variable() string { return w.pick(variables...) }

// expr writes an expression; deep ones become constants and variables.
func (w *writer) expr() string {
	w.depth++
	defer func() { w.depth-- }()
	if w.depth > 4 {
		return w.pick("1", "2", "'s'", "nil", "true", "a", "b", "c", "t.x", "3.5", "'7'")
	}
	switch w.r.IntN(16) {
	case 0, 1:
		return strconv.Itoa(w.r.IntN(10))
	case 2, 3, 4:
		return w.variable()
	case 5, 6:
		// Remainders of whole numbers only: those of fractions differ in the last bit.
		return w.pick("("+w.safe("n")+w.pick(" + ", " - ", " * ", " / ")+w.safe("n")+")", "(math.floor("+w.safe("n")+") % 7)")
	case 7:
		if w.r.IntN(2) == 0 {
			return "(" + w.expr() + " " + w.pick("==", "~=") + " " + w.expr() + ")"
		}
		return "(" + w.safe("n") + " " + w.pick("<", "<=", ">", ">=") + " " + w.safe("n") + ")"
	case 8, 9:
		return "(" + w.expr() + " " + w.pick("and", "or") + " " + w.expr() + ")"
	case 10:
		return "(" + w.safe("tostring") + " .. " + w.safe("tostring") + ")"
	case 11:
		return w.pick("not (a)", "not (t)", "-n(b)", "-('5')", "#('abc')", "#tostring(a)", "#({1, 2, 3})", "-n(a)")
	case 12:
		return "({" + w.expr() + ", x = " + w.expr() + ", [" + w.pick("1", "2", "'x'") + "] = " + w.expr() + "})" + w.pick("[1]", ".x", "[2]")
	case 13:
		return w.pick("tostring(", "type(", "tonumber(", "select('#', ", "s(") + w.expr() + ")"
	case 14:
		if len(w.names) > 0 {
			return w.pick(w.names...) + "(" + w.expr() + ", " + w.expr() + ")"
		}
		return "(function(...) return select('#', ...) end)(" + w.expr() + ")"
	default:
		return "(function(v) v = s(v) v = v and b or c return v end)(" + w.expr() + ")"
	}
}

// safe is an expression of a type that an operator takes, but for a few.
func (w *writer) safe(convert string) string {
	if w.r.IntN(40) == 0 {
		return w.expr()
	}
	return convert + "(" + w.expr() + ")"
}

func (w *writer) block(n int) {
	for range n {
		w.statement()
	}
}

func (w *writer) line(format string, args ...any) { fmt.Fprintf(&w.out, format+"\n", args...) }

func (w *writer) statement() {
	w.depth++
	defer func() { w.depth-- }()
	kind := w.r.IntN(15)
	if w.depth > 3 {
		kind = w.r.IntN(5)
	}
	switch kind {
	case 0, 1:
		w.line("%s = %s", w.variable(), w.expr())
	case 2:
		w.line("%s, %s = %s, %s", w.variable(), w.variable(), w.expr(), w.expr())
	case 3:
		w.line("%s, %s, %s = %s", w.variable(), w.variable(), w.variable(), w.pick(w.expr(), w.expr()+", s("+w.expr()+")"))
	case 4:
		if w.r.IntN(2) == 0 {
			w.line("local %s = %s", w.pick("a", "b", "c"), w.expr())
			return
		}
		w.line("local %s, %s = %s, %s", w.pick("a", "b", "c"), w.pick("d", "e"), w.expr(), w.expr())
	case 5, 6:
		w.line("if %s then", w.expr())
		w.block(2)
		if w.r.IntN(2) == 0 {
			w.line("elseif %s then", w.expr())
			w.block(1)
		}
		w.line("else")
		w.block(1)
		w.line("end")
	case 7:
		w.line("for i = %d, %d, %s do a = i", w.r.IntN(5), w.r.IntN(8), w.pick("1", "2", "-1"))
		w.block(2)
		w.line("if %s then break end end", w.expr())
	case 8:
		// The order of pairs is nobody's promise; how many there are is.
		w.line("for k, v in ipairs(t) do b = k c = v end")
		w.line("c = 0 for k, v in pairs(t) do c = c + 1 end")
	case 9, 10:
		w.loops++
		w.line("do local n%d = 0 %s n%d = n%d + 1", w.loops, fmt.Sprintf(w.pick("while n%d < 4 do", "while true do if n%d > 3 then break end"), w.loops), w.loops, w.loops)
		w.block(2)
		w.line("end end")
	case 11:
		w.line("do local z = 0 repeat local m = z z = z + 1")
		w.block(1)
		w.line("until m > 2 end")
	case 12:
		name := fmt.Sprintf("f%d", len(w.names))
		w.line("local function %s(p, a)", name)
		w.block(2)
		w.line("return %s, p end", w.expr())
		if w.depth == 1 {
			w.names = append(w.names, name)
		}
	case 13:
		w.line("t.ok, t.err = pcall(function() ")
		w.block(2)
		w.line("return %s end) if not t.ok then t.err = 'failed' end", w.expr())
	default:
		w.line("t[%s] = %s", w.pick("1", "2", "'x'"), w.expr())
	}
}

// script is one random script; it returns what its variables hold in the end.
func (w *writer) script() string {
	w.line("local a, b, c, t = 1, 'two', nil, {10, 20, x = 'ex'}")
	w.line("local function s(v) return v, 'second' end")
	w.line("local function n(v) return tonumber(v) or 1 end")
	w.block(6)
	w.line("return {tostring(a), tostring(b), tostring(c), tostring(t.x), tostring(t[1]), tostring(t[2]), tostring(t.ok), tostring(t.err)}")
	return w.out.String()
}

// comparable takes out what may differ: the words of errors, and signs that come
// from how a compiler folds constants.
func comparable(reply string) string {
	if strings.HasPrefix(reply, "-ERR Error compiling") {
		return "does not compile"
	}
	if strings.HasPrefix(reply, "-") {
		return "fails"
	}
	for _, pair := range [][2]string{{"-nan", "nan"}, {"\"-0\"", "\"0\""}, {"-inf", "inf"}} {
		reply = strings.ReplaceAll(reply, pair[0], pair[1])
	}
	return reply
}

// The seed is fixed, so that a failure repeats; SCRIPTS and SEED in the environment
// look further.
func TestRandomScriptsGiveTheRepliesOfRedis(t *testing.T) {
	count, seed := 400, uint64(1)
	if n, err := strconv.Atoi(os.Getenv("SCRIPTS")); err == nil {
		count = n
	}
	if n, err := strconv.ParseUint(os.Getenv("SEED"), 10, 64); err == nil {
		seed = n
	}
	r := startRedis(t)
	failed, succeeded := 0, 0
	for i := range count {
		w := &writer{r: rand.New(rand.NewPCG(seed, uint64(i)))}
		text := w.script()
		got, want := comparable(ours(t, text, nil, nil, newMapHost())), comparable(theirs(t, r, text, nil, nil))
		if strings.Contains(want, "table: 0x") || strings.Contains(want, "function: 0x") {
			continue // an address
		}
		if want != "fails" {
			succeeded++
		}
		if got != want {
			if failed++; failed > 5 {
				t.Fatal("too many differences")
			}
			t.Errorf("seed %d, script %d\n%s\n  redis %s\n  here  %s", seed, i, text, want, got)
		}
	}
	if succeeded < count/2 {
		t.Errorf("only %d of %d scripts run through: they test nothing", succeeded, count)
	}
	t.Logf("%d of %d scripts run through", succeeded, count)
}
