package lua

import (
	"sort"
	"strings"

	gl "github.com/yuin/gopher-lua"
)

func tableFunctions() map[string]func(call) int {
	return map[string]func(call) int{
		"concat": tableConcat, "insert": tableInsert, "remove": tableRemove,
		"sort": tableSort, "maxn": tableMaxN, "getn": tableGetN, "setn": tableSetN,
		"foreach": tableForEach, "foreachi": tableForEachI,
	}
}

func tableConcat(c call) int {
	t := c.shown(c.table(1))
	separator := ""
	if c.L.Get(2) != gl.LNil {
		separator = c.text(2)
	}
	from, to := c.optInteger(3, 1), 0
	if c.L.Get(4) != gl.LNil {
		to = c.integer(4)
	} else {
		to = t.Len()
	}
	var out strings.Builder
	for i := from; i <= to; i++ {
		value := t.RawGet(gl.LNumber(i))
		text, ok := toText(value)
		if !ok {
			c.raise("invalid value (%s) at index %d in table for 'concat'", value.Type(), i)
		}
		if i > from {
			text = separator + text
		}
		c.payText(len(text))
		if out.Len()+len(text) > c.limits.MaxString {
			c.payText(out.Len() + len(text))
		}
		c.pay(1, 0)
		out.WriteString(text)
	}
	c.L.Push(gl.LString(out.String()))
	return 1
}

func tableInsert(c call) int {
	t := c.writable(1)
	end := t.Len() + 1
	switch c.L.GetTop() {
	case 2:
		c.store(t, gl.LNumber(end), c.L.Get(2))
	case 3:
		at := c.integer(2)
		if at > end {
			end = at
		}
		c.pay(max(0, end-at)/4, 0)
		for i := end; i > at; i-- {
			c.store(t, gl.LNumber(i), t.RawGet(gl.LNumber(i-1)))
		}
		c.store(t, gl.LNumber(at), c.L.Get(3))
	default:
		c.raise("wrong number of arguments to 'insert'")
	}
	return 0
}

func tableRemove(c call) int {
	t := c.writable(1)
	end := t.Len()
	at := c.optInteger(2, end)
	if at < 1 || at > end {
		return 0
	}
	removed := t.RawGetInt(at)
	c.pay((end-at)/4, 0)
	for ; at < end; at++ {
		t.RawSetInt(at, t.RawGetInt(at+1))
	}
	t.Remove(end)
	c.L.Push(removed)
	return 1
}

// A sorter sorts the elements of a table by Lua's order or a function's. The
// order may be nonsense: sort.Sort then ends with some order all the same.
type sorter struct {
	call
	values []gl.LValue
	less   gl.LValue
}

func (s *sorter) Len() int      { return len(s.values) }
func (s *sorter) Swap(i, j int) { s.values[i], s.values[j] = s.values[j], s.values[i] }

func (s *sorter) Less(i, j int) bool {
	s.pay(2, 0)
	a, b := s.values[i], s.values[j]
	if s.less != gl.LNil {
		s.push(s.less, a, b)
		s.L.Call(2, 1)
		result := gl.LVAsBool(s.L.Get(-1))
		s.L.Pop(1)
		return result
	}
	switch x := a.(type) {
	case gl.LNumber:
		if y, ok := b.(gl.LNumber); ok {
			return x < y
		}
	case gl.LString:
		if y, ok := b.(gl.LString); ok {
			s.pay(min(len(x), len(y))/256, 0)
			return x < y
		}
	default:
		if a.Type() == b.Type() && s.L.GetMetaField(a, "__lt") != gl.LNil {
			return s.L.LessThan(a, b)
		}
	}
	text := "attempt to compare " + a.Type().String() + " with " + b.Type().String()
	if a.Type() == b.Type() {
		text = "attempt to compare two " + a.Type().String() + " values"
	}
	s.L.Error(gl.LString(text), 0)
	return false
}

func tableSort(c call) int {
	t := c.writable(1)
	n := t.Len()
	if c.L.Get(2) != gl.LNil {
		c.fn(2)
	}
	c.pay(n, 16*n)
	s := &sorter{call: c, values: make([]gl.LValue, n), less: c.L.Get(2)}
	for i := range s.values {
		s.values[i] = t.RawGetInt(i + 1)
	}
	sort.Sort(s)
	for i, value := range s.values {
		c.store(t, gl.LNumber(i+1), value)
	}
	return 0
}

func tableMaxN(c call) int {
	best := gl.LNumber(0)
	c.shown(c.table(1)).ForEach(func(key, _ gl.LValue) {
		if n, ok := key.(gl.LNumber); ok && n > best {
			best = n
		}
	})
	c.pay(int(min(best, 1<<20))/16, 0)
	return c.push(best)
}

func tableGetN(c call) int { return c.push(gl.LNumber(c.shown(c.table(1)).Len())) }

func tableSetN(c call) int {
	c.raise("'setn' is obsolete")
	return 0
}

func tableForEach(c call) int {
	t, f := c.shown(c.table(1)), c.fn(2)
	for key, value := t.Next(gl.LNil); key != gl.LNil; key, value = t.Next(key) {
		if c.each(f, key, value) {
			return 1
		}
	}
	return 0
}

func tableForEachI(c call) int {
	t, f := c.shown(c.table(1)), c.fn(2)
	for i, n := 1, t.Len(); i <= n; i++ {
		if c.each(f, gl.LNumber(i), t.RawGetInt(i)) {
			return 1
		}
	}
	return 0
}

// each calls f; a result other than nil stays on the stack and ends the loop.
func (c call) each(f *gl.LFunction, key, value gl.LValue) bool {
	c.pay(1, 0)
	c.push(f, key, value)
	c.L.Call(2, 1)
	if c.L.Get(-1) != gl.LNil {
		return true
	}
	c.L.Pop(1)
	return false
}
