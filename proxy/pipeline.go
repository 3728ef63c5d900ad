package proxy

import (
	"context"
	"runtime"

	"redlockproxy/resp"
)

// A pipeline is what a client sent together. Commands that name different keys run
// side by side; one whose key is in flight on this connection waits for that one, and
// one that names no key, a script that may touch others than it names, or the
// connection's own transaction, waits for all, and all behind it for that. Replies
// go out in the order of the commands, as soon as they are ready.
type pipeline struct {
	c   *session
	ctx context.Context

	slots []*slot                  // started and not yet written, oldest first
	last  map[string]chan struct{} // by key: the end of the last command on it

	out    []byte
	grants []promise // in what is in out
	broken bool
}

// A promise is a grant whose reply ends at a place in what is to be written.
type promise struct {
	*grant
	end int
}

// A slot is the place of one reply.
type slot struct {
	done   chan struct{}
	answer answer
	proto  resp.Proto
}

// maxChunk is how many bytes of replies are gathered before they are written, even
// if more are ready: enough to save system calls, little enough to hold for each of
// ten thousand clients.
const maxChunk = 64 << 10

// keepOut is how much memory for replies a client keeps while it is idle: enough for
// those to locks, little for each of ten thousand clients.
const keepOut = 256

// start begins one command. It blocks while too many are in flight, so that a
// client that sends without reading is slowed down.
func (p *pipeline) start(args []string) {
	for len(p.slots) >= p.c.s.cfg().Server.PipelineDepth {
		p.next()
	}
	s := &slot{proto: p.c.proto}
	p.slots = append(p.slots, s)
	a := p.c.dispatch(p.ctx, args, func(keys []string, f func() answer) {
		if len(keys) == 0 {
			p.wait(s)
			if f != nil {
				s.answer = f()
			}
			return
		}
		p.launch(s, keys, f)
	})
	if s.done == nil && s.answer.reply == nil {
		s.answer = a
	}
	s.proto = p.c.proto // as dispatch left it: HELLO's own reply is in the protocol that it chose
}

// launch runs f when the commands before it on the same keys are done.
func (p *pipeline) launch(s *slot, keys []string, f func() answer) {
	s.done = make(chan struct{})
	if p.last == nil {
		p.last = make(map[string]chan struct{})
	}
	var before []chan struct{}
	for _, k := range keys {
		if ch, ok := p.last[k]; ok && ch != s.done {
			before = append(before, ch)
		}
		p.last[k] = s.done
	}
	go func() {
		defer close(s.done)
		for _, ch := range before {
			<-ch
		}
		s.answer = f()
	}()
}

// wait returns when all that was started before s is done.
func (p *pipeline) wait(s *slot) {
	for _, o := range p.slots {
		if o != s && o.done != nil {
			<-o.done
		}
	}
}

// next writes the oldest reply. What was gathered goes out before a wait.
func (p *pipeline) next() {
	s := p.slots[0]
	p.slots = p.slots[1:]
	if s.done != nil {
		// Backends answer many commands at once: those that can end now go first, so
		// that their replies are not written one by one.
		runtime.Gosched()
		select {
		case <-s.done:
		default:
			p.flush()
			<-s.done
		}
	}
	p.write(s.answer, s.proto)
}

// finish waits for all that was started and writes the rest.
func (p *pipeline) finish() bool {
	for len(p.slots) > 0 {
		p.next()
	}
	return p.flush()
}

// write puts a reply into the next chunk.
func (p *pipeline) write(a answer, proto resp.Proto) {
	reply, given := p.c.s.finish(a, p.gone)
	p.out = resp.Append(p.out, reply, proto)
	if given {
		p.grants = append(p.grants, promise{a.grant, len(p.out)})
	}
	if len(p.out) >= maxChunk {
		p.flush()
	}
}

func (p *pipeline) gone() bool { return p.broken || p.c.gone() }

// flush writes what was gathered. A client that can't be told what it holds does not
// hold it; one that was told, before the rest could not be written, does.
func (p *pipeline) flush() bool {
	if len(p.out) > 0 && !p.broken {
		if n, err := p.c.conn.Write(p.out); err != nil {
			p.broken = true
			for _, g := range p.grants {
				if g.end > n {
					p.c.s.undo(g.locks)
				}
			}
		}
	}
	p.out, p.grants = p.out[:0], p.grants[:0]
	if cap(p.out) <= keepOut {
		p.c.out = p.out
	}
	return !p.broken
}
