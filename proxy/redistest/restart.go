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
	for _, name := range []string{"appendonlydir", snapshot} {
		if err := os.RemoveAll(filepath.Join(s.dir, name)); err != nil {
			s.tb.Fatal(err)
		}
	}
	s.relaunch(false)
}

// snapshot is the file that SAVE writes.
const snapshot = "dump.rdb"

// RestartLoading kills the server and starts it on the same address with what it holds
// now, and some thousands of keys beside, which it reads so slowly that it answers
// nothing but LOADING for a minute, or until FinishLoading. The server must not be
// Persistent.
func (s *Server) RestartLoading() {
	s.tb.Helper()
	// It listens to nobody before it has read the next 1024 bytes, so each key has more.
	s.MustDo("CONFIG", "SET", "rdbcompression", "no")
	s.MustDo("DEBUG", "POPULATE", "6000", "filler", "1100")
	s.MustDo("SAVE")
	s.Kill()
	s.relaunch(true, "--loading-process-events-interval-bytes", "1024", "--key-load-delay", "10000")
}

// FinishLoading lets a server that reads its data slowly hurry, and waits until it
// answers. It does nothing to another.
func (s *Server) FinishLoading() {
	s.tb.Helper()
	s.MustDo("CONFIG", "SET", "key-load-delay", "0")
	if !poll(processPatience, func() bool {
		reply, err := s.Do("PING")
		return err == nil && !isLoading(reply)
	}) {
		s.tb.Fatalf("redis-server on %s still loads", s.Addr())
	}
}

// isLoading tells whether a reply says that the server reads its data.
func isLoading(reply any) bool {
	e, isError := reply.(Error)
	return isError && e.Code() == "LOADING"
}

// RestartWithData kills the server if it still runs and starts it on the same
// address with what it held. The server must be Persistent.
func (s *Server) RestartWithData() {
	s.tb.Helper()
	if !s.config.persistent {
		s.tb.Fatal("RestartWithData of a server that was not started as Persistent")
	}
	s.Kill()
	s.relaunch(false)
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
	s.relaunch(false)
}

func (s *Server) relaunch(loads bool, more ...string) {
	s.tb.Helper()
	var err error
	if !poll(processPatience, func() bool {
		err = s.launch(loads, more...)
		return !errors.Is(err, errPortTaken)
	}) || err != nil {
		s.tb.Fatalf("restart of redis-server on %s: %v", s.Addr(), err)
	}
}
