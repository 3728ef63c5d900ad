package resp

import (
	"slices"
	"strings"
)

// Family says who carries a command out.
type Family int

// The families.
const (
	Local   Family = iota // answered by the program itself, without the backends
	Session               // changes the connection's transaction: MULTI and its like
	Lock                  // reads or writes string keys in one round
	Counter               // INCR and INCRBY
	Script                // EVAL and its like, and SCRIPT
	Walk                  // about all keys: SCAN and DBSIZE; not inside a transaction or script
	Refused               // Redis has it and it is not served: see Unsupported
)

// Info is what is known of one command or subcommand.
type Info struct {
	Name     string // lower case; a subcommand's is "client|id"
	Arity    int    // words including the name; negative: at least that many
	Flags    Flags
	FirstKey int // place of the first key, 0 if there is none at a fixed place
	LastKey  int // place of the last key; -1: the last word
	Step     int // distance from one key to the next
	Family   Family
	Help     string // one line for people; empty for refused commands
}

// Keyed reports whether the command may name keys. Redis calls the channels of
// SSUBSCRIBE keys, too.
func (i Info) Keyed() bool {
	return (i.FirstKey > 0 || i.Flags&MovableKeys != 0) && i.Flags&PubSub == 0
}

// arityFits reports whether n words are neither too few nor too many.
func (i Info) arityFits(n int) bool {
	return n == i.Arity || i.Arity < 0 && n >= -i.Arity
}

// Flags are the flags that Redis shows for a command in its COMMAND reply.
type Flags uint16

// The flags that served commands have.
const (
	Write Flags = 1 << iota
	ReadOnly
	DenyOOM
	Admin
	NoScript
	Loading
	Stale
	SkipMonitor
	SkipSlowlog
	Fast
	NoAuth // may be sent before authentication
	NoMandatoryKeys
	MovableKeys
	AllowBusy
	PubSub
)

var flagNames = [...]string{"write", "readonly", "denyoom", "admin", "noscript", "loading",
	"stale", "skip_monitor", "skip_slowlog", "fast", "no_auth", "no_mandatory_keys",
	"movablekeys", "allow_busy", "pubsub"}

