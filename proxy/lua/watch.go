package lua

import (
	"math"
	"reflect"

	gl "github.com/yuin/gopher-lua"
)

// Most lock scripts are only counted: each of their instructions does a small,
// bounded thing. This file is for the others. Joining strings and filling tables
// allocate memory inside the machine, where no library function of ours can
// refuse it (doubling a string thirty times is a gigabyte in thirty instructions,
// and t[1e7]=1 is one of 160 megabytes). So code that contains such instructions
// is watched: before each instruction the meter looks what it is, and what it
// will take.
//
// gopher-lua has no interface for this; the fields of its call frame are read by
// reflection, which cannot write. If a version of the library names them
// differently, layoutKnown is false and such scripts are refused.

// places are the indices of the fields read by reflection.
type places struct {
	currentFrame, fn, pc, proto, array int
}

var layout, layoutKnown = findLayout()

func findLayout() (l places, ok bool) {
	ok = true
	field := func(t reflect.Type, name string, kind reflect.Kind) (int, reflect.Type) {
		if t == nil || t.Kind() != reflect.Struct {
			ok = false
			return 0, nil
		}
		f, found := t.FieldByName(name)
		if !found || f.Type.Kind() != kind || len(f.Index) != 1 {
			ok = false
			return 0, nil
		}
		if kind == reflect.Pointer {
			return f.Index[0], f.Type.Elem()
		}
		return f.Index[0], f.Type
	}
	var frame, fn reflect.Type
	l.currentFrame, frame = field(reflect.TypeFor[gl.LState](), "currentFrame", reflect.Pointer)
	l.fn, fn = field(frame, "Fn", reflect.Pointer)
	l.pc, _ = field(frame, "Pc", reflect.Int)
	l.proto, _ = field(fn, "Proto", reflect.Pointer)
	l.array, _ = field(reflect.TypeFor[gl.LTable](), "array", reflect.Slice)
	return l, ok
}

// The parts of an instruction.
func opcode(inst uint32) int { return int(inst >> 26) }
func argA(inst uint32) int   { return int(inst>>18) & 0xff }
func argB(inst uint32) int   { return int(inst & 0x1ff) }
func argC(inst uint32) int   { return int(inst>>9) & 0x1ff }
func argSBx(inst uint32) int { return int(inst&0x3ffff) - 0x1ffff }

// needsWatching says whether a count of instructions does not bound the memory
// that this code takes: it joins strings, stores under computed keys, or makes
// tables or functions in a loop. A text without loops and functions runs each of
// its instructions once, so what it writes down literally is bounded by its
// length.
func needsWatching(p *gl.FunctionProto) bool {
	loops, makes := false, false
	for _, inst := range p.Code {
		switch opcode(inst) {
		case gl.OP_CONCAT, gl.OP_SETTABLE, gl.OP_CLOSURE:
			return true
		case gl.OP_NEWTABLE:
			makes = true
		case gl.OP_FORLOOP, gl.OP_TFORLOOP:
			loops = true
		case gl.OP_JMP:
			if argSBx(inst) < 0 {
				loops = true
			}
		}
	}
	return loops && makes
}

// Estimates of what things take, in bytes.
const (
	tableBytes   = 1024 // a table and its first few entries
	elementBytes = 32   // an element of an array, with room to grow
	entryBytes   = 160  // an entry under any other key
	closureBytes = 256
)

// inspect sees the instruction that is about to be carried out, and pays for it.
func (v *vm) inspect() {
	frame := v.current.frame.Elem()
	fn := frame.Field(layout.fn).Elem()
	if fn.Kind() == reflect.Invalid {
		return
	}
	p := v.protos[fn.Field(layout.proto).Pointer()]
	pc := int(frame.Field(layout.pc).Int())
	if p == nil || pc < 1 || pc > len(p.Code) {
		return
	}
	L, inst := v.current.state, p.Code[pc-1]
	switch opcode(inst) {
	case gl.OP_CONCAT:
		v.payConcat(L, argB(inst)+1, argC(inst)+1)
	case gl.OP_SETTABLE:
		if t, ok := L.Get(argA(inst) + 1).(*gl.LTable); ok {
			v.spend(0, storeBytes(t, operand(L, p, argB(inst))))
		}
	case gl.OP_SETTABLEKS:
		v.spend(0, entryBytes)
	case gl.OP_NEWTABLE:
		v.spend(0, tableBytes+int64(argB(inst))*elementBytes+int64(argC(inst))*entryBytes)
	case gl.OP_SETLIST:
		n := argB(inst)
		if n == 0 {
			n = L.GetTop()
		}
		v.spend(int64(n/8), int64(n)*elementBytes)
	case gl.OP_CLOSURE:
		v.spend(0, closureBytes)
	case gl.OP_EQ, gl.OP_LT, gl.OP_LE:
		if s, ok := operand(L, p, argB(inst)).(gl.LString); ok {
			v.spend(int64(len(s)/256), 0)
		}
	}
}

// payConcat pays for joining the values in registers from to to. It also writes
// the numbers among them as Lua does, with 14 digits: the registers hold copies
// that only this instruction reads.
func (v *vm) payConcat(L *gl.LState, from, to int) {
	total := 0
	for i := from; i <= to; i++ {
		switch x := L.Get(i).(type) {
		case gl.LString:
			total += len(x)
		case gl.LNumber:
			s := formatNumber(float64(x))
			total += len(s)
			L.Replace(i, gl.LString(s))
		}
	}
	v.payString(total)
}

// operand is a register or a constant, as the instruction names it.
func operand(L *gl.LState, p *gl.FunctionProto, rk int) gl.LValue {
	const constant = 256
	if rk&constant == 0 {
		return L.Get(rk + 1)
	}
	if k := rk &^ constant; k < len(p.Constants) {
		return p.Constants[k]
	}
	return gl.LNil
}

// storeBytes is what it takes to store a value under key. The machine keeps
// positive whole numbers in an array and fills any gap below with nils.
func storeBytes(t *gl.LTable, key gl.LValue) int64 {
	n, ok := key.(gl.LNumber)
	f := float64(n)
	if !ok || f < 1 || f >= float64(gl.MaxArrayIndex) || f != math.Trunc(f) {
		return entryBytes
	}
	return max(0, int64(f)-int64(arrayLen(t))) * elementBytes
}

func arrayLen(t *gl.LTable) int {
	if !layoutKnown {
		return 0
	}
	return reflect.ValueOf(t).Elem().Field(layout.array).Len()
}

// payString pays for a new string of n bytes. It reports whether the string may
// be made.
func (m *meter) payString(n int) bool {
	if n > m.limits.MaxString && m.failure == nil {
		m.fail(limitError("a string of more than %d bytes", m.limits.MaxString))
	}
	return m.spend(int64(n/64), int64(n)+16)
}
