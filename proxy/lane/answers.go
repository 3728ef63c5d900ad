package lane

import (
	"context"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"redlockproxy/quorum"
)

// askAgain delivers the answers that are whole. For the others it sends a second
// pipeline, with a command for each: again where the backend has not done anything for
// the first (it did not have the script, or refused what was put together for another
// item's sake), and a look at keys that could not be incremented.
func (s *session) askAgain(ctx context.Context) error {
	var again []int
	var pipe redis.Pipeliner
	var broken error
	for i, it := range s.items {
		cmd := s.cmd(i)
		answer, more := s.dialect.decode(s.ops[i], cmd, s.places[i].part)
		if broken = lost(broken, cmd); broken == nil && (more || refused(cmd)) {
			if pipe == nil {
				pipe = s.conn.Pipeline()
			}
			again = append(again, i)
			continue
		}
		s.deliver(it, answer)
	}
	if pipe == nil {
		return broken
	}
	second := make([]*redis.Cmd, len(again))
	for n, i := range again {
		if refused(s.cmd(i)) {
			second[n] = redis.NewCmd(ctx, withText(s.words(i))...)
		} else {
			second[n] = redis.NewCmd(ctx, "GET", string(s.ops[i].(quorum.Increment).Key))
		}
		_ = pipe.Process(ctx, second[n])
	}
	var trouble error
	if broken == nil {
		end := s.addLast(ctx, pipe)
		trouble = exec(ctx, pipe)
		for _, cmd := range second {
			s.listen(cmd)
		}
		s.counts = s.see(end) && s.counts
	}
	for n, i := range again {
		stamp(second[n], trouble)
		broken = lost(broken, second[n])
		s.deliver(s.items[i], s.second(s.ops[i], s.cmd(i), second[n]))
	}
	return broken
}

// cmd is the command that carried an item.
func (s *session) cmd(i int) sent { return s.sent[s.places[i].command] }

// second is the answer to an item that took two commands.
func (s *session) second(op quorum.Op, first, cmd sent) quorum.Answer {
	if refused(first) {
		answer, _ := s.dialect.decode(op, cmd, 0)
		return answer
	}
	answer, _ := s.dialect.decode(op, first, 0)
	look, _ := s.dialect.decode(quorum.Read{Keys: []quorum.Key{op.(quorum.Increment).Key}}, cmd, 0)
	if look.Vote != quorum.Granted {
		return quorum.Answer{Vote: quorum.Failed, Unsent: true, Err: look.Err}
	}
	answer.Held = look.Held
	return answer
}

// deliver hands an answer to its round, or sees that a debt is not forgotten.
func (s *session) deliver(it item, answer quorum.Answer) {
	if it.call == nil {
		if answer.Vote == quorum.Failed {
			s.lane.unpaid(it.debt)
		} else {
			s.lane.paid(it.debt)
		}
		return
	}
	if why := refusesWrites(answer.Err); why != "" {
		s.lane.warn(WarnWrites, why)
	}
	if answer.Vote != quorum.Failed && !(s.counts && s.right.covers(it.call.Op, answer)) {
		answer = quorum.Answer{Vote: quorum.Failed, Err: errLearner}
	}
	if answer.Err != nil {
		answer.Err = fmt.Errorf("backend %s: %w", s.lane.cfg.Name, answer.Err)
	}
	s.lane.vote(it.call, answer)
}

// lost is the first trouble with the connection itself, as opposed to an error that
// the backend replied; but a reply that says that the backend is not what it was is
// trouble too. The next greeting finds out what it is now.
func lost(before error, cmd sent) error {
	err := cmd.Err()
	if before != nil || err == nil || isReply(err) && !turned(err) {
		return before
	}
	return err
}

// listen takes a reply that only a replica gives: it decides nothing itself, and has
// perhaps been one for the whole pipeline. To be called before see.
func (s *session) listen(cmd sent) {
	if isReplica(cmd.Err()) {
		s.replica = true
		s.lane.standing.follows()
	}
}

func isReplica(err error) bool {
	return err != nil && (strings.HasPrefix(err.Error(), "READONLY") || strings.HasPrefix(err.Error(), "MASTERDOWN"))
}

// turned tells whether a backend has become something that must not be used: a
// replica, a server that reads its data again, one that wants another login.
func turned(err error) bool {
	word, _, _ := strings.Cut(err.Error(), " ")
	switch word {
	case "READONLY", "LOADING", "MASTERDOWN", "NOAUTH":
		return true
	}
	return false
}
