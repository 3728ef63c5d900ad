package pgtest

import (
	"os"
	"strings"
	"testing"
)

func TestServerLivesAsLongAsItsTest(t *testing.T) {
	var first *Server
	t.Run("one", func(t *testing.T) {
		first = Start(t)
		if _, err := first.DB.Exec(`CREATE TABLE t (n bigint); INSERT INTO t VALUES (1)`); err != nil {
			t.Fatal(err)
		}
	})
	dir, _, _ := strings.Cut(strings.TrimPrefix(first.DSN, "host="), " ")
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the server's folder is still there: %v", err)
	}
	second := Start(t)
	if _, err := second.DB.Exec(`INSERT INTO t VALUES (2)`); err == nil {
		t.Error("a second server knows the first one's table")
	}
}
