package faults

import (
	"flag"
	"fmt"
	"os"
	"testing"
)

var figures = flag.String("figures", "", "a file to append the figures to that are measured")

// Figure is something that a test measured and people want to see: it goes into the
// test's log, and as one line into the file that -figures names.
func Figure(tb testing.TB, format string, args ...any) {
	tb.Helper()
	line := fmt.Sprintf(format, args...)
	tb.Log(line)
	if *figures == "" {
		return
	}
	f, err := os.OpenFile(*figures, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = fmt.Fprintln(f, line)
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		tb.Error(err)
	}
}
