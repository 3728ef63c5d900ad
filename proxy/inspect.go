package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"text/tabwriter"
	"time"

	"github.com/mattn/go-isatty"

	"redlockproxy/conf"
	"redlockproxy/proxy/lane"
	"redlockproxy/proxy/look"
	"redlockproxy/proxy/status"
	"redlockproxy/quorum"
	"redlockproxy/resp"
)

// Inspect writes what each backend holds under a key, and what the group would answer.
// The error says that too few backends answer for that. It takes every backend that
// answers for one that votes.
func Inspect(ctx context.Context, cfg conf.Config, key string, out io.Writer, readFile func(string) ([]byte, error)) error {
	configs, err := quiet(cfg).laneConfigs(readFile)
	if err != nil {
		return err
	}
	l := look.New(lookConfig(configs))
	k := l.Key(ctx, key)
	if _, err := io.WriteString(out, sayKey(k)); err != nil {
		return err
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "BACKEND\tHOLDS\tTOKEN\tATTEMPT\tLEFT\tNOTE")
	for _, h := range k.Held {
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", h.Backend, h.Kind, dash(h.Token), dash(h.Stored), leftThere(h), dash(noteHeld(h, k.Answer)))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if k.Answer == look.Undecided {
		return errors.New("too few backends answer, or agree, for the group to have an answer")
	}
	return nil
}

// sayKey is what the group would say of a key.
func sayKey(k look.Key) string {
	n := len(k.Held)
	text := fmt.Sprintf("%s: ", k.Name)
	switch k.Answer {
	case look.Free:
		return text + "free; no backend holds anything\n"
	case look.Leftover:
		return text + fmt.Sprintf("free; what %d of %d backends hold is a remnant, and no lock\n", k.Holders, n)
	case look.Undecided:
		return text + fmt.Sprintf("undecided; %d of %d backends hold something, and %d must agree\n", k.Holders, n, quorum.Majority(n))
	}
	left := "for ever"
	if k.Validity >= 0 {
		left = "for another " + (time.Duration(k.Validity) * time.Millisecond).String()
	}
	return text + fmt.Sprintf("held on %d of %d backends, %s (what its holder may rely on); token %s\n", k.Holders, n, left, dash(k.Token))
}

func leftThere(h look.Held) string {
	switch {
	case h.Kind == look.Unknown, h.Kind == look.Absent:
		return "-"
	case h.TTL < 0:
		return "no expiry"
	}
	return (time.Duration(h.TTL) * time.Millisecond).String()
}

func noteHeld(h look.Held, answer look.Answer) string {
	switch {
	case h.Error != "":
		return h.Error
	case h.Agreed:
		return "agreed"
	case h.Kind == look.Absent || answer == look.Undecided:
		return ""
	}
	return "leftover"
}

// lookConfig is how to look at the backends of these lanes.
func lookConfig(configs []lane.Config) look.Config {
	cfg := look.Config{Hidden: func(key string) bool { return key == resp.ReservedKey }, Limit: lookLimit}
	for _, c := range configs {
		cfg.Backends = append(cfg.Backends, look.Backend{Name: c.Name, Options: c.Options})
	}
	return cfg
}

// Top shows how the running proxy is, again and again if out is a terminal.
func Top(ctx context.Context, c conf.Server, out io.Writer) error {
	if c.Admin == "" {
		return errors.New("there is no admin address to ask (server.admin)")
	}
	network, addr := c.AdminAddress()
	file, isFile := out.(*os.File)
	return status.Top(ctx, network, addr, out, isFile && isatty.IsTerminal(file.Fd()))
}
