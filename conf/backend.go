package conf

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"path"
	"strconv"
	"strings"
)

// Backend is one entry of group.backends. Printing it shows the address only,
// never the credentials.
type Backend struct {
	Network  string // "tcp" or "unix"
	Address  string // "host:port" in its normal form, or the path of a socket
	TLS      bool   // the entry was rediss://
	User     Secret // not set: the default user
	Password Secret // not set: no AUTH is sent. Read from PasswordFile if that is set

	// The entry's own files; after Load, those of the group where it has none.
	PasswordFile           string // path
	TLSCA, TLSCert, TLSKey string // paths, PEM; as in Group
}

// String is the address, with rediss:// or unix: in front where it applies.
func (b Backend) String() string {
	switch {
	case b.Network == "unix":
		return unixPrefix + b.Address
	case b.TLS:
		return "rediss://" + b.Address
	}
	return b.Address
}

// GoString is String in quotes.
func (b Backend) GoString() string { return strconv.Quote(b.String()) }

// MarshalText is String.
func (b Backend) MarshalText() ([]byte, error) { return []byte(b.String()), nil }

// unixPrefix marks the path of a Unix socket wherever an address is expected.
const unixPrefix = "unix:"

// The forms that an entry may have, for error texts.
const backendForms = `write "host:port", "redis://user:password@host:port", "rediss://…" for TLS, or "unix:/path"`

// redisPort is the port of a redis:// address that names none.
const redisPort = "6379"

// parseBackends reads a whole group. Its errors number the entries from 1 and
// never repeat one: an entry that cannot be parsed may hold a password anywhere.
func parseBackends(entries []string) ([]Backend, error) {
	if n := len(entries); n == 0 {
		return nil, errors.New("the list is empty; name 1, 3, 5 or 7 Redis servers, or leave the setting out " +
			"and `serve` runs on five in-process backends, which is for trying it out only")
	} else if n > maxBackends || n%2 == 0 {
		return nil, fmt.Errorf("%d entries; a group has 1, 3, 5 or 7 backends: an even one "+
			"survives no more failures than one with a backend less, and more than 7 buy nothing: add or remove one", n)
	}
	var backends []Backend
	for i, entry := range entries {
		b, err := parseBackend(strings.TrimSpace(entry))
		if err != nil {
			return nil, fmt.Errorf("entry %d: %w", i+1, err)
		}
		for j, other := range backends {
			if sameServer(b, other) {
				return nil, fmt.Errorf("entries %d and %d are the same server, %s: one server must not "+
					"vote twice; every backend has to be a Redis of its own, so replace one of them", j+1, i+1, b)
			}
		}
		backends = append(backends, b)
	}
	return backends, nil
}

// maxBackends is the largest group: more than seven cost latency and buy no
// safety that anybody needs.
const maxBackends = 7

func parseBackend(entry string) (Backend, error) {
	if entry == "" {
		return Backend{}, errors.New("is empty; " + backendForms)
	}
	if socket, ok := strings.CutPrefix(entry, unixPrefix); ok {
		socket, err := socketPath(socket)
		return Backend{Network: "unix", Address: socket}, err
	}
	if strings.Contains(entry, "://") {
		return parseBackendURL(entry)
	}
	if strings.Contains(entry, "@") {
		return Backend{}, errors.New("has credentials but no scheme; " + backendForms)
	}
	address, err := hostPort(entry)
	return Backend{Network: "tcp", Address: address}, err
}

func parseBackendURL(entry string) (Backend, error) {
	u, err := url.Parse(entry)
	if err != nil {
		// The error of url.Parse repeats the URL, password included.
		return Backend{}, errors.New("is not a valid URL (are special characters of the password " +
			"percent-encoded?); " + backendForms)
	}
	if u.Scheme != "redis" && u.Scheme != "rediss" {
		return Backend{}, errors.New("has an unknown scheme; " + backendForms)
	}
	if db := strings.Trim(u.Path, "/"); db != "" && db != "0" {
		return Backend{}, errors.New("names a database other than 0; a group's keys live in database 0 of each " +
			"backend: use a Redis of its own instead, and leave the path out")
	}
	if u.Fragment != "" {
		return Backend{}, errors.New("has a # behind the address (are special characters of the password percent-encoded?); " + backendForms)
	}
	hostname, port := u.Hostname(), u.Port()
	if port == "" {
		port = redisPort
	}
	address, err := hostPort(net.JoinHostPort(hostname, port))
	if err != nil {
		return Backend{}, err
	}
	password, _ := u.User.Password()
	b := Backend{
		Network: "tcp", Address: address, TLS: u.Scheme == "rediss",
		User: NewSecret(u.User.Username()), Password: NewSecret(password),
	}
	return b, b.readOptions(u.RawQuery)
}

