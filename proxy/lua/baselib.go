package lua

import (
	"strconv"
	"strings"

	gl "github.com/yuin/gopher-lua"
)

// baseFunctions are the global functions. Those of Lua 5.1 that Redis has not
// (print, dofile, loadfile, require, getfenv, setfenv, newproxy ...) are absent.
func baseFunctions() map[string]func(call) int {
	return map[string]func(call) int{
		"assert": baseAssert, "error": baseError, "pcall": basePCall, "xpcall": baseXPCall,
		"type": baseType, "tostring": baseToString, "tonumber": baseToNumber,
		"pairs": basePairs, "ipairs": baseIPairs, "next": baseNext,
		"select": baseSelect, "unpack": baseUnpack,
		"rawequal": baseRawEqual, "rawget": baseRawGet, "rawset": baseRawSet,
		"getmetatable": baseGetMetatable, "setmetatable": baseSetMetatable,
		"load": baseLoad, "loadstring": baseLoadString,
		"collectgarbage": baseCollectGarbage, "gcinfo": baseCollectGarbage,
	}
}

func baseAssert(c call) int {
	if gl.LVAsBool(c.any(1)) {
		return c.L.GetTop()
	}
	text := "assertion failed!"
	if c.L.Get(2) != gl.LNil {
		text = c.text(2)
	}
	c.raise("%s", text)
	return 0
}

func baseError(c call) int {
	value := c.L.Get(1)
	if level := c.optInteger(2, 1); level > 0 && level < callDepth {
		if text, ok := toText(value); ok {
			value = gl.LString(where(c.L, level) + text)
			c.payText(len(text))
		}
	}
	if text, ok := value.(gl.LString); ok {
		c.L.Error(text, 0)
	}
	c.L.Error(value, 1)
	return 0
}

// basePCall is Redis's pcall: an error that is a table with a field err, as
// redis.call raises it, is returned as that field.
func basePCall(c call) int {
	if c.L.GetTop() == 0 {
		return c.push(gl.LFalse, gl.LString("attempt to call a boolean value"))
	}
	if fn := c.L.Get(1); fn.Type() != gl.LTFunction && c.L.GetMetaField(fn, "__call") == gl.LNil {
		return c.push(gl.LFalse, gl.LString("attempt to call a "+fn.Type().String()+" value"))
	}
	if c.protect(c.L) {
		c.L.Insert(gl.LTrue, 1)
		return c.L.GetTop()
	}
	value := c.L.Get(1)
	if t, ok := value.(*gl.LTable); ok {
		if text := t.RawGetString("err"); gl.LVCanConvToString(text) {
			value = text
		}
	}
	c.L.SetTop(0)
	return c.push(gl.LFalse, value)
}

// baseXPCall calls the handler after the stack has been unwound, which no script
// can tell: there is no debug library.
func baseXPCall(c call) int {
	handler := c.any(2)
	c.L.SetTop(1)
	if c.protect(c.L) {
		c.L.Insert(gl.LTrue, 1)
		return c.L.GetTop()
	}
	value := c.L.Get(1)
	c.L.SetTop(0)
	c.push(handler, value)
	if _, ok := handler.(*gl.LFunction); !ok || !c.protect(c.L) {
		c.L.SetTop(0)
		c.push(gl.LString("error in error handling"))
	}
	c.L.SetTop(1)
	c.L.Insert(gl.LFalse, 1)
	return 2
}

func baseType(c call) int { return c.push(gl.LString(c.any(1).Type().String())) }

func baseToString(c call) int {
	value := c.any(1)
	if f, ok := c.L.GetMetaField(value, "__tostring").(*gl.LFunction); ok {
		c.push(f, value)
		c.L.Call(1, 1)
		return 1
	}
	if text, ok := toText(value); ok {
		return c.pushText(text)
	}
	if value == c.jsonNull {
		return c.pushText("userdata: (nil)")
	}
	return c.pushText(value.String())
}

