package proxy

import (
	"fmt"
	"os"
	"runtime"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"time"

	"redlockproxy/quorum"
	"redlockproxy/resp"
)

// infoSections is the order in which INFO shows its parts.
var infoSections = []string{"server", "clients", "memory", "persistence", "stats", "replication", "cpu", "modules", "errorstats", "cluster", "keyspace", "quorum"}

// info is the text of INFO for the sections asked for; none means all. Fields that
// Redis has are called as in Redis, since clients look for them.
func (s *Server) info(asked []string) string {
	all := len(asked) == 0
	for _, a := range asked {
		switch resp.LowerASCII(a) {
		case "all", "default", "everything":
			all = true
		}
	}
	var b strings.Builder
	for _, name := range infoSections {
		wanted := slices.ContainsFunc(asked, func(a string) bool { return resp.LowerASCII(a) == name })
		if !all && !wanted {
			continue
		}
		if b.Len() > 0 {
			b.WriteString("\r\n")
		}
		fmt.Fprintf(&b, "# %s\r\n", resp.UpperASCII(name[:1])+name[1:])
		for _, line := range s.infoSection(name) {
			b.WriteString(line + "\r\n")
		}
	}
	return b.String()
}

func (s *Server) infoSection(name string) []string {
	switch name {
	case "server":
		up := time.Since(s.started)
		return []string{
			"redis_version:" + s.cfg().Server.AdvertisedVersion,
			"redis_mode:standalone",
			"redlock_proxy_version:" + s.version,
			"os:" + runtime.GOOS + " " + runtime.GOARCH,
			"process_id:" + strconv.Itoa(os.Getpid()),
			"run_id:" + s.runID,
			"tcp_port:" + s.port(),
			fmt.Sprintf("uptime_in_seconds:%d", int(up.Seconds())),
			fmt.Sprintf("uptime_in_days:%d", int(up.Hours()/24)),
		}
	case "clients":
		return []string{
			fmt.Sprintf("connected_clients:%d", s.clients.count()),
			fmt.Sprintf("maxclients:%d", s.cfg().Server.MaxClients),
			"blocked_clients:0",
		}
	case "memory":
		// Not runtime.ReadMemStats: it stops all that runs, for each INFO.
		m := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/total:bytes"}}
		metrics.Read(m)
		return []string{
			fmt.Sprintf("used_memory:%d", m[0].Value.Uint64()),
			fmt.Sprintf("used_memory_rss:%d", m[1].Value.Uint64()),
			"maxmemory:0",
			"maxmemory_policy:noeviction",
		}
	case "persistence":
		return []string{"loading:0", "rdb_bgsave_in_progress:0", "aof_enabled:0"}
	case "stats":
		return []string{
			fmt.Sprintf("total_connections_received:%d", s.stats.connections.Load()),
			fmt.Sprintf("total_commands_processed:%d", s.stats.commands.Load()),
			fmt.Sprintf("rejected_connections:%d", s.stats.rejected.Load()),
		}
	case "cluster":
		return []string{"cluster_enabled:0"}
	case "replication":
		return []string{"role:master", "connected_slaves:0"}
	case "quorum":
		return s.infoQuorum()
	}
	return nil
}

// infoQuorum tells how the group is: what an operator looks at first.
func (s *Server) infoQuorum() []string {
	var rows []string
	now := time.Now()
	numbers := 0
	for i, l := range s.lanes {
		if l.Facts().Numbers {
			numbers++
		}
		b := backendFacts(l, now)
		drift := "unknown"
		if b.Drift != nil {
			drift = fmt.Sprintf("%.3f", *b.Drift)
		}
		rows = append(rows, fmt.Sprintf("backend%d:address=%s,state=%s,state_seconds=%d,role=%s,round_trip_ms=%.3f,clock_drift_ms=%s,"+
			"restarts=%d,refills=%d,debts=%d,debts_lost=%d,waiting=%d,granted=%d,refused=%d,failed=%d,warnings=%s,reason=%s",
			i, b.Name, b.State, int(b.Since), b.Role, b.RoundTrip, drift,
			b.Restarts, b.Refills, b.Debts, b.DebtsLost, b.Waiting, b.Granted, b.Refused, b.Failed, dash(strings.Join(b.Warnings, "|")), dash(oneField(b.Reason))))
	}
	n := len(s.lanes)
	return append([]string{
		"group:" + s.cfg().Group.Name,
		"topology:" + s.topology,
		fmt.Sprintf("backends:%d", n),
		fmt.Sprintf("quorum:%d", quorum.Majority(n)),
		fmt.Sprintf("voters:%d", s.voters()),
		fmt.Sprintf("number_voters:%d", numbers),
		"votes:" + s.votes(),
		fmt.Sprintf("success_rate:%.4f", s.metrics.SuccessRate()),
		fmt.Sprintf("stale_fencing_token_rejections:%d", s.metrics.Stales()),
		fmt.Sprintf("log_lines_dropped:%d", s.droppedLines()),
	}, rows...)
}

// oneField makes a text fit into a row of fields: without commas and line breaks.
func oneField(text string) string {
	return strings.NewReplacer(",", ";", "\r", " ", "\n", " ").Replace(text)
}

// configGet answers CONFIG GET: the few settings that clients ask a Redis for.
func (s *Server) configGet(patterns []string) resp.Reply {
	settings := [][2]string{
		{"appendonly", "no"},
		{"databases", "1"},
		{"maxclients", strconv.Itoa(s.cfg().Server.MaxClients)},
		{"maxmemory", "0"},
		{"maxmemory-policy", "noeviction"},
		{"replica-read-only", "yes"},
		{"save", ""},
		{"timeout", strconv.Itoa(int(s.cfg().Server.Idle.Seconds()))},
	}
	found := resp.Map{}
	for _, p := range patterns { // in the order in which they are asked for, each once
		for _, kv := range settings {
			name := resp.Bulk(kv[0])
			if len(p) == len(kv[0]) && resp.LowerASCII(p) == kv[0] {
				name = resp.Bulk(p) // as it was asked for
			}
			if settingMatches(resp.LowerASCII(p), kv[0]) && !slices.Contains(found, resp.Reply(name)) {
				found = append(found, name, resp.Bulk(kv[1]))
			}
		}
	}
	return found
}

// settingMatches tells whether a setting is meant: by its name, or by a pattern.
func settingMatches(word, name string) bool {
	if len(word) <= resp.MaxPattern && strings.ContainsAny(word, "*?[") {
		return glob(word, name)
	}
	return word == name
}
