package guard

import (
	"strings"
	"testing"

	"github.com/tidwall/redcon"
)

func TestLargeCommandsOfAllClientsAreBoundedAndSmallOnesFree(t *testing.T) {
	s := serve(t, "tcp", nil, Limits{Large: 100 << 10}, nil)
	begun := "*2\r\n$4\r\nECHO\r\n$60000\r\n" + strings.Repeat("x", 59_999)
	first := s.dial(t)
	exchange(t, first, begun, 0)
	// Once there is room for all of it, it needs no more.
	whole := int64(len(begun) + len("x\r\n") - keepBytes)
	s.until(t, "the first large command is there", func() bool { return s.large.bytes.Load() >= whole })
	const refusal = "-ERR Protocol error: too many large requests at the same time\r\n"
	if got := exchange(t, s.dial(t), begun+"x\r\n"+begun, manyBytes); !strings.HasSuffix(got, refusal) {
		t.Errorf("one large command too many: %.100q", got)
	}
	if got := exchange(t, s.dial(t), array("ECHO", strings.Repeat("x", 10_000)), 10_000); !strings.HasPrefix(got, "$10000\r\n") {
		t.Errorf("a small one beside it: %.100q", got)
	}
	if got := exchange(t, first, "x\r\n", 60_000); !strings.HasPrefix(got, "$60000\r\n") {
		t.Errorf("the first one: %.100q", got)
	}
	s.until(t, "nothing is held any more", func() bool { return s.large.bytes.Load() == 0 })
}

func TestLargeCommandIsHeldUntilItsReplyAndNotAfterItsConnection(t *testing.T) {
	working, goOn := make(chan struct{}), make(chan struct{})
	s := serve(t, "tcp", nil, Limits{}, func(_ *Conn, c redcon.Conn, _ [][]byte) {
		close(working)
		<-goOn
		c.WriteString("OK")
	})
	c := s.dial(t)
	exchange(t, c, array("ECHO", strings.Repeat("x", 100_000)), 0)
	<-working
	if n := s.large.bytes.Load(); n < 80_000 {
		t.Errorf("%d bytes held while the command is carried out", n)
	}
	_ = c.Close()
	close(goOn)
	s.until(t, "nothing is held any more", func() bool { return s.Clients() == 0 && s.large.bytes.Load() == 0 })
}
