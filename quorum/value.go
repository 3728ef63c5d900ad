package quorum

import (
	"encoding/base64"
	"fmt"
	"io"
)

// Stored is what a backend holds: the client's value and, behind it, the tag of
// the attempt that wrote it. A Stored without a tag was written by something
// else, or is a counter, and is a client value as it stands.
type Stored string

// A tag is tagMark and tagChars characters of tagAlphabet: 96 random bits.
const (
	tagMark  = "~rl:"
	tagChars = 16
	// TagLen is the length in bytes of the tag behind a client value.
	TagLen = len(tagMark) + tagChars
)

// Tagged makes a stored value with a fresh tag out of a client value. Random
// supplies the tag's bytes; crypto/rand.Reader outside of tests.
func Tagged(value string, random io.Reader) (Stored, error) {
	var raw [tagChars * 3 / 4]byte
	if _, err := io.ReadFull(random, raw[:]); err != nil {
		return "", fmt.Errorf("no random bytes for a tag: %w", err)
	}
	b := make([]byte, len(value)+TagLen)
	n := copy(b, value)
	n += copy(b[n:], tagMark)
	base64.RawURLEncoding.Encode(b[n:], raw[:])
	return Stored(b), nil
}

// Value is the client value: the stored value without its tag.
func (s Stored) Value() string {
	if !s.HasTag() {
		return string(s)
	}
	return string(s[:len(s)-TagLen])
}

// HasTag tells whether the stored value was written by an attempt of a group.
func (s Stored) HasTag() bool {
	if len(s) < TagLen {
		return false
	}
	tag := s[len(s)-TagLen:]
	if tag[:len(tagMark)] != tagMark {
		return false
	}
	for i := len(tagMark); i < len(tag); i++ {
		if !tagChar(tag[i]) {
			return false
		}
	}
	return true
}

// tagChar tells whether c is a character of the alphabet that tags are made of.
func tagChar(c byte) bool {
	return 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-' || c == '_'
}
