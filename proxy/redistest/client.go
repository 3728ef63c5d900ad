package redistest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

// The values that Receive returns: Status for a simple string, Error for an
// error reply, int64, string for bulk and verbatim strings, nil for every null,
// []any for arrays, and with RESP3 Map, Push, Set and Scalar.
type (
	// Status is a simple string, such as OK.
	Status string
	// Error is an error reply. It is a value of a reply, not a Go error of the call.
	Error string
	// Map is a RESP3 map: keys and values in turn, in the order sent.
	Map []any
	// Push is a RESP3 push.
	Push []any
	// Set is a RESP3 set, in the order sent.
	Set []any
	// Scalar is a RESP3 double, big number or boolean, with the sign of its type.
	Scalar string
)

func (e Error) Error() string { return string(e) }

// Code is the first word of an error reply.
func (e Error) Code() string {
	code, _, _ := strings.Cut(string(e), " ")
	return code
}

// Bounds on a reply, so that a broken server can't take the test's memory.
const (
	maxReplyBytes = 64 << 20
	maxReplyItems = 1 << 20
	maxReplyDepth = 16
)

// Client is a small raw Redis client: it does nothing on its own, neither a
// handshake nor a retry. One goroutine may send while another receives.
type Client struct {
	// Timeout bounds each Send and each Receive; 5 seconds unless changed.
	Timeout time.Duration
	// Proto is the protocol that replies are held to: with 2 a RESP3 type is an
	// error, with 3 a RESP2 null is. Hello3 sets it; it is 2 at first.
	Proto int

	conn net.Conn
	in   *bufio.Reader
}

// Dial connects to host:port, or to a unix socket if addr contains a slash.
func Dial(addr string) (*Client, error) {
	network := "tcp"
	if strings.Contains(addr, "/") {
		network = "unix"
	}
	conn, err := net.DialTimeout(network, addr, 2*time.Second)
	if err != nil {
		return nil, err
	}
	return newClient(conn), nil
}

func newClient(conn net.Conn) *Client {
	return &Client{Timeout: 5 * time.Second, Proto: 2, conn: conn, in: bufio.NewReader(conn)}
}

// Do sends one command and returns its reply. The error tells of the
// connection only: an error reply is a value of type Error.
func (c *Client) Do(args ...string) (any, error) {
	if err := c.Send(args...); err != nil {
		return nil, err
	}
	return c.Receive()
}

// Hello3 switches the connection to RESP3 and holds all replies to it.
func (c *Client) Hello3() (any, error) {
	c.Proto = 3
	return c.Do("HELLO", "3")
}

// Send writes one command and doesn't wait for its reply.
func (c *Client) Send(args ...string) error {
	return c.Write(Encode(args...))
}

// Write sends bytes as they stand.
func (c *Client) Write(b []byte) error {
	if err := c.conn.SetWriteDeadline(time.Now().Add(c.Timeout)); err != nil {
		return err
	}
	_, err := c.conn.Write(b)
	return err
}

// Encode is a command as clients send it: an array of bulk strings.
func Encode(args ...string) []byte {
	b := fmt.Appendf(nil, "*%d\r\n", len(args))
	for _, a := range args {
		b = fmt.Appendf(b, "$%d\r\n%s\r\n", len(a), a)
	}
	return b
}

// Receive reads one reply.
func (c *Client) Receive() (any, error) {
	if err := c.conn.SetReadDeadline(time.Now().Add(c.Timeout)); err != nil {
		return nil, err
	}
	return c.value(0)
}

// Close closes the connection.
func (c *Client) Close() error { return c.conn.Close() }

// Reset closes the connection with a TCP reset instead of a FIN.
func (c *Client) Reset() error {
	if tcp, ok := c.conn.(*net.TCPConn); ok {
		if err := tcp.SetLinger(0); err != nil {
			return err
		}
	}
	return c.conn.Close()
}

func (c *Client) value(depth int) (any, error) {
	line, err := c.line()
	if err != nil {
		return nil, err
	}
	if line == "" || depth > maxReplyDepth {
		return nil, fmt.Errorf("no reply: %q at depth %d", line, depth)
	}
	kind, rest := line[0], line[1:]
	if strings.IndexByte("_#,(%~>=!|", kind) >= 0 && c.Proto < 3 {
		return nil, fmt.Errorf("RESP3 type in a RESP2 reply: %q", line)
	}
	switch kind {
	case '+':
		return Status(rest), nil
	case '-':
		return Error(rest), nil
	case ':':
		return strconv.ParseInt(rest, 10, 64)
	case '$', '=':
		return c.bulk(kind, rest)
	case '_':
		return nil, nil
	case ',', '(', '#':
		return Scalar(line), nil
	case '*', '>', '%', '~':
		return c.items(kind, rest, depth)
	}
	return nil, fmt.Errorf("a type that no served reply has: %q", line)
}

func (c *Client) line() (string, error) {
	line, err := c.in.ReadString('\n')
	if err != nil {
		return "", err
	}
	text, ok := strings.CutSuffix(line, "\r\n")
	if !ok {
		return "", fmt.Errorf("line without CR: %q", line)
	}
	return text, nil
}

// length reads the length of a bulk string or an array; null is -1, which only
// RESP2 has.
func (c *Client) length(text string, limit int) (int, error) {
	n, err := strconv.Atoi(text)
	switch {
	case err != nil:
		return 0, err
	case n == -1 && c.Proto == 3:
		return 0, errors.New("RESP2 null in a RESP3 reply")
	case n < -1 || n > limit:
		return 0, fmt.Errorf("length %d out of range", n)
	}
	return n, nil
}

func (c *Client) bulk(kind byte, text string) (any, error) {
	n, err := c.length(text, maxReplyBytes)
	if err != nil || n < 0 {
		return nil, err
	}
	b := make([]byte, n+2)
	if _, err := io.ReadFull(c.in, b); err != nil {
		return nil, err
	}
	s, ok := strings.CutSuffix(string(b), "\r\n")
	if !ok {
		return nil, errors.New("bulk string without its end")
	}
	if kind == '=' {
		if len(s) < 4 || s[3] != ':' {
			return nil, fmt.Errorf("verbatim string without a format: %.10q", s)
		}
		s = s[4:]
	}
	return s, nil
}

func (c *Client) items(kind byte, text string, depth int) (any, error) {
	n, err := c.length(text, maxReplyItems)
	if err != nil || n < 0 {
		return nil, err
	}
	if kind == '%' {
		n *= 2
	}
	items := make([]any, 0, min(n, 1024))
	for range n {
		v, err := c.value(depth + 1)
		if err != nil {
			return nil, err
		}
		items = append(items, v)
	}
	switch kind {
	case '%':
		return Map(items), nil
	case '>':
		return Push(items), nil
	case '~':
		return Set(items), nil
	}
	return items, nil
}
