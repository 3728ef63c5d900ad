package conf

import (
	"strconv"
	"strings"
)

// keys are the names of all settings.
func keys() []string {
	var c Config
	var names []string
	for _, f := range table(&c) {
		names = append(names, f.key)
	}
	return names
}

// lookup finds a row for its key and kind; it is tied to no Config that counts.
func lookup(key string) (field, bool) {
	var c Config
	return table(&c).find(key)
}

func (t fields) find(key string) (field, bool) {
	for _, f := range t {
		if f.key == key {
			return f, true
		}
	}
	return field{}, false
}

func isSection(name string) bool {
	for _, s := range sections {
		if s.name == name {
			return true
		}
	}
	return false
}

func sectionNames() string {
	var names []string
	for _, s := range sections {
		names = append(names, "["+s.name+"]")
	}
	return strings.Join(names, " ")
}

// printable is a mistaken name for an error text, cut short, control characters
// escaped.
func printable(name string) string {
	quoted := strconv.Quote(name)
	if quoted == `"`+name+`"` && len(name) <= 80 {
		return name
	}
	return shown(name)
}

// suggestion is "; did you mean …?" with the nearest of the names, or nothing
// when none is near.
func suggestion(name string, names []string) string {
	const near = 3 // typing mistakes
	best, found := near+1, ""
	if len(name) > 80 {
		return ""
	}
	for _, n := range names {
		if d := distance(strings.ToLower(name), strings.ToLower(n)); d < best {
			best, found = d, n
		}
	}
	if found == "" {
		return "; `redlock-proxy -h` lists them"
	}
	return "; did you mean " + found + "?"
}

// distance counts the insertions, deletions and replacements of bytes that make
// b out of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			d := diagonal
			if a[i] != b[j] {
				d++
			}
			diagonal = row[j+1]
			row[j+1] = min(d, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
