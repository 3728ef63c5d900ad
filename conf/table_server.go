package conf

import "time"

func serverRows(t *fields, c *Config) {
	accessRows(t, &c.Server)
	replyRows(t, &c.Server)
	limitRows(t, &c.Server)
}

func accessRows(t *fields, s *Server) {
	t.text("server.listen", &s.Listen, "127.0.0.1:6380", "host:port, :port, unix:/path; port 0 takes any that is free", checkListen,
		`Where clients connect.
Danger: on anything but loopback or a Unix socket others can reach the locks;
set password or tls_client_ca, or the proxy refuses to start (see protected).`).fixed(clientsKnow)
	t.text("server.admin", &s.Admin, "127.0.0.1:9121", "host:port, :port, unix:/path; \"\" is off", checkAdmin,
		`Where health, metrics and the status page are served by HTTP.
/ is the page, /metrics is for Prometheus, /healthz says that the process lives,
/readyz that a majority of the backends votes (status 503 if not).
Danger: there is no login. Who can connect sees the names of locks, no tokens.`).fixed(clientsKnow)
	t.flag("server.admin_pprof", &s.AdminPprof, false,
		`Serve profiles of the running program at the admin address, under /debug/pprof/.
Danger: whoever can connect there can make the proxy spend time on them.`).fixed("the pages are put together at the start")
	t.flag("server.protected", &s.Protected, true,
		`Refuse to start where other machines can connect and nothing is asked of them.
That is: listen is neither loopback nor a Unix socket, and there is neither a
password nor tls_client_ca.
Danger: with false whoever reaches the port takes, holds and releases every lock.
Only for a network that nobody else is on, such as a pod with its sidecar.`).live()
	t.secret("server.password", &s.Password,
		`What clients must send with AUTH (user "default", or none).
Better in password_file or the environment: this file may be backed up or shared.`).live()
	t.text("server.password_file", &s.PasswordFile, "", "a path; \"\" is none", checkPath,
		`A file that holds the password; one newline at its end does not count.
Only one of password and password_file may be set.`).live()
	t.text("server.tls_cert", &s.TLSCert, "", "a path, PEM; \"\" is no TLS", checkPath,
		`The server's certificate, with those between it and its root.
With tls_key it makes TLS (1.2 or newer) the only way in.`).live()
	t.text("server.tls_key", &s.TLSKey, "", "a path, PEM", checkPath,
		`The private key of tls_cert. Its file should be readable for the proxy alone.`).live()
	t.text("server.tls_client_ca", &s.TLSClientCA, "", "a path, PEM; \"\" asks for no certificate", checkPath,
		`Who signs the certificates that clients must show. Needs tls_cert.
"redlock-proxy check -ping" shows tls_cert, so let it accept that, too.
Danger: every certificate that it ever signed gets in; use an authority of your own.`).live()
}

func replyRows(t *fields, s *Server) {
	t.text("server.advertised_version", &s.AdvertisedVersion, "8.4.0", "three numbers from 0 to 255", checkVersion,
		`The Redis version that HELLO, INFO, LOLWUT and scripts name.
Some clients choose their commands by it: from 8.4 on SET with IFEQ and DELEX, below
it WATCH with MULTI, or scripts. All of these are served.`).live()
	t.choice("server.unavailable_reply", &s.UnavailableReply, "error", []string{"error", "nil"},
		`What SET NX answers when too few backends voted: the error -UNAVAILABLE, or nil.
Danger: with nil an outage looks to the application as if somebody else had the
lock. Only for applications that cannot handle an error there.`).live()
	t.duration("server.answer_within", &s.AnswerWithin, 200*time.Millisecond, 10*time.Millisecond, 10*time.Second,
		`The longest time from a command's arrival to its reply, all rounds included.
Keep it below the shortest time limit of your clients: 250 ms is a default in use.
Danger: a client that gives up first does not learn that it holds the lock.`).fixed(refillsWait)
	t.duration("server.drain", &s.Drain, 5*time.Second, 0, 5*time.Minute,
		`The longest that a stop (SIGTERM, SIGINT) waits for commands that were started.
It waits for removals that are owed to backends, too.
Danger: shorter than answer_within it cuts commands off; what they took stays
until its ttl ends. Keep it below the time that your supervisor waits before it kills.`).live()
}

func limitRows(t *fields, s *Server) {
	t.number("server.max_clients", &s.MaxClients, 10_000, 1, 1_000_000,
		`The most connections at once; the next one gets Redis's error and is closed.
Each takes a file descriptor; a log line warns where the process may not have as many.`).live()
	t.number("server.max_args", &s.MaxArgs, 1024, 8, 65_536,
		`The most arguments of one command, its name included. Far fewer before the login.`).live()
	t.number("server.max_command_bytes", &s.MaxCommandBytes, 1<<20, 4<<10, 64<<20,
		`The most bytes of one command; more than script.max_source.
Memory: all clients' large commands together are bounded by max_large_bytes.`).live()
	t.number("server.max_large_bytes", &s.MaxLargeBytes, 8<<20, 64<<10, 1<<30,
		`The most bytes of large commands, from all clients, that are in work at once.
A command is large above 16 KiB; smaller ones never wait for it nor fail by it.
A client that would go over it gets an error and is closed.
Memory: up to about ten times this much.`).live()
	t.number("server.max_inline_bytes", &s.MaxInlineBytes, 64<<10, 1<<10, 64<<10,
		`The longest line of the inline protocol, in bytes; at most max_command_bytes.`).live()
	t.duration("server.half_command", &s.HalfCommand, 10*time.Second, 100*time.Millisecond, 10*time.Minute,
		`How long a command may take to arrive whole, from its first byte.`).live()
	t.duration("server.write_stall", &s.WriteStall, 10*time.Second, 100*time.Millisecond, 10*time.Minute,
		`How long a client may leave its replies unread before it is closed.`).live()
	t.duration("server.handshake", &s.Handshake, 5*time.Second, 100*time.Millisecond, time.Minute,
		`How long a TLS handshake may take.`).live()
	t.limit("server.idle", &s.Idle, time.Second, 24*time.Hour,
		`How long a client may say nothing before it is closed.
That goes for one that has never sent anything, too. Without this limit it may stay, as
with Redis, once it has logged in where there is a password; max_clients bounds how many
do, and half_command ends who sends a part of a command.
Danger: applications that keep connections in a pool see them close.`).live()
	t.number("server.threads", &s.Threads, 0, 0, 1024,
		`Processors that the proxy works on at once; 0: half of those there are.
What it does is mostly to wait for the network, and work spread over more processors
costs more of it: a quarter, measured on two. One has the time for some 20,000 locks
a second. Raise it where a proxy has a machine for itself and that is not enough.`).fixed("it is set once for the whole process")
	t.number("server.pipeline_depth", &s.PipelineDepth, 128, 1, 10_000,
		`The most commands of one connection in flight.
The proxy reads no more of it until some of them are answered.`).live()
}
