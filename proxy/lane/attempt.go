package lane

import (
	"context"
	"strconv"
	"strings"
	"unsafe"

	"github.com/redis/go-redis/v9"
)

// sent is a command that was sent, and what was replied to it.
type sent interface {
	Args() []any
	Val() any
	Err() error
	SetErr(error)
	Result() (any, error)
}

// An attempt is the command of an acquisition. Its reply is taken as it is: mostly it is
// null, which go-redis makes an error of, and looks at twice with reflection. That would
// be the most expensive part of a vote.
type attempt struct {
	redis.RawCmd
	val any
	err error
}

// isAttempt tells whether the words are those of an acquisition.
func isAttempt(words []any) bool { return words[0] == "SET" }

func newAttempt(ctx context.Context, words []any) attempt {
	return attempt{RawCmd: *redis.NewRawCmd(ctx, words...)}
}

// read reads the reply. To be called once, when there is one or never will be.
func (a *attempt) read() {
	raw, err := a.RawCmd.Result()
	if a.val, a.err = nil, err; err == nil && len(raw) > 0 {
		// Nobody writes to raw any more, and the value in it may be large: no copy.
		a.val, a.err = parseReply(unsafe.String(&raw[0], len(raw)))
	}
}

func (a *attempt) Val() any             { return a.val }
func (a *attempt) Err() error           { return a.err }
func (a *attempt) SetErr(err error)     { a.err = err }
func (a *attempt) Result() (any, error) { return a.val, a.err }

// parseReply reads a whole reply of the second protocol that is a text, an error or null.
// Any other is given back as it is, and is no answer to an attempt.
func parseReply(raw string) (any, error) {
	line, rest, _ := strings.Cut(raw, "\r\n")
	switch {
	case line == "$-1" || line == "*-1":
		return nil, redis.Nil
	case line == "":
	case line[0] == '+':
		return line[1:], nil
	case line[0] == '-':
		return nil, replyError(line[1:])
	case line[0] == '$':
		if n, err := strconv.Atoi(line[1:]); err == nil && n >= 0 && n <= len(rest) {
			return rest[:n], nil
		}
	}
	return []byte(raw), nil
}

// replyError is an error that a backend replied.
type replyError string

func (e replyError) Error() string { return string(e) }

// RedisError implements redis.Error.
func (replyError) RedisError() {}

var (
	_ redis.Error = replyError("")
	_ sent        = (*attempt)(nil)
	_ sent        = (*redis.Cmd)(nil)
)
