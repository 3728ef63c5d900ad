package conf

import (
	"net"
	"strings"
	"time"
)

// Config is everything that can be set. Load fills and checks it; nobody changes
// it afterwards. Printing it, by whatever means, shows no secret. Default,
// bounds, and what else is to be known of each field, are in table*.go, in the
// example file and in the help text.
type Config struct {
	Server Server
	Group  Group
	Lock   Lock
	Lane   Lane
	Script Script
	Log    Log

	// Embedded is set by Load, for `serve` without backends: five in-process
	// ones then take their place, and forget everything at exit.
	Embedded bool
}

// Server is what clients see.
type Server struct {
	Listen     string // where clients connect: "host:port" or "unix:/path"
	Admin      string // where health, metrics and the status page are served by HTTP; "" is off
	Protected  bool   // refuse to start open to other machines without a password
	AdminPprof bool   // serve profiles of the Go runtime there, too

	Password Secret // what clients must send; not set: none. Read from PasswordFile if that is set

	PasswordFile string // path; its content, without the newline at the end, is Password
	TLSCert      string // path, PEM; with TLSKey: clients must speak TLS
	TLSKey       string // path, PEM
	TLSClientCA  string // path, PEM; clients must show a certificate signed by it

	AdvertisedVersion string        // the Redis version in HELLO, INFO, LOLWUT and scripts
	UnavailableReply  string        // "error" or "nil": what SET NX gets without a quorum
	AnswerWithin      time.Duration // the longest time from a command to its reply
	Drain             time.Duration // how long a stop waits for commands that were started

	MaxClients      int           // connections at once
	MaxArgs         int           // arguments of one command, its name included
	MaxCommandBytes int           // bytes of one command
	MaxLargeBytes   int           // bytes of the large commands of all clients together
	MaxInlineBytes  int           // bytes of one line of the inline protocol
	HalfCommand     time.Duration // how long a command may take to arrive whole
	WriteStall      time.Duration // how long a client may not read its replies
	Handshake       time.Duration // how long a TLS handshake may take
	Idle            time.Duration // how long a client may say nothing; 0: for ever
	Threads         int           // processors used at once; 0: half of those there are
	PipelineDepth   int           // commands of one connection in flight at once
}

// Group is the fixed set of backends that votes.
type Group struct {
	Name     string    // part of the mark that a group leaves on its backends
	Backends []Backend // 1, 3, 5 or 7; none only for Embedded and for `check -ping`

	BackendUser         Secret // for entries without credentials of their own
	BackendPassword     Secret // likewise. Read from BackendPasswordFile if that is set
	BackendPasswordFile string // path
	TLSCA               string // path, PEM: who signs the certificates of rediss:// backends; "": the system's list
	TLSCert             string // path, PEM: the client certificate that rediss:// backends get
	TLSKey              string // path, PEM

	Init   string        // "auto" or "manual": who declares an unmarked group to be new
	MaxTTL time.Duration // the longest lock
	PadTTL bool          // add the drift allowance to the stored ttl
}

// Lock is how a split vote is resolved.
type Lock struct {
	Attempts    int           // rounds in all
	RetryDelay  time.Duration // between two of them
	RetryJitter time.Duration // a random time up to this is added
}

// Lane is the connection to one backend.
type Lane struct {
	Connect       time.Duration // the longest time for dialling and the handshake
	Vote          time.Duration // how long a round waits for a backend
	Stall         time.Duration // how long a connection may be silent with requests waiting
	BatchRequests int           // requests in one pipeline
	BatchBytes    int           // bytes in one pipeline
	Queue         int           // requests that may wait
	Debts         int           // removals kept for a backend that is out of reach
	BackoffMin    time.Duration // the first pause between two attempts to connect
	BackoffMax    time.Duration // the longest
}

// Script bounds what a client's Lua script may use.
type Script struct {
	MaxSource int           // bytes of text
	MaxSteps  int           // VM instructions of one run
	MaxTime   time.Duration // of one run
	Cache     int           // scripts kept for EVALSHA
}

// Log is what is written about it all.
type Log struct {
	Level  string // "trace", "debug", "info", "warn", "error" or "disabled"
	Format string // "json" or "console"
}

// Default is the configuration of an empty command line, unchecked.
func Default() Config {
	var c Config
	for _, f := range table(&c) {
		f.reset()
	}
	return c
}

// String lists every setting as it is in force, as a TOML file could say it,
// secrets hidden.
func (c Config) String() string {
	var b strings.Builder
	section := ""
	for _, f := range table(&c) {
		if s, _, _ := strings.Cut(f.key, "."); s != section {
			if section != "" {
				b.WriteByte('\n')
			}
			section = s
			b.WriteString("[" + section + "]\n")
		}
		if f.kind == kindList && f.literal() == "[]" {
			b.WriteString("# ") // an empty list is a mistake, none is not
		}
		b.WriteString(f.name() + " = " + f.literal() + "\n")
	}
	return b.String()
}

// GoString is String, so that %#v has nothing else to show either.
func (c Config) GoString() string { return c.String() }

// SplitAddress takes an address of the settings apart, for net.Listen and
// net.Dial: "unix:/path" is ("unix", "/path"), all else is ("tcp", address).
func SplitAddress(address string) (network, addr string) {
	if socket, ok := strings.CutPrefix(address, unixPrefix); ok {
		return "unix", socket
	}
	return "tcp", address
}

// PingAddress is where a process on the same machine reaches the server, for
// net.Dial: Listen, with 127.0.0.1 in place of "all interfaces".
func (s Server) PingAddress() (network, addr string) { return nearAddress(s.Listen) }

// AdminAddress is the same for Admin, which must not be "".
func (s Server) AdminAddress() (network, addr string) { return nearAddress(s.Admin) }

func nearAddress(listen string) (network, addr string) {
	network, addr = SplitAddress(listen)
	if network == "unix" {
		return network, addr
	}
	host, port, err := net.SplitHostPort(addr)
	if ip := net.ParseIP(host); err == nil && (host == "" || ip != nil && ip.IsUnspecified()) {
		addr = net.JoinHostPort("127.0.0.1", port)
	}
	return network, addr
}
