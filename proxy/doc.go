// Package proxy is the server: it looks like one Redis to its clients and asks a
// group of five.
//
// # The way of one SET key token NX PX ttl
//
//	client
//	  │  bytes
//	guard.Conn          only whole, bounded, well-formed commands pass
//	  │
//	redcon              splits them; hands over what arrived together
//	  │  [][]byte
//	session.serve       commands of different keys side by side, replies in order
//	  │  []string
//	resp.Parse          words → resp.Set, or Redis's own error
//	  │  resp.Request
//	Server.execute      which kind of decision is it?
//	  │
//	quorum.Group.Acquire    one call for all, under the key's order lock
//	  │  quorum.Call
//	lane × 5            queue → one pipeline per backend → its answer
//	  │  quorum.Answer
//	round               the third grant decides
//	  │  quorum.Acquisition
//	Server.execute      → answer: the reply, and the lock it speaks of
//	  │
//	session.finish      still valid? client still there? else undone and refused
//	  │  resp.Reply
//	resp.Append         → bytes, in one write
//	  │
//	client
//
// Data goes down this page; nothing reaches back up. Reads, counters, walks through
// the keys and transactions take the same road with another method of the group;
// scripts and MULTI run on a quorum.View by package engine, scripts inside the VM of
// package lua. What needs no backend ends at session.local.
//
// # Who owns what
//
// redcon owns a goroutine per client, which owns the client's session. Commands of a
// pipeline run in goroutines that the session waits for; a script that may touch keys
// that it does not name runs alone. A lane owns one goroutine
// and its connection. The Server owns the lanes, and ends them after the last client
// has gone; it owns the watch too, a goroutine that remembers how the backends were and
// logs those that stop answering, and where there is a single backend the one that
// measures its replicas' lag. The keeper, which admits the backends, is another. Run
// owns the goroutine that writes the log, and is itself the one that reloads.
//
// # A reload
//
// The configuration in force is one immutable value behind a pointer, and so are the
// guard's rules for clients, the limits of scripts, and how to get into each backend.
// Reload makes all of the new ones first, which may fail, and then puts them in place of
// the old, which can't. Whoever works with an old one ends with it.
//
// redcon's types stay in server.go, Lua's in package lua, Prometheus's in package metrics.
// Of go-redis, backends.go, check.go and run.go see no more than options and the log; it
// is spoken to in the packages lane, look and replication. What a client hears is a
// resp.Reply until the last moment.
//
// Package socket is what is done to a file descriptor without Go's scheduler, package
// turnstile how those who have much to do let the others go first: clients that fill
// their buffers, in guard, and long scripts, in package lua.
//
// # What is seen of it
//
// What happens on the way of a command is counted where it ends: in logAcquisition and
// logStep, which also write its line. What is a state, of a lane or of the guard, is
// asked for when somebody looks: observe.go answers package metrics, facts.go package
// status.
package proxy