// readOptions takes what stands behind the question mark of an entry: files that are
// this backend's own.
func (b *Backend) readOptions(query string) error {
	const help = "may have only password_file, tls_ca, tls_cert and tls_key behind the question mark, each once, " +
		"with the path of a file (time limits and the like are settings of [lane])"
	values, err := url.ParseQuery(query)
	if err != nil {
		return errors.New(help)
	}
	for name, texts := range values {
		file := map[string]*string{
			"password_file": &b.PasswordFile, "tls_ca": &b.TLSCA, "tls_cert": &b.TLSCert, "tls_key": &b.TLSKey,
		}[name]
		if file == nil || len(texts) != 1 || texts[0] == "" || checkPath(texts[0]) != nil {
			return errors.New(help)
		}
		*file = texts[0]
	}
	switch {
	case b.PasswordFile != "" && b.Password.IsSet():
		return errors.New("has a password and a password_file; give one of the two")
	case !b.TLS && (b.TLSCA != "" || b.TLSCert != "" || b.TLSKey != ""):
		return errors.New("has certificates but does not use TLS; write rediss://")
	case (b.TLSCert == "") != (b.TLSKey == ""):
		return errors.New("has one of tls_cert and tls_key; give both or none")
	}
	return nil
}

// socketPath checks and cleans the path of a Unix socket.
func socketPath(name string) (string, error) {
	// 107 bytes and a zero is all that the kernel takes.
	const longest = 107
	if !strings.HasPrefix(name, "/") {
		return "", errors.New(`a Unix socket needs an absolute path: "unix:/run/redis.sock"`)
	}
	if name = path.Clean(name); name == "/" || len(name) > longest || strings.ContainsRune(name, 0) {
		return "", fmt.Errorf("the path of a Unix socket has 2 to %d bytes and no zero byte", longest)
	}
	return name, nil
}

// hostPort brings "host:port" into its normal form, in which addresses that are
// the same server by their text are the same string.
func hostPort(address string) (string, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", errors.New("is not host:port (an IPv6 address goes in brackets); " + backendForms)
	}
	host = normalHost(host)
	if !hostChars(host) {
		return "", errors.New("has no valid host in front of the port; " + backendForms)
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 {
		return "", errors.New("has no port of 1 to 65535 behind the host; " + backendForms)
	}
	return net.JoinHostPort(host, strconv.FormatUint(n, 10)), nil
}

func normalHost(host string) string {
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.Unmap().String()
	}
	return strings.TrimSuffix(strings.ToLower(host), ".")
}

// hostChars tells whether host can be a name or an address at all. What goes
// through appears in logs, so it must be plain text.
func hostChars(host string) bool {
	if host == "" || len(host) > 253 {
		return false
	}
	for _, c := range []byte(host) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9',
			c == '.', c == '-', c == '_', c == ':', c == '%':
		default:
			return false
		}
	}
	return true
}

// sameServer tells what the text alone can tell. Two names of one server, or a
// proxy in front of it, show only in its run_id.
func sameServer(a, b Backend) bool {
	if a.Network != b.Network {
		return false
	}
	if a.Address == b.Address {
		return true
	}
	if a.Network == "unix" {
		return false
	}
	hostA, portA, _ := net.SplitHostPort(a.Address)
	hostB, portB, _ := net.SplitHostPort(b.Address)
	// "localhost" is 127.0.0.1 or ::1, depending on the machine.
	return portA == portB && (hostA == "localhost" && isLoopback(hostB) || hostB == "localhost" && isLoopback(hostA))
}

// isLoopback tells whether only this machine can reach the host.
func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}
