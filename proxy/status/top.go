package status

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// topEvery is how often a live table is renewed.
const topEvery = time.Second

// maxFacts bounds what is read of an answer: far more than facts ever are.
const maxFacts = 4 << 20

// Top asks the admin address of a running proxy for its facts and shows them: once or,
// live, again and again over the same place of a terminal until ctx ends. While a live
// table gets no answer it says so, and goes on.
func Top(ctx context.Context, network, addr string, out io.Writer, live bool) error {
	client := &http.Client{
		Timeout: 5 * time.Second,
		Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, addr)
		}},
	}
	defer client.CloseIdleConnections()
	if !live {
		f, err := ask(ctx, client)
		if err != nil {
			return err
		}
		_, err = io.WriteString(out, Text(f, nil))
		return err
	}
	tick := time.NewTicker(topEvery)
	defer tick.Stop()
	var before *Facts
	for {
		f, err := ask(ctx, client)
		text := Text(f, before)
		before = &f
		if err != nil {
			text, before = err.Error()+"\n", nil
		}
		if ctx.Err() != nil {
			return nil
		}
		// To the upper left, and clear what was there.
		if _, err := io.WriteString(out, "\x1b[H\x1b[2J"+text); err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

func ask(ctx context.Context, client *http.Client) (f Facts, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://proxy/status.json", nil)
	if err != nil {
		return f, err
	}
	answer, err := client.Do(request)
	if err != nil {
		return f, fmt.Errorf("no running proxy answers at its admin address (server.admin): %w", errors.Unwrap(err))
	}
	defer answer.Body.Close() //nolint:errcheck // it was only read
	if answer.StatusCode != http.StatusOK {
		return f, fmt.Errorf("the admin address (server.admin) answers %s: is this a redlock-proxy?", answer.Status)
	}
	if err := json.NewDecoder(io.LimitReader(answer.Body, maxFacts)).Decode(&f); err != nil {
		return f, fmt.Errorf("the admin address (server.admin) gave no facts: %w", err)
	}
	return f, nil
}
