package redistest

import (
	"errors"
	"os"
	"path/filepath"
)

// Pause stops the process (SIGSTOP): connections stay open and are accepted by
// the kernel, and what is sent waits until Resume.
func (s *Server) Pause() {
	s.tb.Helper()
	if err := s.proc.pause(); err != nil {
		s.tb.Fatal(err)
	}
}

// Resume lets a paused server run on (SIGCONT).
func (s *Server) Resume() {
	s.tb.Helper()
	if err := s.proc.resume(); err != nil {
		s.tb.Fatal(err)
	}
}

// Kill ends the process (SIGKILL), paused or not. Its port refuses connections
// until a restart.
func (s *Server) Kill() { s.proc.kill() }

// Restart kills the server if it still runs and starts it on the same address
// with nothing in it.
func (s *Server) Restart() {
	s.tb.Helper()
	s.Kill()
	if err := os.RemoveAll(filepath.Join(s.dir, "appendonlydir")); err != nil {
		s.tb.Fatal(err)
	}
	s.relaunch()
}

// RestartWithData kills the server if it still runs and starts it on the same
// address with what it held. The server must be Persistent.
func (s *Server) RestartWithData() {
	s.tb.Helper()
	if !s.config.persistent {
		s.tb.Fatal("RestartWithData of a server that was not started as Persistent")
	}
	s.Kill()
	s.relaunch()
}

// RestartTorn kills the server if it still runs, cuts the given number of bytes off
// the end of its append-only file, as a machine that lost power before they were on
// its disk, and starts it with what is left: the last commands are forgotten, those
// before are not. The server must be Persistent.
func (s *Server) RestartTorn(bytes int64) {
	s.tb.Helper()
	if !s.config.persistent {
		s.tb.Fatal("RestartTorn of a server that was not started as Persistent")
	}
	s.Kill()
	files, err := filepath.Glob(filepath.Join(s.dir, "appendonlydir", "*.incr.aof"))
	if err != nil || len(files) != 1 {
		s.tb.Fatalf("the append-only file of %s: %v, %v", s.Addr(), files, err)
	}
	info, err := os.Stat(files[0])
	if err == nil {
		err = os.Truncate(files[0], max(info.Size()-bytes, 0))
	}
	if err != nil {
		s.tb.Fatal(err)
	}
	s.relaunch()
}

func (s *Server) relaunch() {
	s.tb.Helper()
	var err error
	if !poll(processPatience, func() bool {
		err = s.launch()
		return !errors.Is(err, errPortTaken)
	}) || err != nil {
		s.tb.Fatalf("restart of redis-server on %s: %v", s.Addr(), err)
	}
}
