package clients

import (
	"database/sql"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"redlockproxy/proxy/e2e/clients/pgtest"
	"redlockproxy/proxy/redistest"
)

// example are the commands of the README's section on fencing, as they stand there.
type example struct {
	lock, advance          string // scripts
	create, insert, update string // statements
}

func readExample(t *testing.T) example {
	t.Helper()
	root, err := redistest.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(text), "\n## Fencing: ")
	section, _, _ = strings.Cut(section, "\n## ")
	scripts := regexp.MustCompile(`(?m)^    redis-cli .* EVAL "(.*)" `).FindAllStringSubmatch(section, -1)
	statements := regexp.MustCompile(`(?m)^    ((?:CREATE|INSERT|UPDATE) .*;)$`).FindAllStringSubmatch(section, -1)
	if !found || len(scripts) != 2 || len(statements) != 3 {
		t.Fatalf("the README's section on fencing has %d scripts and %d statements", len(scripts), len(statements))
	}
	return example{scripts[0][1], scripts[1][1], statements[0][1], statements[1][1], statements[2][1]}
}

// take is the lock with its number, by whatever client; 0 if it is taken.
func (e example) take(t *testing.T, c *redis.Client, token string, ttl time.Duration) int64 {
	t.Helper()
	n, err := c.Eval(t.Context(), e.lock, []string{"lock:report", "fence:report"}, token, ttl.Milliseconds()).Int64()
	if err == redis.Nil {
		return 0
	}
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// write tells whether PostgreSQL accepted a write with that number.
func (e example) write(t *testing.T, db *sql.DB, number int64, body string) bool {
	t.Helper()
	result, err := db.ExecContext(t.Context(), e.update, number, "monthly", body)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := result.RowsAffected()
	if err != nil {
		t.Fatal(err)
	}
	return rows == 1
}

// advanceTo tells whether the proxy accepted a number as the highest.
func (e example) advanceTo(t *testing.T, c *redis.Client, number int64) bool {
	t.Helper()
	n, err := c.Eval(t.Context(), e.advance, []string{"seen:report"}, number).Int64()
	if err != nil {
		t.Fatal(err)
	}
	return n == 1
}

// A holder pauses past its ttl, a second one takes the lock and writes, and the first
// one wakes up: what the README advises stops it, in PostgreSQL and at the proxy.
func TestStaleHolderIsStoppedAsTheReadmeSays(t *testing.T) {
	e := readExample(t)
	db := pgtest.Start(t).DB
	for _, statement := range []string{e.create, e.insert} {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	group := redistest.StartGroup(t, 5)
	proxy := redistest.StartProxy(t, group.Addrs(), append(redistest.Patient(t), "-admin", "127.0.0.1:0")...)
	paused, next := connect(t, proxy.Addr()), connect(t, proxy.Addr())

	stale := e.take(t, paused, "a", time.Second)
	if stale == 0 {
		t.Fatal("the first holder does not get the lock")
	}
	var fresh int64
	redistest.Eventually(t, 10*time.Second, "the second holder gets the lock", func() bool {
		fresh = e.take(t, next, "b", time.Minute)
		return fresh != 0
	})
	if fresh <= stale {
		t.Errorf("the second holder's number is %d, after %d", fresh, stale)
	}
	if !e.advanceTo(t, next, fresh) || !e.write(t, db, fresh, "fresh") {
		t.Error("the present holder is refused")
	}
	if e.advanceTo(t, paused, stale) || e.write(t, db, stale, "stale") {
		t.Error("the stale holder is not refused")
	}
	var body string
	if err := db.QueryRowContext(t.Context(), `SELECT body FROM report WHERE id = 'monthly'`).Scan(&body); err != nil || body != "fresh" {
		t.Errorf("the report is %q, %v", body, err)
	}
	if n := counter(t, proxy.Admin(), "stale_fencing_token_rejections_total"); n != "1" {
		t.Errorf("%s refusals are counted, wanted 1", n)
	}
}

// counter is the value of a series, whose name has its labels.
func counter(t *testing.T, admin, name string) string {
	t.Helper()
	answer, err := http.Get(fmt.Sprintf("http://%s/metrics", admin))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close() //nolint:errcheck // it was only read
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if value, found := strings.CutPrefix(line, name+" "); found {
			return strings.TrimSpace(value)
		}
	}
	t.Fatalf("there is no series %s", name)
	return ""
}
