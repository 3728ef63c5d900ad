package look

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"redlockproxy/quorum"
)

// Backend is where one backend is, and how to log in.
type Backend struct {
	Name    string // its address
	Options redis.Options
}

// Config says where to look.
type Config struct {
	Backends []Backend

	// Limit is the longest time for one backend's part in a look. > 0
	Limit time.Duration

	// Votes tells whether a backend's word counts at the moment; nil means that all
	// that answer have a vote.
	Votes func(backend int) bool

	// Hidden tells whether a key is none of the clients'; nil for none.
	Hidden func(key string) bool
}

// A Looker looks at the backends of a group. Its methods may be called from any
// goroutine.
type Looker struct {
	cfg  Config
	salt []byte // of the hashes
}

// New makes a Looker. It holds nothing that would have to be closed.
func New(cfg Config) *Looker {
	l := &Looker{cfg: cfg, salt: make([]byte, 16)}
	_, _ = rand.Read(l.salt) // never fails
	return l
}

// A visit is the connections of one look, by backend.
type visit []*redis.Client

// visit makes ready to connect to all backends. A pool that is kept would go on dialling
// a backend that is down.
func (l *Looker) visit() visit {
	var v visit
	for _, b := range l.cfg.Backends {
		o := b.Options
		o.MaxRetries, o.DialerRetries = -1, 1
		o.DialTimeout, o.ReadTimeout, o.WriteTimeout = l.cfg.Limit, l.cfg.Limit, l.cfg.Limit
		o.ContextTimeoutEnabled, o.DisableIdentity, o.Protocol = true, true, 2
		// One is used. A pool that has failed to dial as often as it has room goes on
		// dialling by itself, so there is room for more than one look needs.
		o.PoolSize, o.MinIdleConns = 4, 0
		v = append(v, redis.NewClient(&o))
	}
	return v
}

func (v visit) end() {
	for _, c := range v {
		_ = c.Close() // nothing is under way that could be lost
	}
}

// Kind is what sort of thing a backend holds under a key.
type Kind string

// The kinds.
const (
	Unknown Kind = "unknown" // the backend did not say
	Absent  Kind = "absent"
	String  Kind = "string"
	Other   Kind = "other" // a list, a hash, …: never a lock
)

// Held is what one backend holds under one key.
type Held struct {
	Backend string `json:"backend"`
	Kind    Kind   `json:"kind"`
	Token   string `json:"token,omitempty"`  // a hash of the client's value: the same for the same value
	Stored  string `json:"stored,omitempty"` // a hash of all that is stored: the same for the same attempt
	TTL     int64  `json:"ttl_ms"`           // milliseconds left there; -1 if it never expires
	Agreed  bool   `json:"agreed"`           // it is what a majority holds
	Error   string `json:"error,omitempty"`

	held  quorum.Held
	votes bool
}

// Key is one key, as all backends see it.
type Key struct {
	Name   string `json:"name"`
	Answer Answer `json:"answer"`
	// Validity is how long the group would say that the holder may still rely on it, in
	// milliseconds; -1 if it never expires, 0 if nothing is held.
	Validity int64  `json:"validity_ms"`
	Token    string `json:"token,omitempty"` // a hash of what the group would answer
	Holders  int    `json:"holders"`         // backends that hold what the majority holds or, without one, anything
	Held     []Held `json:"held"`
}

// Answer is what the group makes of a key.
type Answer string

// The answers.
const (
	Free      Answer = "free"      // nobody holds it, and no backend has anything left of it
	Leftover  Answer = "leftover"  // nobody holds it; some backends have a remnant, which is no lock
	Taken     Answer = "held"      // a majority holds the same
	Undecided Answer = "undecided" // the backends that don't answer could make a majority
)

// Key looks at one key on all backends.
func (l *Looker) Key(ctx context.Context, name string) Key {
	v := l.visit()
	defer v.end()
	return l.keys(ctx, v, []string{name})[0]
}

