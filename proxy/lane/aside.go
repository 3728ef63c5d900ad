package lane

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"redlockproxy/quorum"
)

// Ask implements admission.Member. It goes by a connection of its own.
func (l *Lane) Ask(ctx context.Context, ops []quorum.Op) ([]quorum.Answer, error) {
	d := l.dialectNow()
	cmds := make([]*redis.Cmd, len(ops))
	pipe := l.aside.Pipeline()
	for i, op := range ops {
		cmds[i] = redis.NewCmd(ctx, d.encode(op)...)
		_ = pipe.Process(ctx, cmds[i]) // only queues it
	}
	clock := pipe.Do(ctx, "TIME")
	asked := sinceBoot()
	trouble := exec(ctx, pipe)
	if shown, err := shownBy(clock); trouble == nil && err == nil { // a user that may not ask has no clock that is watched
		l.standing.shows(shown, asked, sinceBoot())
	}
	answers := make([]quorum.Answer, len(ops))
	for i, op := range ops {
		stamp(cmds[i], trouble)
		if isNoScript(cmds[i].Err()) {
			// The backend has lost the script, and has done nothing for this.
			cmds[i] = redis.NewCmd(ctx, withText(cmds[i].Args())...)
			_ = l.aside.Process(ctx, cmds[i])
		}
		answers[i], _ = d.decode(op, cmds[i], 0)
		if err := answers[i].Err; err != nil {
			return nil, fmt.Errorf("backend %s: %w", l.cfg.Name, err)
		}
	}
	return answers, nil
}

// dialectNow is that of the process that was met last.
func (l *Lane) dialectNow() dialect {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.greeting.dialect()
}
