package lane

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"redlockproxy/quorum"
)

// An aside is a way to the backend for what must not wait in the lane's queue, or keep
// others waiting there. It has no connection while it is not used.
type aside struct {
	cfg Config

	mu     sync.RWMutex // held for reading while the client is used
	client *redis.Client
	used   atomic.Int64 // Unix nanoseconds
}

// asideIdle is how long the connection is kept after its last use.
const asideIdle = 5 * time.Second

// do gives f the client.
func (a *aside) do(f func(*redis.Client)) {
	a.mu.RLock()
	if a.client == nil {
		a.mu.RUnlock()
		a.mu.Lock()
		if a.client == nil {
			a.client = redis.NewClient(options(a.cfg))
		}
		a.mu.Unlock()
		a.mu.RLock()
	}
	defer a.mu.RUnlock()
	if a.client == nil {
		return // closed in between: its caller's commands have no answers
	}
	a.used.Store(time.Now().UnixNano())
	f(a.client)
	a.used.Store(time.Now().UnixNano())
}

// rest closes the connection if it has not been used for a while.
func (a *aside) rest() {
	if time.Now().UnixNano()-a.used.Load() < int64(asideIdle) || !a.mu.TryLock() {
		return
	}
	defer a.mu.Unlock()
	if a.client != nil {
		_ = a.client.Close() // nothing is under way
		a.client = nil
	}
}

func (a *aside) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.client != nil {
		_ = a.client.Close()
		a.client = nil
	}
}

// Ask implements admission.Member. It goes by a connection of its own.
func (l *Lane) Ask(ctx context.Context, ops []quorum.Op) ([]quorum.Answer, error) {
	d := l.dialectNow()
	cmds := make([]*redis.Cmd, len(ops))
	trouble := errDown
	l.aside.do(func(client *redis.Client) {
		pipe := client.Pipeline()
		for i, op := range ops {
			cmds[i] = redis.NewCmd(ctx, d.encode(op)...)
			_ = pipe.Process(ctx, cmds[i]) // only queues it
		}
		clock := pipe.Do(ctx, "TIME")
		asked := sinceBoot()
		if trouble = exec(ctx, pipe); trouble == nil {
			if shown, err := shownBy(clock); err == nil { // a user that may not ask has no clock that is watched
				l.standing.shows(shown, asked, sinceBoot())
			}
			withTexts(ctx, client, cmds)
		}
	})
	if trouble != nil {
		l.aside.close() // a pool that could not dial goes on trying
	}
	answers := make([]quorum.Answer, len(ops))
	for i, op := range ops {
		if cmds[i] == nil {
			return nil, fmt.Errorf("backend %s: %w", l.cfg.Name, trouble)
		}
		stamp(cmds[i], trouble)
		answers[i], _ = d.decode(op, cmds[i], 0)
		if err := answers[i].Err; err != nil {
			if isReplica(cmds[i].Err()) {
				l.standing.follows()
			}
			return nil, fmt.Errorf("backend %s: %w", l.cfg.Name, err)
		}
	}
	return answers, nil
}

// withTexts sends the commands again whose script the backend has lost: it has done
// nothing for them.
func withTexts(ctx context.Context, client *redis.Client, cmds []*redis.Cmd) {
	for i, cmd := range cmds {
		if isNoScript(cmd.Err()) {
			cmds[i] = redis.NewCmd(ctx, withText(cmd.Args())...)
			_ = client.Process(ctx, cmds[i]) // its error is in it
		}
	}
}

// dialectNow is that of the process that was met last.
func (l *Lane) dialectNow() dialect {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.greeting.dialect()
}
