package conf

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A field is one setting: one row of the table.
type field struct {
	key  string // "section.name"
	kind kind
	doc  string // the first line says what it is; the others what to know, danger included

	// bounds says what set accepts.
	bounds string
	// reset puts the default into the Config.
	reset func()
	// set reads a value, and changes nothing if it gives an error. The texts are
	// the elements of a list, or exactly one for every other kind.
	set func(texts []string) error
	// literal is the current value in TOML, a secret hidden.
	literal func() string
	// exact is the current value with all that a literal hides, for comparing; nil where
	// a literal hides nothing.
	exact func() string

	// Whether the value can change while the proxy runs; if not, why. Every row says
	// one of the two: see live and fixed.
	canChange bool
	because   string
}

// live marks a setting that a reload takes over.
func (f *field) live() { f.canChange = true }

// fixed marks a setting that needs a restart. The reason completes "no, because".
func (f *field) fixed(because string) { f.because = because }

// kind is what a value looks like in TOML.
type kind int

const (
	kindText kind = iota
	kindNumber
	kindFlag
	kindList
)

// section is the first half of the key, name the second.
func (f field) section() string { s, _, _ := strings.Cut(f.key, "."); return s }
func (f field) name() string    { _, n, _ := strings.Cut(f.key, "."); return n }

// env is the name of the environment variable.
func (f field) env() string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(f.key, ".", "_"))
}

// fields collects rows; its methods add one each, and return it until the next is added.
type fields []field

func (t *fields) add(f field) *field {
	*t = append(*t, f)
	return &(*t)[len(*t)-1]
}

// text adds a string that check must accept. The errors of check do not repeat
// the text: it may be a password in the wrong place.
func (t *fields) text(key string, p *string, standard, bounds string, check func(string) error, doc string) *field {
	return t.add(field{
		key: key, kind: kindText, doc: doc, bounds: bounds,
		reset:   func() { *p = standard },
		literal: func() string { return quote(*p) },
		set: func(texts []string) error {
			if err := check(texts[0]); err != nil {
				return err
			}
			*p = texts[0]
			return nil
		},
	})
}

// choice adds a string out of a few.
func (t *fields) choice(key string, p *string, standard string, choices []string, doc string) *field {
	var quoted []string
	for _, c := range choices {
		quoted = append(quoted, quote(c))
	}
	bounds := strings.Join(quoted, ", ")
	return t.text(key, p, standard, bounds, func(text string) error {
		if !slices.Contains(choices, text) {
			return fmt.Errorf("must be one of %s, not %s", bounds, shown(text))
		}
		return nil
	}, doc)
}

// secret adds a password; none is the default.
func (t *fields) secret(key string, p *Secret, doc string) *field {
	return t.add(field{
		key: key, kind: kindText, doc: doc, bounds: fmt.Sprintf("up to %d bytes; \"\" is none", maxSecret),
		reset:   func() { *p = Secret{} },
		literal: func() string { return quote(p.String()) },
		exact:   func() string { return p.Reveal() },
		set: func(texts []string) error {
			if len(texts[0]) > maxSecret {
				return fmt.Errorf("is longer than %d bytes", maxSecret)
			}
			*p = NewSecret(texts[0])
			return nil
		},
	})
}

// number adds an integer from lo to hi.
func (t *fields) number(key string, p *int, standard, lo, hi int, doc string) *field {
	bounds := fmt.Sprintf("%d to %d", lo, hi)
	return t.add(field{
		key: key, kind: kindNumber, doc: doc, bounds: bounds,
		reset:   func() { *p = standard },
		literal: func() string { return strconv.Itoa(*p) },
		set: func(texts []string) error {
			n, err := strconv.Atoi(texts[0])
			if err != nil || n < lo || n > hi {
				return fmt.Errorf("must be a whole number, %s, not %s", bounds, shown(texts[0]))
			}
			*p = n
			return nil
		},
	})
}

// flag adds a yes or no.
func (t *fields) flag(key string, p *bool, standard bool, doc string) *field {
	return t.add(field{
		key: key, kind: kindFlag, doc: doc, bounds: "true, false",
		reset:   func() { *p = standard },
		literal: func() string { return strconv.FormatBool(*p) },
		set: func(texts []string) error {
			if texts[0] != "true" && texts[0] != "false" {
				return fmt.Errorf("must be true or false, not %s", shown(texts[0]))
			}
			*p = texts[0] == "true"
			return nil
		},
	})
}

// duration adds a time span from lo to hi.
func (t *fields) duration(key string, p *time.Duration, standard, lo, hi time.Duration, doc string) *field {
	bounds := short(lo) + " to " + short(hi)
	return t.span(key, p, standard, bounds, func(d time.Duration) bool { return d >= lo && d <= hi }, doc)
}

// limit adds a time span from lo to hi, or 0 for "no limit", its default.
func (t *fields) limit(key string, p *time.Duration, lo, hi time.Duration, doc string) *field {
	bounds := "\"0s\" for none, or " + short(lo) + " to " + short(hi)
	return t.span(key, p, 0, bounds, func(d time.Duration) bool { return d == 0 || d >= lo && d <= hi }, doc)
}

func (t *fields) span(key string, p *time.Duration, standard time.Duration, bounds string,
	within func(time.Duration) bool, doc string,
) *field {
	return t.add(field{
		key: key, kind: kindText, doc: doc, bounds: bounds,
		reset:   func() { *p = standard },
		literal: func() string { return quote(short(*p)) },
		set: func(texts []string) error {
			d, err := time.ParseDuration(texts[0])
			if err != nil || !within(d) {
				return fmt.Errorf("must be a time span such as \"150ms\" or \"2s\", %s, not %s", bounds, shown(texts[0]))
			}
			*p = d
			return nil
		},
	})
}

// backends adds the list of a group's backends; none is the default.
func (t *fields) backends(key string, p *[]Backend, doc string) *field {
	return t.add(field{
		key: key, kind: kindList, doc: doc, bounds: "1, 3, 5 or 7 entries",
		reset: func() { *p = nil },
		literal: func() string {
			var quoted []string
			for _, b := range *p {
				quoted = append(quoted, quote(b.String()))
			}
			return "[" + strings.Join(quoted, ", ") + "]"
		},
		exact: func() string {
			var all []string
			for _, b := range *p {
				all = append(all, fmt.Sprintf("%q", []string{
					b.String(), b.User.Reveal(), b.Password.Reveal(), b.PasswordFile, b.TLSCA, b.TLSCert, b.TLSKey,
				}))
			}
			return strings.Join(all, ",")
		},
		set: func(texts []string) error {
			backends, err := parseBackends(texts)
			if err != nil {
				return err
			}
			*p = backends
			return nil
		},
	})
}

// maxSecret bounds a password: Redis takes longer ones, but before the login it
// reads no argument of more than 16 KiB, and nobody types more than this.
const maxSecret = 512

// shown is a mistaken value for an error text: cut short, control characters
// escaped. Only for kinds of value that nobody mistakes for a password.
func shown(text string) string {
	const longest = 40
	if len(text) > longest {
		text = text[:longest] + "…"
	}
	return strconv.Quote(text)
}

// quote writes a TOML string. What check functions let through has no control
// characters but for those that both languages escape alike.
func quote(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// short is a duration without the zeros at its end: 24h, not 24h0m0s.
func short(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
