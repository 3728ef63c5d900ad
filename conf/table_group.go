package conf

import "time"

func groupRows(t *fields, c *Config) {
	g := &c.Group
	t.text("group.name", &g.Name, "default", "1 to 64 letters, digits, dots, - and _", checkName,
		`The group's name, in its log lines, INFO, and the marker on each of its backends.
Danger: all proxies of a group need the same name. A backend that is marked for
another one is not used.`).fixed(groupsAgree)
	t.backends("group.backends", &g.Backends,
		`The independent Redis primaries, each on a machine of its own.
An entry is "host:port", "redis://user:password@host:port", "rediss://…" for TLS,
or "unix:/path". In the environment and on the command line the list is one text,
separated by commas (write %2C for one in a password). Left out altogether, "serve"
runs on five in-process backends, for trying it out.
What a backend has for itself goes behind its URL, as paths of files:
"rediss://user@host:port?password_file=/p&tls_ca=/a&tls_cert=/c&tls_key=/k". What is
not there is the group's, from the settings below. A reload takes over everything but
the addresses.
Danger: all proxies of the group need the same list in the same order; two lists
are two majorities that need not meet. Replicas, cluster nodes and one server under
two names are no independent backends. A password on the command line is seen by
everybody on the machine.`).fixed(groupsAgree)
	t.secret("group.backend_user", &g.BackendUser,
		`The user for backends whose entry has no credentials.`).live()
	t.secret("group.backend_password", &g.BackendPassword,
		`The password for backends whose entry has no credentials.
Better in backend_password_file or the environment. How to change a password while
the proxy runs: see the README.`).live()
	t.text("group.backend_password_file", &g.BackendPasswordFile, "", "a path; \"\" is none", checkPath,
		`A file that holds backend_password; one newline at its end does not count.
Only one of the two may be set.`).live()
	t.text("group.tls_ca", &g.TLSCA, "", "a path, PEM; \"\" is the system's list", checkPath,
		`Who signs the certificates of the rediss:// backends.`).live()
	t.text("group.tls_cert", &g.TLSCert, "", "a path, PEM; \"\" is none", checkPath,
		`The certificate that the proxy shows to rediss:// backends. Needs tls_key.`).live()
	t.text("group.tls_key", &g.TLSKey, "", "a path, PEM", checkPath,
		`The private key of tls_cert. Its file should be readable for the proxy alone.`).live()
	t.choice("group.init", &g.Init, "auto", []string{"auto", "manual"},
		`Who declares a group to be new: the proxy itself, or only "redlock-proxy init".
A group is new when none of its backends has the proxy's marker and all can be
reached. One that has lost its memory everywhere at once looks the same: with auto,
what was locked then can be locked again. With manual, clients get UNAVAILABLE until
somebody has run "redlock-proxy init".`).fixed("backends were judged by it at the start")
	t.duration("group.max_ttl", &g.MaxTTL, 24*time.Hour, time.Second, 365*24*time.Hour,
		`The longest lock; a SET or EXPIRE that asks for more is refused.
After more backends than a minority have lost their memory, nothing can be locked for
as long, unless somebody runs "redlock-proxy init": keep it as short as you can.
Danger: all proxies of a group need the same value.`).fixed(groupsAgree)
	t.flag("group.pad_ttl", &g.PadTTL, true,
		`Store each lock for its ttl and 1 % + 2 ms more, the allowance for clock drift.
A client of a single Redis counts on the whole ttl from the moment it asked.
Danger: with false it may count on a lock that has ended on the backends.`).fixed(groupsAgree)
}
