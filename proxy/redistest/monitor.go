package redistest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Seen is one command that a server carried out.
type Seen struct {
	// From is the client's address: host:port, "unix:" and the socket's path, or
	// "lua" for a command called by a script.
	From string
	Args []string
}

// Monitor records the commands that a server carries out, scripts' calls
// included, from the moment Server.Monitor returns.
type Monitor struct {
	server *Server
	client *Client
	ended  chan struct{}

	mu   sync.Mutex
	seen []Seen
	err  error
}

// maxSeen bounds what a Monitor keeps; commands over it are a failure.
const maxSeen = 200_000

// Monitor starts recording. It ends with the test, or with the server.
func (s *Server) Monitor() *Monitor {
	s.tb.Helper()
	m := &Monitor{server: s, client: s.Client(), ended: make(chan struct{})}
	if reply, err := m.client.Do("MONITOR"); err != nil || reply != Status("OK") {
		s.tb.Fatalf("MONITOR: %v, %v", reply, err)
	}
	m.client.Timeout = 24 * time.Hour // a quiet server is no error; the test's end closes the connection
	go m.record()
	s.tb.Cleanup(func() {
		_ = m.client.Close()
		<-m.ended
	})
	return m
}

func (m *Monitor) record() {
	defer close(m.ended)
	for {
		reply, err := m.client.Receive()
		var seen Seen
		if err == nil {
			seen, err = parseSeen(fmt.Sprint(reply))
		}
		m.mu.Lock()
		if err == nil && len(m.seen) == maxSeen {
			err = fmt.Errorf("more than %d commands", maxSeen)
		}
		if err == nil {
			m.seen = append(m.seen, seen)
		}
		m.err = err
		m.mu.Unlock()
		if err != nil {
			return
		}
	}
}

var markers atomic.Int64

// Commands are all commands that the server has carried out up to this call,
// without the ones that this package sent to ask.
func (m *Monitor) Commands() []Seen {
	tb := m.server.tb
	tb.Helper()
	// The record is complete once it shows a command sent now.
	marker := fmt.Sprintf("redistest-marker-%d", markers.Add(1))
	m.server.MustDo("ECHO", marker)
	var commands []Seen
	var err error
	complete := poll(processPatience, func() bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		commands, err = slices.Clone(m.seen), m.err
		return err != nil || slices.ContainsFunc(commands, func(s Seen) bool { return slices.Contains(s.Args, marker) })
	})
	if err != nil || !complete {
		tb.Fatalf("MONITOR of %s: complete %t, %v", m.server.Addr(), complete, err)
	}
	return slices.DeleteFunc(commands, func(s Seen) bool {
		return len(s.Args) == 2 && strings.HasPrefix(s.Args[1], "redistest-marker-")
	})
}

// Count is the number of commands of that name, in any case, that clients sent
// with the given argument anywhere behind it. What scripts called doesn't count.
func (m *Monitor) Count(name, arg string) int {
	m.server.tb.Helper()
	n := 0
	for _, s := range m.Commands() {
		if s.From != "lua" && strings.EqualFold(s.Args[0], name) && slices.Contains(s.Args[1:], arg) {
			n++
		}
	}
	return n
}

// parseSeen reads a line such as
//
//	1700000000.123456 [0 127.0.0.1:40000] "SET" "a" "b\x00"
func parseSeen(line string) (Seen, error) {
	bad := fmt.Errorf("not a line of MONITOR: %q", line)
	_, rest, ok := strings.Cut(line, " [")
	if !ok {
		return Seen{}, bad
	}
	where, rest, ok := strings.Cut(rest, "] ")
	if !ok {
		return Seen{}, bad
	}
	_, from, _ := strings.Cut(where, " ")
	seen := Seen{From: from}
	for rest != "" {
		// Redis quotes as Go does.
		quoted, err := strconv.QuotedPrefix(rest)
		if err != nil {
			return Seen{}, bad
		}
		arg, err := strconv.Unquote(quoted)
		if err != nil {
			return Seen{}, bad
		}
		seen.Args = append(seen.Args, arg)
		rest = strings.TrimPrefix(rest[len(quoted):], " ")
	}
	if len(seen.Args) == 0 {
		return Seen{}, bad
	}
	return seen, nil
}
