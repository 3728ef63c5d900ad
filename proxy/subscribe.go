package proxy

import (
	"slices"
	"strings"

	"redlockproxy/resp"
)

// subscriptions is what a connection listens to. Some clients subscribe to a channel
// before they do anything else, to hear of changes among their servers or of released
// locks, and give up where they can't. Nothing is published here: PUBLISH is refused,
// and in a script, where it may stand behind the release of a lock, it says that it told
// nobody.
type subscriptions struct {
	channels, patterns, shards []string
	bytes                      int // of all of them
}

// maxSubscriptions bounds what one connection listens to. Together the names may have as
// many bytes as one command.
const maxSubscriptions = 1024

func (b *subscriptions) count() int { return len(b.channels) + len(b.patterns) }

// any tells whether the connection is a subscriber. Like all of Redis's counts in
// replies, shard channels are apart.
func (b *subscriptions) any() bool { return b.count()+len(b.shards) > 0 }

// list is the list that a command is about, and the number that goes into its replies.
func (b *subscriptions) list(command string) (list *[]string, number func() int) {
	switch command[:len(command)-len("subscribe")] {
	case "p", "pun":
		return &b.patterns, b.count
	case "s", "sun":
		return &b.shards, func() int { return len(b.shards) }
	}
	return &b.channels, b.count
}

// subscribe answers SUBSCRIBE, UNSUBSCRIBE and the like: a reply for each channel.
func (c *session) subscribe(name string, args []string) resp.Reply {
	c.mu.Lock() // CLIENT LIST shows the numbers
	defer c.mu.Unlock()
	b := &c.listens
	list, number := b.list(name)
	if !strings.HasSuffix(name, "unsubscribe") {
		return b.add(list, number, name, args[1:], c.s.cfg().Server.MaxCommandBytes)
	}
	gone := args[1:]
	if len(gone) == 0 {
		gone = slices.Clone(*list)
	}
	var replies resp.Several
	for _, channel := range gone {
		if i := slices.Index(*list, channel); i >= 0 {
			*list = slices.Delete(*list, i, i+1)
			b.bytes -= len(channel)
		}
		replies = append(replies, resp.Push{resp.Bulk(name), resp.Bulk(channel), resp.Int(number())})
	}
	if len(replies) == 0 { // one reply in any case
		replies = resp.Several{resp.Push{resp.Bulk(name), resp.Null{}, resp.Int(number())}}
	}
	return replies
}

func (b *subscriptions) add(list *[]string, number func() int, name string, channels []string, most int) resp.Reply {
	var replies resp.Several
	for _, channel := range channels {
		if !slices.Contains(*list, channel) {
			if b.count()+len(b.shards) >= maxSubscriptions || b.bytes+len(channel) > most {
				return append(replies, resp.ErrTooManyChannels)
			}
			*list = append(*list, strings.Clone(channel)) // not with the rest of its command
			b.bytes += len(channel)
		}
		replies = append(replies, resp.Push{resp.Bulk(name), resp.Bulk(channel), resp.Int(number())})
	}
	return replies
}

// whileSubscribed tells whether a RESP2 connection that listens may send a command: a
// message could come in between, and RESP2 can't tell it from the reply. RESP3 can.
func whileSubscribed(info resp.Info) bool {
	switch info.Name {
	case "ping", "quit", "reset":
		return true
	}
	return info.Flags&resp.PubSub != 0
}

// pong is the reply to PING where a plain one could be taken for a message.
func pong(args []string) resp.Reply {
	text := ""
	switch len(args) {
	case 1:
	case 2:
		text = args[1]
	default:
		return resp.WrongArity("ping")
	}
	return resp.Array{resp.Bulk("pong"), resp.Bulk(text)}
}
