package lua

import (
	"reflect"

	"github.com/yuin/gopher-lua/ast"

	"redlockproxy/resp"
)

// confined tells whether a script surely touches no keys but those in KEYS, so that
// commands on other keys may run beside it. It looks at names only, and anything unusual
// counts as not confined, which costs time and no more: each call of redis.call and
// redis.pcall stands there in full, with the command as a constant, and its keys are
// KEYS[...], variables that are set to nothing else, or unpack(KEYS); KEYS itself is only
// read, and no name leads to the functions by another way.
func confined(tree []ast.Stmt) bool {
	c := confinement{set: map[string]bool{}, ok: true}
	visit(reflect.ValueOf(tree), c.bind)
	for name := range c.set {
		c.ok = c.ok && !plainGlobals[name] && !isSubject(name)
	}
	visit(reflect.ValueOf(tree), c.check)
	return c.ok
}

// A confinement is what is known of a script's names.
type confinement struct {
	set map[string]bool // each name that the script sets; true if always to a key of KEYS
	ok  bool
}

// plainGlobals lead to no command and no code by themselves.
var plainGlobals = map[string]bool{
	"ARGV": true, "assert": true, "bit": true, "cjson": true, "error": true, "ipairs": true, "math": true, "next": true, "pairs": true, "pcall": true,
	"select": true, "string": true, "table": true, "tonumber": true, "tostring": true, "type": true, "unpack": true,
}

// otherGlobals may: a script that names one of them, for whatever, is not confined.
var otherGlobals = map[string]bool{
	"_G": true, "getfenv": true, "getmetatable": true, "load": true, "loadstring": true, "rawequal": true, "rawget": true, "rawset": true,
	"server": true, "setfenv": true, "setmetatable": true, "xpcall": true, "_VERSION": true, "collectgarbage": true, "print": true, "gcinfo": true, "dofile": true, "loadfile": true, "require": true, "newproxy": true,
}

func isSubject(name string) bool { return name == "redis" || name == "KEYS" }

// visit goes through a syntax tree by reflection, into what f is true of.
func visit(v reflect.Value, f func(node any) bool) {
	switch v.Kind() {
	case reflect.Interface:
		visit(v.Elem(), f)
	case reflect.Slice:
		for i := range v.Len() {
			visit(v.Index(i), f)
		}
	case reflect.Pointer:
		if !v.IsNil() && f(v.Interface()) {
			visit(v.Elem(), f)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			visit(v.Field(i), f)
		}
	}
}

// bind notes the names that a node sets.
func (c *confinement) bind(node any) bool {
	note := func(name string, key bool) {
		before, known := c.set[name]
		c.set[name] = key && (before || !known)
	}
	switch n := node.(type) {
	case *ast.LocalAssignStmt:
		for i, name := range n.Names {
			note(name, i < len(n.Exprs) && isKey(n.Exprs[i]))
		}
	case *ast.AssignStmt:
		for i, left := range n.Lhs {
			if name, isName := left.(*ast.IdentExpr); isName {
				note(name.Value, i < len(n.Rhs) && isKey(n.Rhs[i]))
			} else if field, isField := left.(*ast.AttrGetExpr); isField && (is(field.Object, "KEYS") || is(field.Object, "redis")) {
				c.ok = false
			}
		}
	case *ast.NumberForStmt:
		note(n.Name, false)
	case *ast.GenericForStmt:
		for i, name := range n.Names {
			note(name, i == 1 && len(n.Exprs) == 1 && (isOfKeys(n.Exprs[0], "ipairs") || isOfKeys(n.Exprs[0], "pairs")))
		}
	case *ast.FuncDefStmt:
		if name, isName := n.Name.Func.(*ast.IdentExpr); isName {
			note(name.Value, false)
		}
	case *ast.FunctionExpr:
		for _, name := range n.ParList.Names {
			note(name, false)
		}
	}
	return true
}

// check looks for what makes a script not confined, and tells whether to look into the
// node too.
func (c *confinement) check(node any) bool {
	switch n := node.(type) {
	case *ast.UnaryLenOpExpr:
		return !is(n.Expr, "KEYS")
	case *ast.AttrGetExpr:
		word, constant := n.Key.(*ast.StringExpr)
		switch {
		case is(n.Object, "KEYS"):
			visit(reflect.ValueOf(n.Key), c.check)
			return false
		case is(n.Object, "redis"):
			// A call that is right was looked at as such.
			c.ok = c.ok && constant && word.Value != "call" && word.Value != "pcall"
			return false
		}
	case *ast.FuncCallExpr:
		if isOfKeys(n, "ipairs") || isOfKeys(n, "pairs") || isOfKeys(n, "unpack") {
			return false
		}
		f, isField := n.Func.(*ast.AttrGetExpr)
		if isField && is(f.Object, "redis") {
			if word, constant := f.Key.(*ast.StringExpr); constant && (word.Value == "call" || word.Value == "pcall") {
				c.ok = c.ok && c.calls(n.Args)
				visit(reflect.ValueOf(n.Args), c.check)
				return false
			}
		}
	case *ast.IdentExpr:
		_, own := c.set[n.Value]
		c.ok = c.ok && (plainGlobals[n.Value] || own && !otherGlobals[n.Value] && !isSubject(n.Value))
	}
	return true
}

// calls tells whether a call names no keys but those of KEYS.
func (c *confinement) calls(args []ast.Expr) bool {
	if len(args) == 0 {
		return false
	}
	word, constant := args[0].(*ast.StringExpr)
	if !constant {
		return false
	}
	info, known := resp.Lookup(word.Value)
	if !known || !info.Keyed() || info.Flags&resp.MovableKeys != 0 {
		return !known || info.Flags&resp.MovableKeys == 0
	}
	last := info.LastKey
	if last < 0 {
		last = len(args) - 1
	}
	if last >= len(args) || info.FirstKey > last {
		return false
	}
	for i := range args {
		named := i >= info.FirstKey && i <= last && (i-info.FirstKey)%max(info.Step, 1) == 0
		end := i == len(args)-1
		switch {
		case named && !c.names(args[i]) && !(end && info.Step == 1 && isOfKeys(args[i], "unpack")):
			return false
		case end && !named && info.LastKey < 0 && several(args[i]):
			return false // more keys may follow
		}
	}
	return true
}

// names tells whether an expression is one of the keys.
func (c *confinement) names(e ast.Expr) bool {
	name, isName := e.(*ast.IdentExpr)
	return isKey(e) || isName && c.set[name.Value]
}

// several tells whether an expression may have more than one value.
func several(e ast.Expr) bool {
	switch e.(type) {
	case *ast.FuncCallExpr, *ast.Comma3Expr:
		return true
	}
	return false
}

func is(e ast.Expr, name string) bool {
	n, isName := e.(*ast.IdentExpr)
	return isName && n.Value == name
}

// isKey is true of KEYS[...].
func isKey(e ast.Expr) bool {
	field, isField := e.(*ast.AttrGetExpr)
	return isField && is(field.Object, "KEYS")
}

// isOfKeys is true of f(KEYS).
func isOfKeys(e ast.Expr, f string) bool {
	n, isCall := e.(*ast.FuncCallExpr)
	return isCall && n.Receiver == nil && is(n.Func, f) && len(n.Args) == 1 && is(n.Args[0], "KEYS")
}

// Confined tells whether the script surely touches no keys but those in KEYS.
func (s *Script) Confined() bool { return s.code.confined }
