package lua

import (
	gl "github.com/yuin/gopher-lua"
)

// readOnlyText is what Redis 7 says to a script that changes a global variable or
// a library.
const readOnlyText = "Attempt to modify a readonly table"

// absent are libraries that Redis has and this sandbox has not, with the reason a
// script is told.
var absent = map[string]string{
	"cmsgpack":  "cmsgpack is not available in this proxy",
	"struct":    "struct is not available in this proxy",
	"coroutine": "coroutine is not available in this proxy",
}

// newVM builds a machine with an empty sandbox: what scripts see is exactly what
// is put in here. gopher-lua's own libraries are not opened at all.
func newVM() *vm {
	L := gl.NewState(gl.Options{
		SkipOpenLibs:     true,
		CallStackSize:    callDepth,
		RegistrySize:     512,
		RegistryMaxSize:  maxStack,
		RegistryGrowStep: 1024,
	})
	// Threads copy the options of the machine they belong to.
	L.Options.CallStackSize = callDepthProtected
	L.Options.RegistrySize = 256
	v := &vm{main: newThread(L), frozen: map[*gl.LTable]*gl.LTable{}}
	v.current = v.main
	L.SetContext(&v.meter)

	v.nextIndex = v.function("ipairs", nextIndex)
	g := v.library(baseFunctions())
	v.global = g
	g.RawSetString("_VERSION", gl.LString("Lua 5.1"))
	strings := v.library(stringFunctions())
	for name, t := range map[string]*gl.LTable{
		"string": strings,
		"table":  v.library(tableFunctions()),
		"math":   v.mathLibrary(),
		"bit":    v.library(bitFunctions()),
		"cjson":  v.jsonLibrary(),
	} {
		g.RawSetString(name, v.freeze(t))
	}
	redis := v.freeze(v.redisLibrary())
	g.RawSetString("redis", redis)
	g.RawSetString("server", redis)

	missing := L.CreateTable(0, 1)
	missing.RawSetString("__index", v.function("__index", missingGlobal))
	g.Metatable = missing
	env := v.freeze(g)
	g.RawSetString("_G", env)
	L.Env = env
	v.setStringMeta(strings)
	return v
}

// freeze makes a read-only view of a table: an empty table that shows the other
// one and refuses to be changed. Functions that go round metatables (rawget, next,
// pairs, rawset, table.insert ...) know these views by the list of them.
func (v *vm) freeze(t *gl.LTable) *gl.LTable {
	L := v.main.state
	view, meta := L.NewTable(), L.CreateTable(0, 2)
	meta.RawSetString("__index", t)
	meta.RawSetString("__newindex", v.function("__newindex", func(c call) int {
		c.raise(readOnlyText)
		return 0
	}))
	view.Metatable = meta
	v.frozen[view] = t
	return view
}

// shown is the table to read raw: what a view shows, or the table itself.
func (v *vm) shown(t *gl.LTable) *gl.LTable {
	if original, ok := v.frozen[t]; ok {
		return original
	}
	return t
}

// missingGlobal answers a global name that does not exist.
func missingGlobal(c call) int {
	name, _ := toText(c.L.Get(2))
	if reason, ok := absent[name]; ok {
		c.raise("Script attempted to access global variable '%s': %s", name, reason)
	}
	c.raise("Script attempted to access nonexistent global variable '%s'", name)
	return 0
}

// setStringMeta gives strings their methods, and arithmetic on strings that holds
// numbers by Lua's rules: gopher-lua would read "010" as octal.
func (v *vm) setStringMeta(methods *gl.LTable) {
	L := v.main.state
	meta := L.CreateTable(0, 8)
	meta.RawSetString("__index", methods)
	for event, f := range arithmetic() {
		meta.RawSetString(event, v.function(event, func(c call) int { return stringArithmetic(c, event, f) }))
	}
	L.SetMetatable(gl.LString(""), meta)
	// What getmetatable("") shows.
	shown := L.CreateTable(0, 1)
	shown.RawSetString("__index", v.global.RawGetString("string"))
	v.stringMeta = v.freeze(shown)
}

// stringArithmetic is called for an operation of which one operand is a string.
func stringArithmetic(c call, event string, f func(a, b float64) float64) int {
	a, b := c.L.Get(1), c.L.Get(2)
	if event == "__unm" {
		b = a
	}
	x, okX := toNumber(a)
	y, okY := toNumber(b)
	if okX && okY {
		return c.push(gl.LNumber(f(x, y)))
	}
	// The other operand may have its own idea of the operation.
	for _, o := range []gl.LValue{a, b} {
		if o.Type() == gl.LTString {
			continue
		}
		if own, ok := c.L.GetMetaField(o, event).(*gl.LFunction); ok {
			c.L.Push(own)
			c.L.Push(a)
			c.L.Push(b)
			c.L.Call(2, 1)
			return 1
		}
	}
	bad := a
	if _, isNumber := a.(gl.LNumber); isNumber || okX && a.Type() == gl.LTString {
		bad = b
	}
	c.raise("%s", arithmeticText(bad.Type().String()))
	return 0
}
