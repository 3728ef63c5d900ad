// Command redlock-proxy is one Redis endpoint with five Redis primaries behind it.
// See README.md; `redlock-proxy -h` lists every setting.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"redlockproxy/conf"
	"redlockproxy/proxy"
)

// version is set when the program is built; see the Makefile.
var version = "dev"

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1 // it was tried and did not work; for check: something is unfit; for inspect: no answer
	// The command line or the configuration is wrong, which starting again does not mend:
	// EX_CONFIG of sysexits.h. Not 2, with which Go ends every program that panics.
	exitConfig = 78
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Environ(), os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is the whole program; it ends when ctx does.
func run(ctx context.Context, args, environ []string, out, errs io.Writer) int {
	cfg, command, err := conf.Load(args, environ, os.ReadFile)
	if err != nil {
		_, _ = fmt.Fprintln(errs, err)
		return exitConfig
	}
	switch command.Action {
	case conf.Help:
		_, _ = fmt.Fprint(out, conf.HelpText())
		return exitOK
	case conf.Version:
		_, _ = fmt.Fprintln(out, "redlock-proxy", version)
		return exitOK
	case conf.Check:
		if command.Ping {
			return report(errs, proxy.Ping(ctx, cfg.Server, os.ReadFile))
		}
		return report(errs, proxy.Check(ctx, cfg, out, os.ReadFile))
	case conf.Top:
		return report(errs, proxy.Top(ctx, cfg.Server, out))
	case conf.Inspect:
		return report(errs, proxy.Inspect(ctx, cfg, command.Key, out, os.ReadFile))
	case conf.Init:
		return report(errs, proxy.Init(ctx, cfg, out, os.ReadFile))
	}
	hangup := make(chan os.Signal, 1) // two at once are one
	signal.Notify(hangup, syscall.SIGHUP)
	defer signal.Stop(hangup)
	return report(errs, proxy.Run(ctx, cfg, version, out, errs, os.ReadFile, proxy.Reload{
		Asked: hangup,
		Load: func() (conf.Config, error) {
			again, _, err := conf.Load(args, environ, os.ReadFile)
			return again, err
		},
	}))
}

func report(errs io.Writer, err error) int {
	if err != nil {
		_, _ = fmt.Fprintln(errs, "redlock-proxy:", err)
		return exitFailed
	}
	return exitOK
}
