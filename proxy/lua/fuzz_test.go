package lua

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"
)

// FuzzScript holds that any text is refused or run to its end in bounded time, and
// never panics.
func FuzzScript(f *testing.F) {
	file, err := os.ReadFile("testdata/scripts.txt")
	if err != nil {
		f.Fatal(err)
	}
	for _, line := range strings.Split(string(file), "\n") {
		f.Add(strings.ReplaceAll(line, `\n`, "\n"))
	}
	for _, text := range bombs {
		f.Add(text)
	}
	// Smaller than the defaults, so that more texts are tried.
	limits := Limits{MaxSource: 4096, MaxSteps: 50_000, MaxTime: 20 * time.Millisecond, MaxMemory: 4 << 20, MaxString: 64 << 10}
	f.Fuzz(func(t *testing.T, text string) {
		start := time.Now()
		s, err := Compile(text, limits)
		if err == nil {
			reply, err := s.Run(context.Background(), []string{"key"}, []string{"arg"}, newMapHost())
			if err == nil && reply == nil {
				t.Error("no reply and no error")
			}
			if err != nil && strings.Contains(err.Error(), "cannot be run") {
				t.Errorf("a panic: %q", text)
			}
		} else if strings.Contains(err.Error(), "cannot be compiled") {
			t.Logf("the parser panics: %q", text)
		}
		if took := time.Since(start); took > 2*time.Second {
			t.Errorf("took %v: %q", took, text)
		}
	})
}

// FuzzPattern holds that the pattern matcher neither panics nor runs on.
func FuzzPattern(f *testing.F) {
	f.Add("hello world", "(%w+) (%w+)", "%2 %1")
	f.Add("aaa", "a-b", "")
	f.Add("[x]", "%[(.-)%]", "%%")
	f.Add("x", "%f[%w]%b()", "%0")
	s, err := Compile(`local s, p, r = ARGV[1], ARGV[2], ARGV[3]
		local out = {pcall(string.find, s, p)}
		out[#out + 1] = tostring(pcall(string.match, s, p))
		out[#out + 1] = tostring(pcall(string.gsub, s, p, r))
		pcall(function() for w in s:gmatch(p) do out[#out + 1] = w end end)
		out[#out + 1] = tostring(pcall(string.format, p, s, 1, 2.5, r))
		return out`, Limits{MaxSteps: 100_000})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, subject, pattern, replacement string) {
		_, err := s.Run(context.Background(), nil, []string{subject, pattern, replacement}, newMapHost())
		if err != nil && strings.Contains(err.Error(), "cannot be run") {
			t.Errorf("a panic for %q %q %q", subject, pattern, replacement)
		}
	})
}
