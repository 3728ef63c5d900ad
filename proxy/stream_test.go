package proxy_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"redlockproxy/proxy/redistest"
)

// A stream is one sequence of commands of a comparison, sent in batches over one
// connection to the proxy and one to the Redis.
type stream struct {
	*comparison
	g    *generator
	name string

	proxy, redis *redistest.Client
	others       [2]*redistest.Client // another client of each
	servers      []*redistest.Client  // straight to each server, the one Redis first

	batch    [][]string // not sent yet
	queued   [][]string // what was queued since the last MULTI
	commands int
	barriers int
	recent   [][]string // the last commands, for the report; see history
	failures []string
}

// maxFailures is how many differences a stream reports before it gives up.
const maxFailures = 3

var errTooMany = errors.New("more differences are not shown")

func (c *comparison) open(seed uint64, i int) (*stream, error) {
	s := &stream{comparison: c, name: fmt.Sprintf("s%d ", i)}
	if i == 0 {
		s.name = "" // one stream has the empty key
	}
	s.g = newGenerator(rand.New(rand.NewPCG(seed, uint64(i))), s.name)
	addrs := append([]string{c.proxyAddr, c.redisAddr, c.proxyAddr, c.redisAddr}, c.sockets...)
	var clients []*redistest.Client
	var trouble error
	for _, a := range addrs {
		client, err := redistest.Dial(a)
		if err != nil {
			trouble = err
			break
		}
		client.Timeout = 30 * time.Second
		clients = append(clients, client)
	}
	s.servers = clients
	if trouble == nil {
		s.proxy, s.redis, s.others, s.servers = clients[0], clients[1], [2]*redistest.Client(clients[2:4]), clients[4:]
	}
	return s, trouble
}

func (s *stream) close() {
	for _, c := range append(s.servers, s.proxy, s.redis, s.others[0], s.others[1]) {
		if c != nil {
			_ = c.Close()
		}
	}
}

// run sends so many commands, and now and then compares all that is there.
func (s *stream) run(commands int) error {
	if err := s.state(); err != nil {
		return err
	}
	for s.commands < commands {
		step := s.step
		switch n := s.g.IntN(2000); {
		case n < 1:
			step = s.passing
		case n < 20:
			step = s.switchProtocol
		case n < 30:
			step = s.state
		}
		if err := step(); err != nil {
			return err
		}
	}
	return s.state()
}

// step is one command or one transaction.
func (s *stream) step() error {
	for _, args := range s.g.next() {
		s.commands++
		if args[0] == otherClient {
			if err := s.flush(); err != nil {
				return err
			}
			if err := s.exchange(s.others[0], s.others[1], [][]string{args[1:]}); err != nil {
				return err
			}
			continue
		}
		s.add(args...)
	}
	if s.g.IntN(20) == 0 || len(s.batch) > 60 {
		return s.flush()
	}
	return nil
}

func (s *stream) add(args ...string) { s.batch = append(s.batch, args) }

// flush sends the batch to both and compares what they answer.
func (s *stream) flush() error {
	batch := s.batch
	s.batch = nil
	return s.exchange(s.proxy, s.redis, batch)
}

func (s *stream) exchange(proxy, redis *redistest.Client, batch [][]string) error {
	if len(batch) == 0 {
		return nil
	}
	var here, there []byte
	for _, c := range batch {
		here = append(here, redistest.Encode(c...)...)
		there = append(there, redistest.Encode(translated(c)...)...)
	}
	written := make(chan error, 2) // neither stops reading while its replies are not read
	go func() { written <- proxy.Write(here) }()
	go func() { written <- redis.Write(there) }()
	var trouble error
	for _, c := range batch {
		here, err := proxy.Receive()
		if err != nil {
			trouble = fmt.Errorf("the proxy, to %s: %w", spell(c), err)
			break
		}
		there, err := redis.Receive()
		if err != nil {
			trouble = fmt.Errorf("the Redis, to %s: %w", spell(c), err)
			break
		}
		if trouble = s.check(c, here, there); trouble != nil {
			break
		}
	}
	return errors.Join(trouble, <-written, <-written)
}

