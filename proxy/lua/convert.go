package lua

import (
	"strings"

	gl "github.com/yuin/gopher-lua"

	"redlockproxy/resp"
)

// value turns a command's reply into what redis.call returns: a status becomes a
// table with the field ok, an error one with err, a missing value false (nil after
// redis.setresp(3)).
func (v *vm) value(reply resp.Reply, depth int) gl.LValue {
	L := v.main.state
	if depth > maxReplyDepth {
		return gl.LFalse
	}
	switch x := reply.(type) {
	case resp.Int:
		return gl.LNumber(x)
	case resp.Bulk:
		v.spend(int64(len(x)/64), int64(len(x))+16)
		return gl.LString(x)
	case resp.Verbatim:
		v.spend(int64(len(x)/64), int64(len(x))+16)
		return gl.LString(x)
	case resp.Status:
		return v.field(L, "ok", string(x))
	case resp.Error:
		return v.field(L, "err", string(x))
	case resp.Array:
		return v.list(x, depth)
	case resp.Map:
		return v.list(x, depth)
	case resp.Push:
		return v.list(x, depth)
	}
	if v.resp3 {
		return gl.LNil
	}
	return gl.LFalse
}

func (v *vm) field(L *gl.LState, name, text string) *gl.LTable {
	v.spend(1, tableBytes+int64(len(text)))
	t := L.CreateTable(0, 1)
	t.RawSetString(name, gl.LString(text))
	return t
}

func (v *vm) list(replies []resp.Reply, depth int) *gl.LTable {
	v.spend(int64(len(replies)), tableBytes+int64(len(replies))*elementBytes)
	t := v.main.state.CreateTable(len(replies), 0)
	for i, r := range replies {
		t.RawSetInt(i+1, v.value(r, depth+1))
	}
	return t
}

// reply turns a script's value into a reply: numbers lose their fraction, true is
// 1, false and nil are the missing value (after redis.setresp(3) booleans are
// themselves), a table with a string err or ok is an error or a status, one of the
// names that RESP3's types have that type, any other a list up to its first nil.
//
// It pays for every value, since a table can hold another one many times over.
func (v *vm) reply(value gl.LValue, depth int) resp.Reply {
	if depth > maxReplyDepth {
		return resp.Error("ERR reached lua stack limit")
	}
	if !v.spend(4, 48) {
		return resp.Null{}
	}
	switch x := value.(type) {
	case gl.LString:
		v.spend(int64(len(x)/64), int64(len(x)))
		return resp.Bulk(x)
	case gl.LNumber:
		return resp.Int(toInteger(float64(x)))
	case gl.LBool:
		switch {
		case v.resp3:
			return resp.Bool(x)
		case bool(x):
			return resp.Int(1)
		}
		return resp.Null{}
	case *gl.LTable:
		return v.tableReply(x, depth)
	}
	return resp.Null{}
}

func (v *vm) tableReply(t *gl.LTable, depth int) resp.Reply {
	if text, ok := t.RawGetString("err").(gl.LString); ok {
		return resp.Error(oneLine(strings.Trim(string(text), "\r\n")))
	}
	if text, ok := t.RawGetString("ok").(gl.LString); ok {
		return resp.Status(oneLine(string(text)))
	}
	if n, ok := t.RawGetString("double").(gl.LNumber); ok {
		return resp.Double(formatG(float64(n), 17))
	}
	if m, ok := t.RawGetString("map").(*gl.LTable); ok {
		var out resp.Map
		for key, value := m.Next(gl.LNil); key != gl.LNil && v.failure == nil; key, value = m.Next(key) {
			out = append(out, v.reply(key, depth+1), v.reply(value, depth+1))
		}
		return out
	}
	if s, ok := t.RawGetString("set").(*gl.LTable); ok {
		out := resp.Unordered{}
		for key, _ := s.Next(gl.LNil); key != gl.LNil && v.failure == nil; key, _ = s.Next(key) {
			out = append(out, v.reply(key, depth+1))
		}
		return out
	}
	if n, ok := t.RawGetString("big_number").(gl.LString); ok {
		return resp.BigNumber(oneLine(string(n)))
	}
	if s, ok := t.RawGetString("verbatim_string").(*gl.LTable); ok {
		text, okText := s.RawGetString("string").(gl.LString)
		format, okFormat := s.RawGetString("format").(gl.LString)
		switch {
		case okText && okFormat && format == "txt":
			return resp.Verbatim(text)
		case okText && okFormat:
			return resp.Bulk(text)
		}
	}
	out := resp.Array{}
	for i := 1; v.failure == nil; i++ {
		value := t.RawGetInt(i)
		if value == gl.LNil || value == nil {
			break
		}
		out = append(out, v.reply(value, depth+1))
	}
	return out
}
