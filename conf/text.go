package conf

import (
	"fmt"
	"strings"
)

// Example is the documented example file: every setting with its default, which
// is what conf/redlock-proxy.example.toml must hold. Only group.backends stands
// there as a comment, because its default is to be left out.
func Example() string {
	c := Default()
	var b strings.Builder
	b.WriteString(`# redlock-proxy: every setting, with its default.
#
# Give the file with -config FILE or REDLOCK_PROXY_CONFIG. Leave out what need not
# change. Defaults < this file < environment < command line. An unknown name is an
# error. Time spans are texts such as "150ms" or "24h", sizes are bytes.
#
# SIGHUP makes a running proxy read this file and all those that it names again. It
# takes over the settings with "Reload: yes"; clients and locks stay. If a value is
# wrong, or another setting has changed, it says so in the log and changes nothing.
`)
	rows := table(&c)
	for _, s := range sections {
		fmt.Fprintf(&b, "\n# %s\n[%s]\n", s.doc, s.name)
		for _, f := range rows {
			if f.section() != s.name {
				continue
			}
			b.WriteByte('\n')
			for line := range strings.SplitSeq(f.doc, "\n") {
				b.WriteString("# " + line + "\n")
			}
			assignment := f.name() + " = " + f.literal()
			if f.kind == kindList {
				assignment = "# " + f.name() + ` = ["10.0.1.1:6379", "10.0.2.1:6379", "10.0.3.1:6379", "10.0.4.1:6379", "10.0.5.1:6379"]`
			}
			fmt.Fprintf(&b, "# Values: %s. Environment: %s\n# Reload: %s.\n%s\n", f.bounds, f.env(), f.reload(), assignment)
		}
	}
	return b.String()
}

// reload says whether a running proxy takes over another value.
func (f field) reload() string {
	if f.canChange {
		return "yes"
	}
	return "no, because " + f.because
}

// HelpText is what -h prints.
func HelpText() string {
	c := Default()
	var b strings.Builder
	b.WriteString(`redlock-proxy answers Redis lock commands from the votes of a majority of
independent Redis servers.

Usage: redlock-proxy [command] [flags]

Commands:
  serve     run the proxy; this is what happens without a command
  check     check the configuration, connect to each backend, print a table;
            exit status 1 if something is unfit. With -ping: only send PING to the
            proxy that runs with this configuration (for health checks)
  top       show how the proxy that runs with this configuration is, as a table that
            renews itself each second; once, where the output is no terminal
  inspect KEY
            show what each backend holds under a key, for how much longer, and what
            the group would answer; exit status 1 if too few backends answer for that
  init      look at the backends as check does, and declare that no lock of before
            matters: each backend that has no vote gets one (see group.init)
  version   print the version
  help      print this text

Flags, before or after the command:
  -config FILE      read settings from a TOML file (or REDLOCK_PROXY_CONFIG)
  -listen ADDR      server.listen: where clients connect
  -admin ADDR       server.admin: status page, metrics and health; "" is off
  -backends A,B,…   group.backends: 1, 3, 5 or 7 of them; without: five in-process ones
  -log-level L      log.level
  -log-format F     log.format: json or console
  -ping             with check, see there
  -h, -help         print this text

Exit status 78 is a wrong command line or configuration, also of serve.

Settings: defaults < TOML file < environment < flags. The variable of a setting is
REDLOCK_PROXY_<SECTION>_<KEY>, such as REDLOCK_PROXY_SERVER_ANSWER_WITHIN. All about
each of them: conf/redlock-proxy.example.toml.

SIGHUP makes serve read its file, and the certificates and passwords in files, again.
Clients stay connected. Settings marked with * change only with a restart.
`)
	rows := table(&c)
	for _, s := range sections {
		fmt.Fprintf(&b, "\n[%s] %s\n", s.name, s.doc)
		for _, f := range rows {
			if f.section() != s.name {
				continue
			}
			summary, _, _ := strings.Cut(f.doc, "\n")
			mark := ""
			if !f.canChange {
				mark = " *"
			}
			fmt.Fprintf(&b, "  %s = %s   (%s)%s\n      %s\n", f.name(), f.literal(), f.bounds, mark, summary)
		}
	}
	return b.String()
}
