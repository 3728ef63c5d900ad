package proxy

import (
	"testing"

	"redlockproxy/quorum"
)

func TestScriptThatIsKnownCostsNoOthersTheirGuess(t *testing.T) {
	x := newScripts(nil, 2)
	learn := func(digest string) {
		x.learn(digest, quorum.Transaction{Wrote: true, Seen: quorum.Assumption{Kind: quorum.AssumeNothing}}, nil)
	}
	for _, digest := range []string{"a", "b", "a", "b", "a"} {
		learn(digest)
	}
	if len(x.guesses) != 2 {
		t.Errorf("%d of 2 guesses are left", len(x.guesses))
	}
	if learn("c"); len(x.guesses) > 2 {
		t.Errorf("%d guesses of at most 2", len(x.guesses))
	}
}
