package conf

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// A setting is one value as a source gave it.
type setting struct {
	key   string   // "section.name"
	texts []string // the elements of a list, or one
	kind  kind
	where string // "redlock-proxy.toml:12", a variable, a flag
}

// maxFile bounds the file, which is held in memory several times over. The
// example with all its comments has 16 KiB.
const maxFile = 256 << 10

// maxMistakes is where reading a file gives up: after so many unknown names it
// is not one of ours.
const maxMistakes = 20

// readTOML takes a file apart into settings, and reports everything in it that
// is none. go-toml decodes into structs strictly, too; but the rows of the table
// are the only list of names here, and its error texts quote whole lines, which
// may hold a password. So the document is checked by decoding it into nothing in
// particular, and then walked.
func readTOML(name string, data []byte) ([]setting, error) {
	if len(data) > maxFile {
		return nil, fmt.Errorf("%s: has more than %d bytes; is it the right file?", name, maxFile)
	}
	var anything map[string]any
	if err := toml.Unmarshal(data, &anything); err != nil {
		return nil, tomlError(name, err)
	}
	w := walker{name: name}
	w.p.Reset(data)
	for len(w.errs) < maxMistakes && w.p.NextExpression() {
		w.expression(w.p.Expression())
	}
	if err := w.p.Error(); err != nil {
		return nil, tomlError(name, err)
	}
	return w.found, errors.Join(w.errs...)
}

// tomlError keeps of the library's error the place and the short reason, which
// names at most a key and a character.
func tomlError(name string, err error) error {
	var decode *toml.DecodeError
	if !errors.As(err, &decode) {
		return fmt.Errorf("%s: is not valid TOML", name)
	}
	line, column := decode.Position()
	return fmt.Errorf("%s:%d:%d: is not valid TOML: %s", name, line, column, strings.TrimPrefix(decode.Error(), "toml: "))
}

type walker struct {
	name  string
	p     unstable.Parser
	table string // the [table] that the walk is in, "" above the first
	found []setting
	errs  []error
}

func (w *walker) fail(line int, format string, args ...any) {
	w.errs = append(w.errs, fmt.Errorf("%s:%d: %s", w.name, line, fmt.Sprintf(format, args...)))
}

func (w *walker) line(n *unstable.Node) int { return w.p.Shape(n.Raw).Start.Line }

func (w *walker) expression(n *unstable.Node) {
	switch n.Kind {
	case unstable.KeyValue:
		w.keyValue(w.table, n)
	case unstable.Table, unstable.ArrayTable:
		key, line := w.key("", n)
		w.table = key
		switch {
		case !isSection(key):
			w.fail(line, "there is no section [%s]; there are %s", printable(key), sectionNames())
		case n.Kind == unstable.ArrayTable:
			w.fail(line, "write [%s], not [[%s]]", key, key)
		}
	}
}

// key joins the parts of a key behind prefix, and finds its line.
func (w *walker) key(prefix string, n *unstable.Node) (key string, line int) {
	key = prefix
	for it := n.Key(); it.Next(); {
		if line == 0 {
			line = w.line(it.Node())
		}
		if key != "" {
			key += "."
		}
		key += string(it.Node().Data)
	}
	return key, line
}

func (w *walker) keyValue(prefix string, n *unstable.Node) {
	key, line := w.key(prefix, n)
	value := n.Value()
	if value.Kind == unstable.InlineTable && isSection(key) {
		for it := value.Children(); it.Next(); {
			w.keyValue(key, it.Node())
		}
		return
	}
	s := setting{key: key, where: fmt.Sprintf("%s:%d", w.name, line)}
	if w.table != "" && !isSection(w.table) {
		return // reported with its table
	}
	f, ok := lookup(key)
	if !ok {
		w.fail(line, "there is no setting %s%s", printable(key), suggestion(key, keys()))
		return
	}
	if s.texts, s.kind, ok = scalarOrList(value); !ok || s.kind != f.kind {
		w.fail(line, "%s must be %s", key, map[kind]string{
			kindText: "a text in quotes", kindNumber: "a whole number without quotes",
			kindFlag: "true or false without quotes", kindList: "a list of texts, [\"…\", \"…\"]",
		}[f.kind])
		return
	}
	w.found = append(w.found, s)
}

// scalarOrList reads a value of one of the kinds that settings have.
func scalarOrList(n *unstable.Node) (texts []string, k kind, ok bool) {
	switch n.Kind {
	case unstable.String:
		return []string{string(n.Data)}, kindText, true
	case unstable.Bool:
		return []string{string(n.Data)}, kindFlag, true
	case unstable.Integer:
		// TOML has 0x10 and 1_000, too.
		i, err := strconv.ParseInt(string(n.Data), 0, 64)
		return []string{strconv.FormatInt(i, 10)}, kindNumber, err == nil
	case unstable.Array:
		for it := n.Children(); it.Next(); {
			switch it.Node().Kind {
			case unstable.String:
				texts = append(texts, string(it.Node().Data))
			case unstable.Comment:
			default:
				return nil, 0, false
			}
		}
		return texts, kindList, true
	}
	return nil, 0, false
}
