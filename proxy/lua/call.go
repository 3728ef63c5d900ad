package lua

import (
	"fmt"
	"strings"

	gl "github.com/yuin/gopher-lua"
)

// A call is one call of a library function: the machine, the thread that called,
// and the function's name for messages.
type call struct {
	*vm
	L    *gl.LState
	name string
}

// function makes a library function.
func (v *vm) function(name string, f func(call) int) *gl.LFunction {
	return v.main.state.NewFunction(func(L *gl.LState) int {
		return f(call{vm: v, L: L, name: name})
	})
}

// library makes a table of functions.
func (v *vm) library(fs map[string]func(call) int) *gl.LTable {
	t := v.main.state.CreateTable(0, len(fs))
	for name, f := range fs {
		t.RawSetString(name, v.function(name, f))
	}
	return t
}

// where is the place of the caller at a level, "user_script:3: ", or nothing if
// that is a library function or there is none.
func where(L *gl.LState, level int) string {
	place := L.Where(level)
	if place == "" || strings.HasPrefix(place, "[G]") {
		return ""
	}
	return place + " "
}

// raise raises an error of a library function; it does not return.
func raise(L *gl.LState, text string) {
	L.Error(gl.LString(where(L, 1)+text), 0)
}

func (c call) raise(format string, args ...any) {
	raise(c.L, fmt.Sprintf(format, args...))
}

// pay spends, or ends the run.
func (c call) pay(steps, bytes int) { c.mustSpend(c.L, int64(steps), int64(bytes)) }

// payText pays for a new string of n bytes, or ends the run.
func (c call) payText(n int) {
	if !c.payString(n) {
		c.stop(c.L)
	}
}

// pushText returns a new string.
func (c call) pushText(s string) int {
	c.payText(len(s))
	c.L.Push(gl.LString(s))
	return 1
}

func (c call) push(vs ...gl.LValue) int {
	for _, v := range vs {
		c.L.Push(v)
	}
	return len(vs)
}

func (c call) badArgument(n int, text string) {
	c.raise("bad argument #%d to '%s' (%s)", n, c.name, text)
}

// kind is the type of an argument in messages.
func (c call) kind(n int) string {
	if n > c.L.GetTop() {
		return "no value"
	}
	return c.L.Get(n).Type().String()
}

func (c call) any(n int) gl.LValue {
	if n > c.L.GetTop() {
		c.badArgument(n, "value expected")
	}
	return c.L.Get(n)
}

func (c call) text(n int) string {
	s, ok := toText(c.L.Get(n))
	if !ok {
		c.badArgument(n, "string expected, got "+c.kind(n))
	}
	return s
}

func (c call) number(n int) float64 {
	f, ok := toNumber(c.L.Get(n))
	if !ok {
		c.badArgument(n, "number expected, got "+c.kind(n))
	}
	return f
}

// integer is an argument without its fraction, kept within bounds in which sums
// and differences cannot overflow.
func (c call) integer(n int) int {
	const bound = 1 << 53
	f := c.number(n)
	if f != f {
		return 0
	}
	return int(min(max(f, -bound), bound))
}

func (c call) optInteger(n, otherwise int) int {
	if c.L.Get(n) == gl.LNil {
		return otherwise
	}
	return c.integer(n)
}

func (c call) table(n int) *gl.LTable {
	t, ok := c.L.Get(n).(*gl.LTable)
	if !ok {
		c.badArgument(n, "table expected, got "+c.kind(n))
	}
	return t
}

// writable is a table argument that may be changed.
func (c call) writable(n int) *gl.LTable {
	t := c.table(n)
	if _, frozen := c.frozen[t]; frozen {
		c.L.Error(gl.LString(readOnlyText), 0)
	}
	return t
}

// store sets an element, and pays for it.
func (c call) store(t *gl.LTable, key, value gl.LValue) {
	c.mustSpend(c.L, 1, storeBytes(t, key))
	t.RawSet(key, value)
}

// fn is an argument that is a function.
func (c call) fn(n int) *gl.LFunction {
	f, ok := c.L.Get(n).(*gl.LFunction)
	if !ok {
		c.badArgument(n, "function expected, got "+c.kind(n))
	}
	return f
}
