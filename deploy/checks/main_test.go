package checks

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"redlockproxy/conf"
	"redlockproxy/proxy/redistest"
)

func TestMain(m *testing.M) { os.Exit(redistest.Main(m)) }

// deployed reads a file of the folder deploy.
func deployed(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", path))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// rights are the ACL rules of the backends' user, on one line.
func rights(t *testing.T) string {
	t.Helper()
	return strings.TrimSpace(deployed(t, "redis/rights.acl"))
}

// bare is a configuration without comments and empty lines.
func bare(text string) string {
	var kept []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "\n")
}

// configured is what the proxy makes of an environment; files have the given content.
func configured(t *testing.T, environ map[string]string, files map[string]string, args ...string) conf.Config {
	t.Helper()
	var list []string
	for name, value := range environ {
		list = append(list, name+"="+value)
	}
	c, _, err := conf.Load(args, list, func(path string) ([]byte, error) {
		text, there := files[path]
		if !there {
			return nil, errors.Join(errors.New(path), fs.ErrNotExist)
		}
		return []byte(text), nil
	})
	if err != nil {
		t.Fatalf("the proxy does not start with this configuration: %v", err)
	}
	return c
}
