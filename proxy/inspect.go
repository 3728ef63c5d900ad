package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
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
// Who votes it judges as a proxy does that starts now. The error says that too few
// backends vote, or answer, for an answer.
func Inspect(ctx context.Context, cfg conf.Config, key string, out io.Writer, readFile func(string) ([]byte, error)) error {
	configs, err := quiet(cfg).laneConfigs(readFile)
	if err != nil {
		return err
	}
	reports := inspectAll(ctx, configs)
	noVote := votesNot(reports, names(configs))
	c := lookConfig(configs)
	c.Votes = func(i int) bool { return noVote[i] == "" }
	k := look.New(c).Key(ctx, key)
	voters := 0
	for i, h := range k.Held {
		if noVote[i] == "" && h.Kind != look.Unknown {
			voters++
		}
	}
	if _, err := io.WriteString(out, sayKey(k, voters, unfounded(reports))); err != nil {
		return err
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "BACKEND\tHOLDS\tTOKEN\tATTEMPT\tLEFT\tNOTE")
	for i, h := range k.Held {
		note := noteHeld(h, k.Answer)
		switch {
		case noVote[i] != "":
			note = "no vote: " + noVote[i]
		case reports[i].NoVote != "" && h.Error == "":
			note = strings.TrimPrefix(note+"; ", "; ") + reports[i].NoVote
		}
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", h.Backend, h.Kind, dash(h.Token), dash(h.Stored), leftThere(h), dash(note))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if k.Answer == look.Undecided {
		return errors.New("too few backends vote, or agree, for the group to have an answer")
	}
	return nil
}

// votesNot is for each backend why it has no vote; "" if it has one.
func votesNot(reports []lane.Report, names []string) []string {
	why, unfit := judge(reports, names, false)
	for i, r := range reports {
		switch {
		case unfit[i]:
		case !r.Votes:
			why[i] = r.NoVote
		default:
			why[i] = ""
		}
	}
	return why
}

// unfounded tells whether the group is new, for all that can be seen. One that has
// forgotten everything everywhere looks the same.
func unfounded(reports []lane.Report) bool {
	reached := false
	for _, r := range reports {
		if r.Err == nil && !r.New {
			return false
		}
		reached = reached || r.Err == nil
	}
	return reached
}

// sayKey is what the group would say of a key.
func sayKey(k look.Key, voters int, unfounded bool) string {
	n := len(k.Held)
	text := fmt.Sprintf("%s: ", k.Name)
	switch {
	case unfounded:
		return text + "unavailable; the group is not founded: no backend has a marker of a voter, so it is new, or has forgotten everything\n"
	case voters < quorum.Majority(n):
		return text + fmt.Sprintf("unavailable; %d of %d backends vote, and %d must\n", voters, n, quorum.Majority(n))
	}
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
