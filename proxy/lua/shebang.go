package lua

import (
	"strings"

	"redlockproxy/resp"
)

// A Promise is what a script's first line says of its writes.
type Promise uint8

// The promises. A script without such a line may write, and may also be run by commands
// for scripts that don't.
const (
	Silent   Promise = iota // there is no such line
	Writes                  // it says nothing of writes
	NoWrites                // it has the flag no-writes
)

// shebang reads the line "#!lua flags=..." that a script may begin with since Redis 7, and
// returns the text with blanks in its place, which leaves all lines their numbers. Of the
// flags only no-writes means anything here: the others are about clusters, replicas and
// full memory.
func shebang(text string) (rest string, p Promise, err error) {
	if !strings.HasPrefix(text, "#!") {
		return text, Silent, nil
	}
	end := strings.IndexAny(text, "\n\x00")
	if end < 0 || text[end] != '\n' {
		return "", Silent, resp.ErrShebang
	}
	words := strings.Fields(text[:end])
	if words[0] != "#!lua" {
		return "", Silent, resp.ShebangEngine(words[0])
	}
	p = Writes
	for _, word := range words[1:] {
		flags, ok := strings.CutPrefix(word, "flags=")
		if !ok {
			return "", Silent, resp.ShebangOption(word)
		}
		if flags == "" {
			continue
		}
		for flag := range strings.SplitSeq(flags, ",") {
			switch flag {
			case "no-writes":
				p = NoWrites
			case "allow-oom", "allow-stale", "no-cluster", "allow-cross-slot-keys":
			default:
				return "", Silent, resp.ShebangFlag(flag)
			}
		}
	}
	return strings.Repeat(" ", end) + text[end:], p, nil
}
