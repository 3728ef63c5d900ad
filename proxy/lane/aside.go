package lane

import (
	"context"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"

	"redlockproxy/quorum"
)

// scanPage is about how many keys a page of Scan has. Reading as many takes a backend
// a millisecond or two, for which it answers nobody else.
const scanPage = 500

// Ask implements admission.Member. It goes by a connection of its own.
func (l *Lane) Ask(ctx context.Context, ops []quorum.Op) ([]quorum.Answer, error) {
	d := l.dialectNow()
	cmds := make([]*redis.Cmd, len(ops))
	pipe := l.aside.Pipeline()
	for i, op := range ops {
		cmds[i] = redis.NewCmd(ctx, d.encode(op)...)
		_ = pipe.Process(ctx, cmds[i]) // only queues it
	}
	trouble := exec(ctx, pipe)
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

// Scan implements admission.Member.
func (l *Lane) Scan(ctx context.Context, cursor uint64) ([]quorum.Key, uint64, error) {
	cmd := redis.NewCmd(ctx, "SCAN", strconv.FormatUint(cursor, 10), "COUNT", scanPage)
	_ = l.aside.Process(ctx, cmd)
	reply, err := cmd.Slice()
	if err != nil {
		return nil, 0, fmt.Errorf("backend %s: %w", l.cfg.Name, err)
	}
	if len(reply) != 2 {
		return nil, 0, errUnexpected
	}
	text, _ := reply[0].(string)
	next, err := strconv.ParseUint(text, 10, 64)
	list, ok := reply[1].([]any)
	if err != nil || !ok {
		return nil, 0, errUnexpected
	}
	keys := make([]quorum.Key, 0, len(list))
	for _, k := range list {
		key, _ := k.(string)
		keys = append(keys, quorum.Key(key))
	}
	return keys, next, nil
}

// dialectNow is that of the process that was met last.
func (l *Lane) dialectNow() dialect {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.greeting.dialect()
}
