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
	return withRandom(value+tagMark, random)
}

// withRandom adds tagChars random characters to a text.
func withRandom(text string, random io.Reader) (Stored, error) {
	var raw [tagChars * 3 / 4]byte
	if _, err := io.ReadFull(random, raw[:]); err != nil {
		return "", fmt.Errorf("no random bytes for a tag: %w", err)
	}
	b := make([]byte, len(text)+tagChars)
	base64.RawURLEncoding.Encode(b[copy(b, text):], raw[:])
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

// blockMark begins a block, blockLen is its length.
const (
	blockMark = "~rl:block:"
	blockLen  = len(blockMark) + tagChars
)

// NewBlock is a stored value that belongs to nobody. It stands for a value that a
// backend has lost and that can't be told any more: with it the backend refuses whoever
// wants the key, and knows nothing about who has it. No client can know its random
// part, and no two are the same, so that blocks never agree in a quorum's reading.
func NewBlock(random io.Reader) (Stored, error) { return withRandom(blockMark, random) }

// IsBlock tells whether the stored value is a block.
func (s Stored) IsBlock() bool {
	return len(s) == blockLen && s[:len(blockMark)] == blockMark
}