// check compares the replies to one command; those of a transaction one by one.
func (s *stream) check(args []string, here, there any) error {
	s.recent = append(s.recent[max(0, len(s.recent)-300):], args)
	switch {
	case there == queued:
		s.queued = append(s.queued, args)
	case strings.EqualFold(args[0], "MULTI") && there == ok:
		s.queued = nil
	}
	if equal(here, there) {
		return nil
	}
	x, y, areLists := elements(here, there)
	if areLists && strings.EqualFold(args[0], "EXEC") && len(x) == len(y) && len(x) == len(s.queued) {
		for i := range x {
			if err := s.compare(s.queued[i], x[i], y[i]); err != nil {
				return err
			}
		}
		return nil
	}
	return s.compare(args, here, there)
}

func (s *stream) compare(args []string, here, there any) error {
	if equal(here, there) || near(args[0], here, there) || documented(spell(args), render(there), render(here)) {
		return nil
	}
	if s.failures = append(s.failures, spelled(args, here, there)+"\nafter"+s.history(args)); len(s.failures) >= maxFailures {
		return errTooMany
	}
	return nil
}

// history is what came last, and before that what named one of the command's keys.
func (s *stream) history(args []string) (text string) {
	const last, same = 12, 12
	var about []string
	for i := len(s.recent) - 1; i >= 0 && len(about) < last+same; i-- {
		r := s.recent[i]
		if i >= len(s.recent)-last || slices.ContainsFunc(args[1:], func(a string) bool { return slices.Contains(r, a) }) {
			about = append(about, spell(r))
		}
	}
	slices.Reverse(about)
	return "\n\t" + strings.Join(about, "\n\t")
}

// state compares all that both hold, and gives the list back its place.
func (s *stream) state() error {
	for _, k := range s.g.keyNames {
		s.add("TYPE", k)
		s.add("PTTL", k)
		s.add("MGET", k)
	}
	return s.barrier()
}

// barrier waits until all that was sent has been carried out on every backend, also by
// those whose votes nobody waited for: requests enter a backend in one order, so what is
// sent last arrives last. It makes the list anew.
func (s *stream) barrier() error {
	s.barriers++
	mark := fmt.Sprintf("mark %d.", s.barriers)
	s.add("SET", s.list(), mark)
	if err := s.flush(); err != nil {
		return err
	}
	for _, server := range s.servers {
		if err := s.plant(server, mark); err != nil {
			return err
		}
	}
	return nil
}

func (s *stream) list() string { return s.name + "list" }

// plant makes the list what it is to be, when the mark has arrived.
func (s *stream) plant(server *redistest.Client, mark string) error {
	end := time.Now().Add(20 * time.Second)
	for {
		reply, err := server.Do("GET", s.list())
		if err != nil {
			return err
		}
		if text, _ := reply.(string); strings.HasPrefix(text, mark) {
			break
		}
		if time.Now().After(end) {
			return fmt.Errorf("%s does not arrive, but %v", mark, reply)
		}
		time.Sleep(time.Millisecond)
	}
	for _, args := range [][]string{{"DEL", s.list()}, {"RPUSH", s.list(), "x"}} {
		if reply, err := server.Do(args...); err != nil || reply != int64(1) {
			return fmt.Errorf("%v: %v, %w", args, reply, err)
		}
	}
	return nil
}

// passing lets keys expire on both.
func (s *stream) passing() error {
	name := func(k string) string { return s.name + k }
	for _, args := range [][]string{{"SET", name("a"), "x", "PX", "1000"}, {"SET", name("b"), "x", "NX", "PX", "1000"}, {"PEXPIRE", name("n1"), "1000"},
		{"SET", name("n2"), "1", "EX", "100"}, {"PEXPIRE", name("n2"), "1000", "LT"}} {
		s.add(args...)
	}
	if err := s.barrier(); err != nil {
		return err
	}
	idle(1050 * time.Millisecond)
	for _, k := range []string{"a", "b", "n1", "n2"} {
		s.add("GET", name(k))
		s.add("TTL", name(k))
	}
	return s.flush()
}

// switchProtocol lets both speak the other protocol, or begin anew.
func (s *stream) switchProtocol() error {
	if err := s.flush(); err != nil {
		return err
	}
	proto := pick(s.g, 2, 3)
	args := []string{"HELLO", strconv.Itoa(proto)}
	if s.g.IntN(4) == 0 {
		proto, args = 2, []string{"RESET"}
	}
	s.proxy.Proto, s.redis.Proto = proto, proto
	return s.exchange(s.proxy, s.redis, [][]string{args})
}
