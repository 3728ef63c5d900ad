package lua

import (
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync/atomic"

	gl "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/ast"
	"github.com/yuin/gopher-lua/parse"

	"redlockproxy/resp"
)

// chunkName is what Redis calls every script in its messages.
const chunkName = "user_script"

// A Script is a compiled script, and safe to run by many goroutines at once. Nothing of
// it changes but its limits, which are those of its Cache.
type Script struct {
	digest  string
	size    int // of the text, in bytes
	promise Promise
	limits  *atomic.Pointer[Limits]
	code    *chunk
	idle    *pool
}

// Compile translates a script. The error is a resp.Error in Redis's form, "ERR
// Error compiling script (new function): user_script:<line>: ...", for a text that
// is not Lua, or is longer, deeper or richer in constants than allowed; or it is about
// the text's first line, if that begins with #!.
//
// Scripts that a Cache compiles share their idle virtual machines; one compiled
// here has its own.
func Compile(text string, limits Limits) (*Script, error) {
	shared := &atomic.Pointer[Limits]{}
	limits = limits.withDefaults()
	shared.Store(&limits)
	return compile(text, shared, newPool())
}

func compile(text string, limits *atomic.Pointer[Limits], idle *pool) (*Script, error) {
	body, promise, err := shebang(text)
	if err != nil {
		return nil, err
	}
	code, err := translate(body, chunkName, limits.Load().MaxSource)
	if err != nil {
		return nil, resp.Error("ERR Error compiling script (new function): " + oneLine(err.Error()))
	}
	return &Script{digest: Digest(text), size: len(text), promise: promise, limits: limits, code: code, idle: idle}, nil
}

// Digest is the name of a script for EVALSHA: the SHA1 of its text in lower-case
// hex.
func Digest(text string) string {
	sum := sha1.Sum([]byte(text))
	return hex.EncodeToString(sum[:])
}

// Digest is the SHA1 of the script's text in lower-case hex.
func (s *Script) Digest() string { return s.digest }

// Promise is what the script's first line says of its writes. Whoever carries out its
// commands holds it to that.
func (s *Script) Promise() Promise { return s.promise }

// A chunk is a translated text: the code of its main function, and what has to be
// known about it to run it within bounds.
type chunk struct {
	main *gl.FunctionProto
	// watched says that single instructions of this code may take more memory
	// than a count of instructions bounds.
	watched bool
	// protos finds the code that is running by its address; nil if not watched.
	protos map[uintptr]*gl.FunctionProto
	// confined says that this code surely touches no keys but those in KEYS.
	confined bool
}

// translate makes code of a text; name is what messages call it. The error's text
// starts with name and line, as Lua's own messages do.
func translate(text, name string, maxSource int) (c *chunk, err error) {
	if len(text) > maxSource {
		return nil, fmt.Errorf("%s:1: the text has %d bytes, more than the %d allowed", name, len(text), maxSource)
	}
	// The parser reports by error whatever it expects, and panics on its own bugs.
	defer func() {
		if r := recover(); r != nil {
			c, err = nil, fmt.Errorf("%s:1: the text cannot be compiled", name)
		}
	}()
	tree, err := parse.Parse(strings.NewReader(shortComments(text)), name)
	if err != nil {
		return nil, syntaxError(err, name, text)
	}
	s := survey{constants: map[string]struct{}{}}
	if s.walk(reflect.ValueOf(tree), 0); s.problem != "" {
		return nil, fmt.Errorf("%s:1: %s", name, s.problem)
	}
	only := confined(tree)
	main, err := gl.Compile(tree, name)
	if err != nil {
		return nil, syntaxError(err, name, text)
	}
	// The main function would get a table arg of its arguments, of which there are
	// none, in every run; Lua 5.1 does not give it one.
	main.IsVarArg &^= gl.VarArgNeedsArg
	c = &chunk{main: main, watched: needsWatching(main), confined: only}
	if c.watched {
		if !layoutKnown {
			return nil, fmt.Errorf("%s:1: this build cannot bound the memory of this script", name)
		}
		c.protos = map[uintptr]*gl.FunctionProto{}
		collect(main, c.protos)
	}
	return c, nil
}

func collect(p *gl.FunctionProto, into map[uintptr]*gl.FunctionProto) {
	into[reflect.ValueOf(p).Pointer()] = p
	for _, child := range p.FunctionPrototypes {
		collect(child, into)
	}
}

// syntaxError gives the parser's complaints the shape of Lua's.
func syntaxError(err error, name, text string) error {
	var pe *parse.Error
	if errors.As(err, &pe) {
		token, line := pe.Token, pe.Pos.Line
		if line == parse.EOF || token == "" {
			token, line = "<eof>", 1+strings.Count(text, "\n")
		}
		message := pe.Message
		switch message {
		case "unterminated string":
			message = "unfinished string"
		case "unterminated multiline string":
			message = "unfinished long string"
		case "parse error":
			message = "syntax error"
		}
		return fmt.Errorf("%s:%d: %s near '%s'", name, line, message, token)
	}
	var ce *gl.CompileError
	if errors.As(err, &ce) {
		return fmt.Errorf("%s:%d: %s", name, max(ce.Line, 1), ce.Message)
	}
	return fmt.Errorf("%s:1: %w", name, err)
}

// A survey goes through a syntax tree before the compiler sees it: it measures the
// tree, and replaces what the compiler gets wrong.
type survey struct {
	constants map[string]struct{}
	problem   string
}

var (
	exprType = reflect.TypeFor[ast.Expr]()
	stmtType = reflect.TypeFor[ast.Stmt]()
)

// walk goes through any node by reflection, so that no kind of node can be
// forgotten. It never goes deeper than maxDepth itself.
func (s *survey) walk(v reflect.Value, depth int) {
	switch v.Kind() {
	case reflect.Interface:
		s.walk(v.Elem(), depth)
	case reflect.Slice:
		for i := 0; i < v.Len() && s.problem == ""; i++ {
			s.walk(v.Index(i), depth)
			if v.Type().Elem() == stmtType {
				spreadIn(v, i)
			}
		}
	case reflect.Pointer:
		if v.IsNil() {
			return
		}
		if t := v.Type(); t.Implements(exprType) || t.Implements(stmtType) {
			depth++
		}
		if depth > maxDepth {
			s.problem = fmt.Sprintf("chunk has more than %d syntax levels", maxDepth)
			return
		}
		switch node := v.Interface().(type) {
		case *ast.TableExpr:
			cutDown(node)
		case *ast.NumberForStmt:
			makeNumeric(node)
		}
		s.walk(v.Elem(), depth)
	case reflect.Struct:
		for i := 0; i < v.NumField() && s.problem == ""; i++ {
			s.walk(v.Field(i), depth)
		}
	case reflect.String:
		// Names, strings and the digits of numbers all become constants.
		s.constants[v.String()] = struct{}{}
		if len(s.constants) > maxConstants {
			s.problem = fmt.Sprintf("chunk has more than %d different names and constants", maxConstants)
		}
	}
}

// oneLine makes a message fit into one line of the protocol, as Redis does.
func oneLine(s string) string {
	if !strings.ContainsAny(s, "\r\n") {
		return s
	}
	return strings.NewReplacer("\r", " ", "\n", " ").Replace(s)
}
