package proxy

import (
	"context"
	"crypto/rand"
	"testing"
	"time"
	"unsafe"

	"github.com/tidwall/redcon"

	"redlockproxy/conf"
	"redlockproxy/quorum"
)

// An empty backend grants every read, and holds nothing.
type empty struct{ debtor }

func (*empty) Send(call *quorum.Call) {
	call.Round.Vote(0, quorum.Answer{Vote: quorum.Granted, Held: make([]quorum.Held, 1)})
}

// A command's words are pieces of one string, of which each holds all in memory.
func TestWhatAClientKeepsDoesNotHoldItsWholeCommand(t *testing.T) {
	group, err := quorum.NewGroup([]quorum.Backend{&empty{}}, quorum.Config{
		VoteLimit: time.Second, AnswerWithin: time.Second, Attempts: 1, MaxTTL: time.Minute, Random: rand.Reader,
	})
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{group: group}
	s.settings.Store(&conf.Config{Server: conf.Server{MaxCommandBytes: 1000}})
	c := &session{s: s}
	args := words(redcon.Command{Args: [][]byte{[]byte("first"), []byte("second")}})
	c.subscribe("subscribe", args)
	c.setName(args[1])
	c.setInfo("LIB-NAME", args[1])
	c.setInfo("LIB-VER", args[1])
	c.watch(context.Background(), args[1:])
	for what, kept := range map[string]string{
		"channel": c.listens.channels[0], "name": c.name, "library": c.library, "version": c.version, "watched key": string(c.multi.watched[0].key),
	} {
		if kept != args[1] || unsafe.StringData(kept) == unsafe.StringData(args[1]) {
			t.Errorf("the %s %q is a piece of the command", what, kept)
		}
	}
}
