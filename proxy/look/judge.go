package look

import (
	"context"
	"crypto/rand"
	"time"

	"redlockproxy/quorum"
)

// seen is a backend that answers with what was seen on a real one, so that the group's
// own rules, and no second version of them, say what it would answer.
type seen struct {
	index int
	held  Held
}

var _ quorum.Backend = seen{}

// Send implements quorum.Backend. Beside reads there is only the raising of a counter
// that backends disagree on, which a real one would do, and which nothing comes of here.
func (s seen) Send(call *quorum.Call) {
	answer := quorum.Answer{Vote: quorum.Failed, Unsent: true}
	if s.held.Kind != Unknown && s.held.votes {
		answer = quorum.Answer{Vote: quorum.Granted, Held: []quorum.Held{s.held.held}}
	}
	call.Round.Vote(s.index, answer)
}

// Owe implements quorum.Backend.
func (seen) Owe(quorum.Debt) {}

// judge says what the group would answer.
func (l *Looker) judge(ctx context.Context, k *Key) {
	backends := make([]quorum.Backend, len(k.Held))
	present := 0
	for i, h := range k.Held {
		backends[i] = seen{i, h}
		if h.Kind == String || h.Kind == Other {
			present++
		}
	}
	k.Holders = present
	k.Answer = Undecided
	// Every answer is there at once, so no limit matters, and there is nothing to try
	// again.
	group, err := quorum.NewGroup(backends, quorum.Config{
		VoteLimit: time.Second, AnswerWithin: time.Second, Attempts: 1, MaxTTL: time.Hour, Random: rand.Reader,
	})
	if err != nil {
		return
	}
	held, err := group.Read(ctx, []quorum.Key{quorum.Key(k.Name)}, true)
	if err != nil {
		return
	}
	h := held[0]
	switch {
	case h.Kind == quorum.Nothing && present == 0:
		k.Answer = Free
		return
	case h.Kind == quorum.Nothing:
		k.Answer = Leftover
		return
	}
	k.Answer, k.Validity = Taken, -1
	if h.TTL != quorum.NoTTL {
		k.Validity = h.TTL.Milliseconds()
	}
	if h.Kind == quorum.String {
		k.Token = l.hash(h.Value())
	}
	k.Holders = 0
	for i := range k.Held {
		if o := k.Held[i].held; k.Held[i].Kind != Unknown && o.Kind == h.Kind && o.Stored == h.Stored {
			k.Held[i].Agreed = true
			k.Holders++
		}
	}
}
