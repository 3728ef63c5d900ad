package guard

import (
	"bytes"
	"io"
	"math/rand/v2"
	"testing"
)

// FuzzGuard holds G1, G2 and G3 for any bytes.
//
// Memory is watched at each read of a run in small pieces; twice what arrived is
// what append may set aside, and a word of an inline command becomes longer by its
// length.
func FuzzGuard(f *testing.F) {
	for _, s := range []string{
		"*1\r\n$4\r\nPING\r\n", "PING\r\n", "*1\r\n$9223372036854775807\r\n", "*2147483648\r\n",
		"SET k \"\\x0a\" 'b\\''\r\n", "*0\r\n\r\n*-1\r\n*1\r\n$0\r\n\r\n", "*1\r\n$-1\r\n", "POST / HTTP/1.1\r\n",
		"*2\r\n$3\r\nGET\r\n$1\r\nk\r\n*11\r\n", "'a\"\r\n", "*1\r\n$16385\r\n",
	} {
		f.Add([]byte(s), uint64(1), false)
		f.Add([]byte(s), uint64(2), true)
	}
	f.Fuzz(func(t *testing.T, data []byte, seed uint64, auth bool) {
		if len(data) > 10_000 {
			return // watching memory takes quadratic time
		}
		limits := Limits{AuthRequired: auth}
		commands, written, _ := released(limits, [][]byte{data})
		if raw := reread(t, commands); raw != commands {
			t.Fatalf("redcon read %q of %q", raw, commands)
		}
		rng := rand.New(rand.NewPCG(seed, 2))
		for _, chunks := range [][][]byte{bytes.SplitAfter(data, nil), cuts(rng, string(data))} {
			again, w, _ := released(limits, chunks)
			if again != commands || w != written {
				t.Fatalf("in %d chunks: %q %q, at once: %q %q", len(chunks), again, w, commands, written)
			}
		}
		fake := &fakeConn{chunks: bytes.SplitAfter(data, nil)}
		c := newConn(Listen(nil, limits, Hooks{}), fake)
		fake.onRead = func() {
			received := len(data) - len(bytes.Join(fake.chunks, nil))
			if kept := cap(c.parser.out); kept > 2*received+keepBytes {
				t.Errorf("%d bytes kept of %d received", kept, received)
			}
		}
		io.Copy(io.Discard, struct{ io.Reader }{c})
	})
}
