package proxy

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rs/zerolog"

	"redlockproxy/conf"
	"redlockproxy/proxy/lane"
	"redlockproxy/quorum"
	"redlockproxy/resp"
)

// Check looks at every backend, writes a table of what it found, and returns an
// error if something is unfit, or would store no lock at this moment.
func Check(ctx context.Context, cfg conf.Config, out io.Writer, readFile func(string) ([]byte, error)) error {
	return check(ctx, cfg, out, readFile, true)
}

// check is Check; without stores, a backend that stores no lock for now may be fit.
func check(ctx context.Context, cfg conf.Config, out io.Writer, readFile func(string) ([]byte, error), stores bool) error {
	if cfg.Embedded {
		_, err := fmt.Fprintln(out, "The configuration is valid. No backends are named: `serve` would run on embedded ones, for trying it out only.")
		return err
	}
	configs, err := quiet(cfg).laneConfigs(readFile)
	if err != nil {
		return err
	}
	reports, names := inspectAll(ctx, configs), names(configs)
	notes, unfit := judge(reports, names, stores)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "BACKEND\tSTATE\tVERSION\tROLE\tRUN ID\tROUND TRIP\tCLOCK\tNOTE")
	for i, r := range reports {
		state := "fit"
		switch {
		case unfit[i]:
			state = "unfit"
		case notes[i] != "":
			state = "warning"
		}
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", names[i], state, dash(r.Version), dash(role(r.Role)),
			dash(shorten(r.RunID, 8)), roundTrip(r), ahead(r), dash(notes[i]))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	bad := 0
	for _, u := range unfit {
		if u {
			bad++
		}
	}
	if bad > 0 {
		return fmt.Errorf("%d of %d backends are unfit; %d are needed for any decision", bad, len(reports), quorum.Majority(len(reports)))
	}
	return nil
}

// inspectAll looks at every backend at once.
func inspectAll(ctx context.Context, configs []lane.Config) []lane.Report {
	reports := make([]lane.Report, len(configs))
	var wg sync.WaitGroup
	for i, lc := range configs {
		lc.Twin = nil // judge names both
		wg.Go(func() { reports[i] = lane.Inspect(ctx, lc) })
	}
	wg.Wait()
	return reports
}

// quiet is a server that only knows how to reach its backends, and logs nothing: what
// there is to say the command prints.
func quiet(cfg conf.Config) *Server {
	redis.SetLogger(libraryLog{zerolog.Nop()})
	s := &Server{log: zerolog.Nop()}
	s.settings.Store(&cfg)
	return s
}

// judge says what is to be known of each backend, and which must not be used.
func judge(reports []lane.Report, names []string, stores bool) (notes []string, unfit []bool) {
	notes, unfit = make([]string, len(reports)), make([]bool, len(reports))
	for i, r := range reports {
		switch {
		case r.Err != nil:
			notes[i], unfit[i] = r.Err.Error(), true
		default:
			notes[i], unfit[i] = strings.Join(r.Warnings, "; "), stores && r.NoLocks != ""
		}
		for j := range i {
			if r.RunID != "" && r.RunID == reports[j].RunID {
				notes[i], unfit[i] = "the same server as "+names[j]+": it must not vote twice", true
			}
		}
	}
	return notes, unfit
}

func roundTrip(r lane.Report) string {
	if r.Err != nil {
		return "-"
	}
	return r.RoundTrip.Round(10 * time.Microsecond).String()
}

// ahead is the distance of the backend's clock from ours. Locks do not depend on it,
// but a clock that is far off has nobody to set it, and may be set at any time.
func ahead(r lane.Report) string {
	if r.Err != nil || !r.TellsTime {
		return "-"
	}
	return fmt.Sprintf("%+.1f ms", float64(r.Ahead.Microseconds())/1000)
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func shorten(s string, n int) string { return s[:min(n, len(s))] }

// Ping asks the server on this machine for a PONG, as a health check does: no
// backend takes part.
func Ping(ctx context.Context, c conf.Server, readFile func(string) ([]byte, error)) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	network, addr := c.PingAddress()
	conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // nothing was written that could be lost
	if end, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(end); err != nil {
			return err
		}
	}
	if c.TLSCert != "" {
		encrypted, err := clientTLS(conn, c, readFile)
		if err != nil {
			return err
		}
		if err := encrypted.HandshakeContext(ctx); err != nil {
			return err
		}
		conn = encrypted
	}
	r := bufio.NewReader(conn)
	if c.Password.IsSet() {
		if err := exchange(conn, r, resp.OK, "AUTH", c.Password.Reveal()); err != nil {
			return errors.New("the server does not take the configured password")
		}
	}
	return exchange(conn, r, resp.Status("PONG"), "PING")
}

// clientTLS speaks TLS to our own server: what it shows must be what it was told to
// show, by the same files. Its name is not looked at, since this is its own machine.
func clientTLS(conn net.Conn, c conf.Server, readFile func(string) ([]byte, error)) (*tls.Conn, error) {
	own, err := c.TLS(readFile)
	if err != nil {
		return nil, err
	}
	return tls.Client(conn, &tls.Config{
		MinVersion:         tls.VersionTLS12,
		Certificates:       own.Certificates,
		InsecureSkipVerify: true, //nolint:gosec // see above
		// Before anything is sent: the port may be somebody else's by now.
		VerifyConnection: func(shown tls.ConnectionState) error {
			if len(shown.PeerCertificates) == 0 || !bytes.Equal(shown.PeerCertificates[0].Raw, own.Certificates[0].Certificate[0]) {
				return errors.New("the server shows another certificate than the one in server.tls_cert: it is another program, or has not reloaded its files")
			}
			return nil
		},
	}), nil
}

func exchange(w io.Writer, r *bufio.Reader, want resp.Reply, words ...string) error {
	command := make(resp.Array, len(words))
	for i, word := range words {
		command[i] = resp.Bulk(word)
	}
	if _, err := w.Write(resp.Append(nil, command, resp.RESP2)); err != nil {
		return err
	}
	got, err := resp.ReadReply(r, resp.RESP2)
	if err != nil {
		return err
	}
	if got != want {
		return fmt.Errorf("%s was answered with %v", words[0], got)
	}
	return nil
}
