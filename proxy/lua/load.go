package lua

import (
	"strings"

	gl "github.com/yuin/gopher-lua"
)

func baseLoadString(c call) int {
	text := c.text(1)
	name := `[string "` + firstLine(text) + `"]`
	if c.L.Get(2) != gl.LNil {
		name = strings.TrimLeft(c.text(2), "@=")
	}
	return c.load(text, name)
}

func baseLoad(c call) int {
	reader := c.fn(1)
	name := "=(load)"
	if c.L.Get(2) != gl.LNil {
		name = strings.TrimLeft(c.text(2), "@=")
	}
	var text strings.Builder
	for text.Len() <= c.source {
		c.pay(1, 0)
		c.L.Push(reader)
		c.L.Call(0, 1)
		value := c.L.Get(-1)
		c.L.Pop(1)
		if value == gl.LNil || value == gl.LString("") {
			break
		}
		piece, ok := toText(value)
		if !ok {
			return c.push(gl.LNil, gl.LString("reader function must return a string"))
		}
		text.WriteString(piece)
	}
	return c.load(text.String(), name)
}

// load compiles a text within the run's bounds: compiling takes about a
// microsecond and a few hundred bytes for every few bytes of text.
func (c call) load(text, name string) int {
	if len(name) > 60 {
		name = name[:60]
	}
	c.pay(100+8*len(text), 1024+64*len(text))
	code, err := translate(text, name, c.source)
	if err != nil {
		return c.push(gl.LNil, gl.LString(err.Error()))
	}
	c.vm.source -= len(text)
	c.use(code)
	return c.push(c.vm.main.state.NewFunctionFromProto(code.main))
}

func firstLine(text string) string {
	if i := strings.IndexAny(text, "\r\n"); i >= 0 {
		return text[:min(i, 40)] + "..."
	}
	if len(text) > 40 {
		return text[:40] + "..."
	}
	return text
}
