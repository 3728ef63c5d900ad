package conf

import (
	"fmt"
	"io"
)

// hidden is what a secret looks like in any output.
const hidden = "(hidden)"

// Secret is a string that can be read only by calling Reveal. Every way of
// printing or encoding it gives "(hidden)", or nothing if it is not set.
//
// It holds a pointer, not the string: where a Secret lies in an unexported field
// of some other struct, fmt calls none of the methods below and prints what it
// finds, which must then be an address.
type Secret struct{ text *string }

// NewSecret hides text. An empty text is a Secret that is not set.
func NewSecret(text string) Secret {
	if text == "" {
		return Secret{}
	}
	return Secret{text: &text}
}

// IsSet tells whether there is anything to reveal.
func (s Secret) IsSet() bool { return s.text != nil }

// Reveal returns the secret itself, "" if it is not set. Only the code that
// sends it to a backend or compares it with a client's password needs it.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// String returns "(hidden)", or "" if the secret is not set.
func (s Secret) String() string {
	if s.text == nil {
		return ""
	}
	return hidden
}

// Format covers every verb: the ones that ignore String and GoString, such as
// %d, would print the field.
func (s Secret) Format(f fmt.State, verb rune) {
	text := s.String()
	if verb == 'q' || f.Flag('#') {
		text = fmt.Sprintf("%q", text)
	}
	_, _ = io.WriteString(f, text) // fmt has no use for the error of its own buffer
}

// MarshalText keeps the secret out of JSON, TOML and the like.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