func baseToNumber(c call) int {
	base := c.optInteger(2, 10)
	if base == 10 {
		if f, ok := toNumber(c.any(1)); ok {
			return c.push(gl.LNumber(f))
		}
		return c.push(gl.LNil)
	}
	text := strings.Trim(c.text(1), " \t\n\v\f\r")
	if base < 2 || base > 36 {
		c.badArgument(2, "base out of range")
	}
	negative := strings.HasPrefix(text, "-")
	text = strings.TrimPrefix(strings.TrimPrefix(text, "-"), "+")
	if base == 16 && (strings.HasPrefix(text, "0x") || strings.HasPrefix(text, "0X")) {
		text = text[2:]
	}
	n, err := strconv.ParseUint(text, base, 64)
	if err != nil {
		return c.push(gl.LNil)
	}
	if negative {
		n = -n // as C's strtoul
	}
	return c.push(gl.LNumber(n))
}

func baseNext(c call) int {
	key, value := c.shown(c.table(1)).Next(c.L.Get(2))
	if key == gl.LNil {
		return c.push(gl.LNil)
	}
	return c.push(key, value)
}

func basePairs(c call) int {
	t := c.table(1)
	return c.push(c.vm.global.RawGetString("next"), t, gl.LNil)
}

func baseIPairs(c call) int {
	t := c.table(1)
	return c.push(c.vm.nextIndex, t, gl.LNumber(0))
}

// nextIndex is the function that ipairs iterates with.
func nextIndex(c call) int {
	i := c.integer(2) + 1
	value := c.shown(c.table(1)).RawGetInt(i)
	if value == gl.LNil {
		return c.push(gl.LNil)
	}
	return c.push(gl.LNumber(i), value)
}

func baseSelect(c call) int {
	n := c.L.GetTop()
	if c.L.Get(1) == gl.LString("#") {
		return c.push(gl.LNumber(n - 1))
	}
	i := c.integer(1)
	if i < 0 {
		i = n + i
	} else if i > n {
		i = n
	}
	if i < 1 {
		c.badArgument(1, "index out of range")
	}
	return n - i
}

func baseUnpack(c call) int {
	t := c.shown(c.table(1))
	from := c.optInteger(2, 1)
	var to int
	if c.L.Get(3) != gl.LNil {
		to = c.integer(3)
	} else {
		to = t.Len()
	}
	if to-from >= maxUnpack {
		c.raise("too many results to unpack")
	}
	c.pay(max(0, to-from), 0)
	for i := from; i <= to; i++ {
		c.L.Push(t.RawGet(gl.LNumber(i)))
	}
	return max(0, to-from+1)
}

func baseRawEqual(c call) int {
	a, b := c.any(1), c.any(2)
	return c.push(gl.LBool(c.L.RawEqual(a, b)))
}

func baseRawGet(c call) int {
	t := c.table(1)
	return c.push(c.shown(t).RawGet(c.any(2)))
}

func baseRawSet(c call) int {
	t := c.writable(1)
	key, value := c.any(2), c.any(3)
	if key == gl.LNil {
		c.raise("table index is nil")
	}
	if n, ok := key.(gl.LNumber); ok && n != n {
		c.raise("table index is NaN")
	}
	c.store(t, key, value)
	return c.push(t)
}

func baseGetMetatable(c call) int {
	value := c.any(1)
	if value.Type() == gl.LTString {
		return c.push(c.vm.stringMeta)
	}
	if t, ok := value.(*gl.LTable); ok {
		if _, frozen := c.frozen[t]; frozen {
			return c.push(gl.LNil)
		}
	}
	return c.push(c.L.GetMetatable(value))
}

func baseSetMetatable(c call) int {
	c.table(1)
	meta := c.L.Get(2)
	if meta.Type() != gl.LTTable && (meta != gl.LNil || c.L.GetTop() < 2) {
		c.badArgument(2, "nil or table expected")
	}
	t := c.writable(1)
	if c.L.GetMetaField(t, "__metatable") != gl.LNil {
		c.raise("cannot change a protected metatable")
	}
	t.Metatable = meta
	return c.push(t)
}

// baseCollectGarbage does nothing: a script has no say in the collector of the
// process, and its memory is bounded by what it allocates.
func baseCollectGarbage(c call) int { return c.push(gl.LNumber(0)) }