// Names returns the names of the flags that are set, as Redis spells them.
func (f Flags) Names() []string {
	var names []string
	for i, name := range flagNames {
		if f&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return names
}

// A command is an entry of the table.
type command struct {
	Info
	parse func(name string, args []string) (Request, error) // nil: no Request comes of it
	subs  map[string]Info                                   // by the second word, lower case
}

// maxName bounds the names worth looking for: the longest in the table is
// shorter, and a longer word from a client needs no copy in lower case.
const maxName = 32

// find looks name up in any case. It allocates nothing.
func find(name string) *command {
	if c := commands[name]; c != nil {
		return c
	}
	var buf [maxName]byte
	if n, ok := lower(&buf, name); ok {
		return commands[string(buf[:n])]
	}
	return nil
}

// lower writes name in lower case to buf; false if it is too long.
func lower(buf *[maxName]byte, name string) (int, bool) {
	if len(name) > maxName {
		return 0, false
	}
	for i := range len(name) {
		c := name[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		buf[i] = c
	}
	return len(name), true
}

// sub looks the second word of a command such as CLIENT up, in any case.
func (c *command) sub(word string) (Info, bool) {
	var buf [maxName]byte
	n, ok := lower(&buf, word)
	if !ok {
		return Info{}, false
	}
	info, ok := c.subs[string(buf[:n])]
	return info, ok
}

// Lookup returns what is known of the command with that name, in any case. False
// means that Redis doesn't know it either: answer with UnknownCommand. That
// holds for WAIT, WAITAOF and SENTINEL on purpose: clients drop them quietly on
// that text and on no other.
func Lookup(name string) (Info, bool) {
	if c := find(name); c != nil {
		return c.Info, true
	}
	if ofModule(name) {
		return Info{Name: LowerASCII(name), Family: Refused}, true
	}
	return Info{}, false
}

// Describe is Lookup that also knows subcommands, by names with a bar: client|id.
func Describe(name string) (Info, bool) {
	parent, sub, hasSub := strings.Cut(name, "|")
	if !hasSub {
		return Lookup(name)
	}
	if c := find(parent); c != nil {
		return c.sub(sub)
	}
	return Info{}, false
}

// Check is the first look at a command: it knows the name, serves it, has the
// subcommand, and the number of words fits. It returns the Info of the
// subcommand where there is one. The error is an Error: UnknownCommand,
// Unsupported, UnknownSubcommand or WrongArity. What follows the first words is
// not looked at; Parse does that.
func Check(args []string) (Info, error) {
	_, info, err := check(args)
	if err != "" {
		return info, err
	}
	return info, nil
}

// check is Check that also gives the entry of the table; "" stands for no error.
func check(args []string) (*command, Info, Error) {
	if len(args) == 0 {
		return nil, Info{}, UnknownCommand(args)
	}
	c := find(args[0])
	if c == nil {
		if ofModule(args[0]) {
			return nil, Info{}, Unsupported(args[0])
		}
		return nil, Info{}, UnknownCommand(args)
	}
	if c.Family == Refused {
		return c, c.Info, Unsupported(c.Name)
	}
	info := c.Info
	if c.subs != nil && len(args) > 1 {
		sub, ok := c.sub(args[1])
		if !ok {
			return c, info, UnknownSubcommand(c.Name, args[1])
		}
		if sub.Family == Refused {
			return c, sub, Unsupported(sub.Name)
		}
		info = sub
	}
	if !info.arityFits(len(args)) {
		return c, info, WrongArity(info.Name)
	}
	return c, info, ""
}

// Keys returns the keys that a command names, in the order of its words and as
// often as they stand there; nil for a command that names none, is not served or
// is malformed. What it returns may share memory with args.
func Keys(args []string) []string {
	if len(args) == 0 {
		return nil
	}
	c := find(args[0])
	if c == nil {
		return nil
	}
	if !c.Keyed() {
		return nil
	}
	if c.Flags&MovableKeys != 0 {
		keys, _, err := scriptKeys(args)
		if err != "" {
			return nil
		}
		return keys
	}
	first, last := c.FirstKey, c.LastKey
	if last < 0 {
		last += len(args)
	}
	if first == 0 || last >= len(args) || first > last {
		return nil
	}
	if c.Step == 1 {
		return args[first : last+1 : last+1]
	}
	keys := make([]string, 0, (last-first)/c.Step+1)
	for i := first; i <= last; i += c.Step {
		keys = append(keys, args[i])
	}
	return keys
}

// Commands returns what is served, sorted by name, without subcommands.
func Commands() []Info {
	var infos []Info
	for _, c := range commands {
		if c.Family != Refused {
			infos = append(infos, c.Info)
		}
	}
	slices.SortFunc(infos, func(a, b Info) int { return strings.Compare(a.Name, b.Name) })
	return infos
}

// Subcommands returns the served subcommands of a command such as CLIENT, sorted
// by name; nil if it has none.
func Subcommands(name string) []Info {
	c := find(name)
	if c == nil {
		return nil
	}
	var infos []Info
	for _, info := range c.subs {
		if info.Family != Refused {
			infos = append(infos, info)
		}
	}
	slices.SortFunc(infos, func(a, b Info) int { return strings.Compare(a.Name, b.Name) })
	return infos
}

// HelpText is the reply to the HELP subcommand of a command that has subcommands.
func HelpText(name string) Array {
	name = UpperASCII(name)
	text := Array{Status(name + " <subcommand> [<arg> ...]. Subcommands are:")}
	for _, info := range Subcommands(name) {
		_, sub, _ := strings.Cut(info.Name, "|")
		text = append(text, Status(UpperASCII(sub)), Status("    "+info.Help))
	}
	return text
}
