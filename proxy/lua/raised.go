package lua

import (
	"strings"

	gl "github.com/yuin/gopher-lua"
)

// raisedValue is the value that was raised.
func raisedValue(err error) gl.LValue {
	e, ok := err.(*gl.ApiError)
	if !ok || e.Object == nil {
		return gl.LString(err.Error())
	}
	if s, ok := e.Object.(gl.LString); ok {
		return gl.LString(luaText(string(s)))
	}
	return e.Object
}

// scriptError is the text of an error that the script did not catch.
func scriptError(err error) string {
	switch x := raisedValue(err).(type) {
	case *gl.LTable:
		switch text := x.RawGetString("err").(type) {
		case gl.LString:
			return string(text)
		case gl.LNumber:
			return formatNumber(float64(text))
		}
		return "ERR unknown error"
	case gl.LNumber:
		return "ERR " + formatNumber(float64(x))
	default:
		return "ERR " + x.String()
	}
}

// position says where an error was raised, as Redis does after the digest: ", on
// @user_script:3.". A library function on top stands for its caller.
func position(err error) string {
	e, ok := err.(*gl.ApiError)
	if !ok {
		return ""
	}
	const library = "[G]:"
	lines := strings.Split(e.StackTrace, "\n")
	for i := 1; i < len(lines) && i <= 2; i++ {
		where, _, _ := strings.Cut(strings.TrimPrefix(lines[i], "\t"), " in ")
		switch {
		case where == library && i == 1:
			continue
		case where == library:
			return ", on =[C]:-1."
		case strings.HasSuffix(where, ":"):
			return ", on @" + strings.TrimSuffix(where, ":") + "."
		}
	}
	return "."
}
