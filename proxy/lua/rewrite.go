package lua

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/yuin/gopher-lua/ast"
)

// The compiler of gopher-lua 1.1 gets a few things wrong without a word, which
// comparing it with Redis has shown. Each is put, before it is compiled, in other
// words, which it gets right:
//
//   - "a, b = b, a" assigns one variable after the other, so that both get the same
//     value; Lua evaluates everything first.
//   - "a = x and y", for a local variable, leaves a as it was when x is false.
//   - "{x, [k] = f()}" also appends what f returns to the list.
//   - "for i = 1, ARGV[1]" fails, because the limit is a string with digits.
//
// A comment that begins with "--[=" and has no second bracket is one line; gopher-lua
// refuses it (shortComments).
//
// The first two assignments become a block with new variables, whose names no script can
// write:
//
//	a, t[k] = x, y   becomes   do local o, i = t, k  local u, v = x, y  o[i] = v  a = u end
//
// The third gets the parentheses that cut a list of results down to one, and the
// bounds of a loop are added to 0.

// spread is the replacement of an assignment to several variables.
func spread(stmt *ast.AssignStmt) *ast.DoBlockStmt {
	line := stmt.Line()
	ident := func(name string) *ast.IdentExpr {
		e := &ast.IdentExpr{Value: name}
		e.SetLine(line)
		return e
	}
	local := func(names []string, values []ast.Expr) ast.Stmt {
		s := &ast.LocalAssignStmt{Names: names, Exprs: values}
		s.SetLine(line)
		return s
	}
	block := &ast.DoBlockStmt{}
	block.SetLine(line)
	block.SetLastLine(stmt.LastLine())

	targets := make([]ast.Expr, len(stmt.Lhs))
	values := make([]string, len(stmt.Lhs))
	for i, left := range stmt.Lhs {
		targets[i] = left
		values[i] = fmt.Sprintf("(value %d)", i)
		field, ok := left.(*ast.AttrGetExpr)
		if !ok {
			continue
		}
		object := fmt.Sprintf("(object %d)", i)
		block.Stmts = append(block.Stmts, local([]string{object}, []ast.Expr{field.Object}))
		moved := &ast.AttrGetExpr{Object: ident(object), Key: field.Key}
		moved.SetLine(line)
		if _, constant := field.Key.(*ast.StringExpr); !constant {
			key := fmt.Sprintf("(key %d)", i)
			block.Stmts = append(block.Stmts, local([]string{key}, []ast.Expr{field.Key}))
			moved.Key = ident(key)
		}
		targets[i] = moved
	}
	block.Stmts = append(block.Stmts, local(values, stmt.Rhs))
	// Lua 5.1 assigns from right to left.
	for i := len(targets) - 1; i >= 0; i-- {
		one := &ast.AssignStmt{Lhs: targets[i : i+1], Rhs: []ast.Expr{ident(values[i])}}
		one.SetLine(line)
		block.Stmts = append(block.Stmts, one)
	}
	return block
}

// spreadIn replaces element i of a list of statements if it is an assignment that
// the compiler gets wrong.
func spreadIn(list reflect.Value, i int) {
	stmt, ok := list.Index(i).Interface().(*ast.AssignStmt)
	if !ok {
		return
	}
	if len(stmt.Lhs) == 1 {
		_, toVariable := stmt.Lhs[0].(*ast.IdentExpr)
		_, logical := stmt.Rhs[0].(*ast.LogicalOpExpr)
		if !toVariable || !logical {
			return
		}
	}
	list.Index(i).Set(reflect.ValueOf(spread(stmt)))
}

// cutDown makes the fields of a table that have keys take one value each.
func cutDown(table *ast.TableExpr) {
	for _, field := range table.Fields {
		if field.Key == nil {
			continue
		}
		switch value := field.Value.(type) {
		case *ast.FuncCallExpr:
			value.AdjustRet = true
		case *ast.Comma3Expr:
			value.AdjustRet = true
		}
	}
}

// makeNumeric adds 0 to the bounds of a loop, which reads strings as numbers.
func makeNumeric(loop *ast.NumberForStmt) {
	for _, bound := range []*ast.Expr{&loop.Init, &loop.Limit, &loop.Step} {
		if *bound == nil {
			continue
		}
		if _, literal := (*bound).(*ast.NumberExpr); literal {
			continue
		}
		sum := &ast.ArithmeticOpExpr{Operator: "+", Lhs: *bound, Rhs: &ast.NumberExpr{Value: "0"}}
		sum.SetLine(loop.Line())
		sum.Rhs.SetLine(loop.Line())
		*bound = sum
	}
}

// shortComments puts a blank in front of the bracket of each comment that begins like a
// long one and is none.
func shortComments(text string) string {
	if !strings.Contains(text, "--[=") {
		return text
	}
	var out strings.Builder
	done := 0 // what of text is in out
	for i := 0; i < len(text); {
		switch b := text[i]; {
		case b == '"' || b == '\'':
			i = endOfString(text, i)
		case b == '[':
			i = max(i+1, endOfLong(text, i))
		case strings.HasPrefix(text[i:], "--"):
			i += len("--")
			if end := endOfLong(text, i); end > 0 {
				i = end
				continue
			}
			if strings.HasPrefix(text[i:], "[=") {
				out.WriteString(text[done:i] + " ")
				done = i
			}
			if line := strings.IndexAny(text[i:], "\r\n"); line >= 0 {
				i += line
			} else {
				i = len(text)
			}
		default:
			i++
		}
	}
	return out.String() + text[done:]
}

// endOfString is where the string that begins at i ends, or its line does.
func endOfString(text string, i int) int {
	quote := text[i]
	for i++; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
			if pair := text[i:min(i+2, len(text))]; pair == "\r\n" || pair == "\n\r" {
				i++
			}
		case quote:
			return i + 1
		case '\r', '\n':
			return i
		}
	}
	return len(text)
}

// endOfLong is where the long string or comment ends whose first bracket is at i, or 0 if
// none begins there.
func endOfLong(text string, i int) int {
	rest := strings.TrimPrefix(text[i:], "[")
	level := len(rest) - len(strings.TrimLeft(rest, "="))
	if len(rest) == len(text)-i || !strings.HasPrefix(rest[level:], "[") {
		return 0
	}
	closing := "]" + rest[:level] + "]"
	if end := strings.Index(rest[level:], closing); end >= 0 {
		return i + 1 + level + end + len(closing)
	}
	return len(text)
}
