package quorum

import (
	"crypto/rand"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"
	"testing/iotest"
)

// tagPattern is what a stored value with a tag looks like, said another way than
// the code says it.
var tagPattern = regexp.MustCompile(`(?s)^(.*)~rl:[A-Za-z0-9_-]{16}\z`)

const someTag = "~rl:AZaz09-_AAAAAAAA"

func TestTaggedValueComesBack(t *testing.T) {
	for _, value := range []string{"", "v", "token-1", someTag, "v" + someTag, "~rl:", "\x00\r\n\xff", strings.Repeat("x", 1<<16)} {
		stored, err := Tagged(value, rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		if !stored.HasTag() || stored.Value() != value || len(stored) != len(value)+TagLen {
			t.Errorf("%.40q became %.80q, and that %.40q", value, stored, stored.Value())
		}
		if !strings.HasPrefix(string(stored), value) {
			t.Errorf("%.40q is not in front of its tag: %.80q", value, stored)
		}
	}
}

func TestTagsDiffer(t *testing.T) {
	const n = 10000
	seen := make(map[Stored]bool, n)
	for range n {
		stored, err := Tagged("v", rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		if seen[stored] {
			t.Fatalf("%q twice", stored)
		}
		seen[stored] = true
	}
}

// Every random bit must matter, else there were fewer of them than promised.
func TestEveryRandomBitIsInTheTag(t *testing.T) {
	seen := map[Stored]bool{}
	var raw [12]byte
	add := func() {
		stored, err := Tagged("", strings.NewReader(string(raw[:])))
		if err != nil {
			t.Fatal(err)
		}
		seen[stored] = true
	}
	add()
	for bit := range 96 {
		raw[bit/8] ^= 1 << (bit % 8)
		add()
		raw[bit/8] ^= 1 << (bit % 8)
	}
	if len(seen) != 97 {
		t.Errorf("97 different sources of 96 bits gave %d tags", len(seen))
	}
}

func TestTagsUseTheirWholeAlphabet(t *testing.T) {
	seen := map[byte]bool{}
	for range 1000 {
		stored, err := Tagged("", rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		tag, found := strings.CutPrefix(string(stored), "~rl:")
		if !found || len(tag) != 16 {
			t.Fatalf("tag %q", stored)
		}
		for i := range len(tag) {
			seen[tag[i]] = true
		}
	}
	// Of 16,000 characters, one of 64 is missing once in 10^107 runs.
	if len(seen) != 64 {
		t.Errorf("%d characters in use, want 64", len(seen))
	}
	for c := range 256 {
		if tagChar(byte(c)) != seen[byte(c)] {
			t.Errorf("character %q: of the alphabet %v, in use %v", byte(c), tagChar(byte(c)), seen[byte(c)])
		}
	}
}

func TestWithoutRandomBytesThereIsNoTag(t *testing.T) {
	broken := errors.New("broken")
	for _, random := range []io.Reader{iotest.ErrReader(broken), io.MultiReader(strings.NewReader("only eleven"), iotest.ErrReader(broken))} {
		if stored, err := Tagged("v", random); !errors.Is(err, broken) || stored != "" {
			t.Errorf("stored %q, error %v", stored, err)
		}
	}
	if _, err := Tagged("v", strings.NewReader("only eleven")); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("error %v", err)
	}
	if _, err := Tagged("v", iotest.OneByteReader(strings.NewReader("twelve bytes"))); err != nil {
		t.Errorf("from a source of single bytes: %v", err)
	}
}

func TestWhatIsATag(t *testing.T) {
	for text, want := range map[string]string{
		"":                          "",
		"v":                         "v",
		someTag:                     "",
		"v" + someTag:               "v",
		someTag + someTag:           someTag,
		someTag + "v":               someTag + "v",
		someTag[1:]:                 someTag[1:],
		someTag[:19]:                someTag[:19],
		"v" + someTag[:19]:          "v" + someTag[:19],
		"v" + someTag + "A":         "v" + someTag + "A",
		"v" + someTag + "\n":        "v" + someTag + "\n",
		"v~RL:AAAAAAAAAAAAAAAA":     "v~RL:AAAAAAAAAAAAAAAA",
		"v~rl;AAAAAAAAAAAAAAAA":     "v~rl;AAAAAAAAAAAAAAAA",
		"v~rl:AAAAAAAAAAAAAAA=":     "v~rl:AAAAAAAAAAAAAAA=",
		"v~rl:AAAAAAAAAAAAAAA+":     "v~rl:AAAAAAAAAAAAAAA+",
		"v~rl:/AAAAAAAAAAAAAAA":     "v~rl:/AAAAAAAAAAAAAAA",
		"v~rl:AAAAAAA\x00AAAAAAAA":  "v~rl:AAAAAAA\x00AAAAAAAA",
		"v~rl:AAAAAAAAAAAAAA\u00e9": "v~rl:AAAAAAAAAAAAAA\u00e9",
		"v\x00\r\n" + someTag:       "v\x00\r\n",
	} {
		stored := Stored(text)
		if got := stored.Value(); got != want || stored.HasTag() != (want != text) {
			t.Errorf("%q: value %q, tag %v; want %q", stored, got, stored.HasTag(), want)
		}
	}
}

func FuzzStoredValue(f *testing.F) {
	for _, seed := range []string{"", "v", someTag, "v" + someTag, "v" + someTag + "\n", someTag + someTag, "~rl:", "\xff" + someTag} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		want, has := s, false
		if m := tagPattern.FindStringSubmatch(s); m != nil {
			want, has = m[1], true
		}
		if stored := Stored(s); stored.HasTag() != has || stored.Value() != want {
			t.Errorf("%q: value %q, tag %v; want %q, %v", s, stored.Value(), stored.HasTag(), want, has)
		}
		stored, err := Tagged(s, rand.Reader)
		if err != nil || !stored.HasTag() || stored.Value() != s {
			t.Errorf("%q became %q, and that %q; error %v", s, stored, stored.Value(), err)
		}
	})
}
