package pgtest

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx" of database/sql
)

// startPatience is how long making a cluster and starting its server may take on a
// busy machine; stopPatience how long the server may take to end.
const (
	startPatience = 60 * time.Second
	stopPatience  = 10 * time.Second
)

// Server is a running PostgreSQL.
type Server struct {
	// DSN connects to it, as the superuser of a database of its own, with the driver
	// "pgx".
	DSN string

	// DB is a pool of connections, closed when the test ends.
	DB *sql.DB
}

// Start makes a new cluster in a temporary folder, starts its server there, and waits
// until it answers. It is stopped, and the folder removed, when the test ends. A
// PostgreSQL that is not installed fails the test.
func Start(tb testing.TB) *Server {
	tb.Helper()
	bin, err := binaries()
	if err != nil {
		tb.Fatal(err)
	}
	// Not tb.TempDir: the path of a unix socket has 107 bytes at most, and the folders
	// above that one are closed to other users.
	dir, err := os.MkdirTemp("", "pg")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			tb.Error(err)
		}
	})
	as, err := account(dir)
	if err != nil {
		tb.Fatal(err)
	}
	data := filepath.Join(dir, "data")
	initdb := command(as, dir, filepath.Join(bin, "initdb"), "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	if out, err := initdb.CombinedOutput(); err != nil {
		tb.Fatalf("initdb: %v\n%s", err, out)
	}
	serve(tb, command(as, dir, filepath.Join(bin, "postgres"), "-D", data, "-k", dir,
		"-c", "listen_addresses=", "-c", "fsync=off", "-c", "shared_buffers=16MB", "-c", "max_connections=200"))
	s := &Server{DSN: fmt.Sprintf("host=%s user=postgres dbname=postgres sslmode=disable", dir)}
	if s.DB, err = sql.Open("pgx", s.DSN); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = s.DB.Close() }) // before the server ends
	ctx, cancel := context.WithTimeout(tb.Context(), startPatience)
	defer cancel()
	for err = s.DB.PingContext(ctx); err != nil; err = s.DB.PingContext(ctx) {
		if ctx.Err() != nil {
			tb.Fatalf("PostgreSQL does not answer after %s: %v", startPatience, err)
		}
		time.Sleep(5 * time.Millisecond)
	}
	return s
}

// serve starts the server and sees that it ends with the test; what it said is printed
// if the test failed.
func serve(tb testing.TB, cmd *exec.Cmd) {
	tb.Helper()
	var said output
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.WaitDelay = stopPatience
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGQUIT) // its "immediate shutdown"; it may have ended
		kill := time.AfterFunc(stopPatience, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait()
		kill.Stop()
		if tb.Failed() {
			tb.Logf("output of PostgreSQL:\n%s", said.String())
		}
	})
}

// output collects what the server says. Its processes write here even while it ends.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.text.Len() > 1<<20 {
		o.text.Reset() // a server that goes on complaining costs no memory
	}
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// command is a command to be run in dir by the account, nil for this process's own.
func command(as *syscall.Credential, dir, name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+dir, "LC_ALL=C")
	cmd.SysProcAttr = dieWithParent()
	cmd.SysProcAttr.Credential = as
	return cmd
}

// account is who runs the server. PostgreSQL refuses to run as root, so root lends it
// another user's name, and that user the folder.
func account(dir string) (*syscall.Credential, error) {
	if os.Getuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		if u, err = user.Lookup("nobody"); err != nil {
			return nil, fmt.Errorf("PostgreSQL does not run as root, and there is neither a user postgres nor nobody: %w", err)
		}
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return nil, err
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, os.Chown(dir, int(uid), int(gid))
}

// binaries is the folder that initdb and postgres are in. Debian keeps them out of
// PATH, in one folder for each version.
func binaries() (string, error) {
	if path, err := exec.LookPath("initdb"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil && isFile(filepath.Join(filepath.Dir(path), "postgres")) {
			return filepath.Dir(path), nil
		}
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil || len(found) == 0 {
		return "", fmt.Errorf("initdb is neither in PATH nor in /usr/lib/postgresql: install PostgreSQL (Debian: apt-get install postgresql)")
	}
	return filepath.Dir(slices.Max(found)), nil
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode()&fs.ModeType == 0
}