// keys looks at some keys on all backends.
func (l *Looker) keys(ctx context.Context, v visit, names []string) []Key {
	all := make([][]Held, len(v))
	var wg sync.WaitGroup
	for i, client := range v {
		wg.Go(func() { all[i] = l.ask(ctx, client, i, names) })
	}
	wg.Wait()
	keys := make([]Key, len(names))
	for k, name := range names {
		keys[k] = Key{Name: name}
		for i := range all {
			keys[k].Held = append(keys[k].Held, all[i][k])
		}
		l.judge(ctx, &keys[k])
	}
	return keys
}

// ask is what one backend holds under each key.
func (l *Looker) ask(ctx context.Context, client *redis.Client, backend int, names []string) []Held {
	ctx, cancel := context.WithTimeout(ctx, l.cfg.Limit)
	defer cancel()
	replies := make([]*redis.Cmd, 0, len(names))
	trouble := ""
	for page := range slices.Chunk(names, pageKeys) {
		_, err := client.Pipelined(ctx, func(p redis.Pipeliner) error {
			for _, name := range page {
				replies = append(replies, p.Eval(ctx, readScript, []string{name}, longValue, quorum.TagLen))
			}
			return nil
		})
		if err != nil && !isReply(err) {
			trouble = err.Error()
			break
		}
	}
	held := make([]Held, len(names))
	for i := range held {
		held[i] = Held{Backend: l.cfg.Backends[backend].Name, Kind: Unknown, Error: trouble, votes: l.cfg.Votes == nil || l.cfg.Votes(backend)}
		if trouble == "" {
			held[i].fill(replies[i], l.hash)
		}
	}
	return held
}

// Bounds of one pipeline: of so many keys, and of each value so many bytes. A backend
// that holds nothing but long values spends some tens of milliseconds on it.
const (
	pageKeys  = 20
	longValue = 1024
)

// readScript is what stands under a key: its kind, its text, and its milliseconds. Of a
// text longer than ARGV[1] comes a digest, and behind it the last ARGV[2] bytes, where the
// tag is: texts that differ, by the tag or by what is before it, still do.
const readScript = `
local s, ttl = redis.pcall('GET', KEYS[1]), redis.call('PTTL', KEYS[1])
if s == false then return {0, '', ttl} end
if type(s) ~= 'string' then
  if string.find(s.err, 'WRONGTYPE', 1, true) then return {2, '', ttl} end
  return s
end
if #s > tonumber(ARGV[1]) then
  s = 'SHA1 ' .. redis.sha1hex(string.sub(s, 1, -1 - ARGV[2])) .. string.sub(s, -ARGV[2])
end
return {1, s, ttl}
`

// fill takes in what a backend replied.
func (h *Held) fill(reply *redis.Cmd, hash func(string) string) {
	told, err := reply.Slice()
	if err != nil || len(told) != 3 {
		h.Error = "a reply of an unexpected form"
		if err != nil {
			h.Error = err.Error()
		}
		return
	}
	text, _ := told[1].(string)
	switch told[0] {
	case int64(0):
		h.Kind = Absent
		return
	case int64(1):
		stored := quorum.Stored(text)
		h.Kind, h.held.Kind, h.held.Stored = String, quorum.String, stored
		h.Token, h.Stored = hash(stored.Value()), hash(text)
	default:
		h.Kind, h.held.Kind, h.held.Type = Other, quorum.Other, "other"
	}
	h.held.TTL = quorum.NoTTL
	h.TTL = -1
	if millis, _ := told[2].(int64); millis != -1 {
		h.TTL = max(0, millis)
		h.held.TTL = time.Duration(h.TTL) * time.Millisecond
	}
}

// hash is a short hash of a value. It is keyed, since a token may be a short number
// that could be found by trying them all.
func (l *Looker) hash(text string) string {
	mac := hmac.New(sha256.New, l.salt)
	_, _ = mac.Write([]byte(text)) // never fails
	return hex.EncodeToString(mac.Sum(nil)[:4])
}

func isReply(err error) bool {
	_, reply := err.(redis.Error)
	return reply
}
