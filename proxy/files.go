package proxy

import "syscall"

// Descriptors that clients can't have: a backend's connections, also while one takes the
// place of another, and what the log, the admin address and Go itself need.
const (
	filesPerBackend = 6
	otherFiles      = 32
)

// noteFiles warns of more clients than this process may open files for. Those beyond would
// wait for a connection that nobody accepts, without the error that Redis has for them.
func (s *Server) noteFiles() {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return
	}
	clients := s.cfg().Server.MaxClients
	if need := uint64(clients + len(s.lanes)*filesPerBackend + otherFiles); need > limit.Cur {
		s.log.Warn().Int("max_clients", clients).Uint64("files", limit.Cur).Uint64("wanted", need).
			Msg("more clients are allowed than this process may open files for; raise its limit (ulimit -n, LimitNOFILE) or lower server.max_clients")
	}
}
