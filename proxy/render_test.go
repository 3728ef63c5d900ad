package proxy_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"

	"redlockproxy/proxy/redistest"
)

// render writes a reply with its types, so that two replies are the same if their
// texts are.
func render(reply any) string {
	switch r := reply.(type) {
	case nil:
		return "(nil)"
	case redistest.Status:
		return "+" + string(r)
	case redistest.Error:
		return "-" + string(r)
	case int64:
		return fmt.Sprintf(":%d", r)
	case string:
		if len(r) > 200 {
			r = fmt.Sprintf("%s… %d bytes, %x", r[:100], len(r), r[len(r)-10:])
		}
		return fmt.Sprintf("%q", r)
	case []any:
		return list("[", r, "]")
	case redistest.Push:
		return list(">[", r, "]")
	case redistest.Set:
		return list("~[", r, "]")
	case redistest.Map:
		return list("{", r, "}")
	}
	return fmt.Sprintf("%T %v", reply, reply)
}

func list(begin string, items []any, end string) string {
	texts := make([]string, len(items))
	for i, item := range items {
		texts[i] = render(item)
	}
	return begin + strings.Join(texts, ", ") + end
}

// spell writes a command for people, and for the expressions of the table.
func spell(args []string) string {
	texts := make([]string, 0, min(len(args), 20))
	for i, a := range args {
		switch {
		case i == 20:
			return strings.Join(texts, " ") + fmt.Sprintf(" … %d words", len(args))
		case len(a) > 300:
			a = fmt.Sprintf("%s…%d bytes", a[:20], len(a))
		}
		if a == "" || strings.ContainsFunc(a, func(r rune) bool { return r <= ' ' || r > '~' }) {
			a = fmt.Sprintf("%q", a)
		}
		texts = append(texts, a)
	}
	return strings.Join(texts, " ")
}

// A difference is a row of the table of documented differences.
type difference struct {
	row                   string
	command, redis, proxy *regexp.Regexp
	used                  bool
}

// A table is what documents the differences. All tests that compare share one, since a
// row that none of them needs any more is a mistake in the documentation.
type table struct {
	mu   sync.Mutex
	rows []*difference
}

var differences = sync.OnceValues(readDifferences)

func readDifferences() (*table, error) {
	text, err := os.ReadFile("testdata/differences.md")
	if err != nil {
		return nil, err
	}
	var all table
	for row := range strings.Lines(string(text)) {
		cells := strings.Split(strings.ReplaceAll(strings.TrimSpace(row), `\|`, "\x00"), "|")
		if len(cells) != 6 || strings.Trim(cells[1], "- ") == "" || strings.TrimSpace(cells[1]) == "command" {
			continue
		}
		d := difference{row: row}
		for i, to := range []**regexp.Regexp{&d.command, &d.redis, &d.proxy} {
			expression := strings.ReplaceAll(strings.Trim(cells[i+1], " `"), "\x00", "|")
			if *to, err = regexp.Compile("(?is)^(?:" + expression + ")$"); err != nil {
				return nil, fmt.Errorf("%s: %w", row, err)
			}
		}
		if strings.TrimSpace(cells[4]) == "" {
			return nil, fmt.Errorf("no reason: %s", row)
		}
		all.rows = append(all.rows, &d)
	}
	return &all, nil
}

// documented tells whether the table has the difference.
func documented(command, redis, proxy string) bool {
	all, err := differences()
	if err != nil {
		panic(err)
	}
	all.mu.Lock()
	defer all.mu.Unlock()
	for _, d := range all.rows {
		if d.command.MatchString(command) && d.redis.MatchString(redis) && d.proxy.MatchString(proxy) {
			d.used = true
			return true
		}
	}
	return false
}

// unused says which rows no test needed.
func (all *table) unused() (rows []string) {
	for _, d := range all.rows {
		if !d.used {
			rows = append(rows, d.row)
		}
	}
	return rows
}
