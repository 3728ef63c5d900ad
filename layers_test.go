package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// sources are the Go files of this module that are no tests, by their folder.
func sources(t *testing.T) map[string][]*ast.File {
	t.Helper()
	all := map[string][]*ast.File{}
	fset := token.NewFileSet()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") && d.Name() != "." || d.Name() == "clients" || d.Name() == "testdata"):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(fset, path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		dir := filepath.ToSlash(filepath.Dir(path))
		all[dir] = append(all[dir], file)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func imports(files []*ast.File) map[string]bool {
	set := map[string]bool{}
	for _, f := range files {
		for _, i := range f.Imports {
			path, _ := strconv.Unquote(i.Path.Value)
			set[path] = true
		}
	}
	return set
}

func under(path, folder string) bool { return path == folder || strings.HasPrefix(path, folder+"/") }

func TestLayersImportOnlyWhatTheyMayKnow(t *testing.T) {
	const module = "redlockproxy/"
	core := []string{"quorum", "resp", "conf"}
	for dir, files := range sources(t) {
		for path := range imports(files) {
			own, local := strings.CutPrefix(path, module)
			standard := !strings.Contains(strings.Split(path, "/")[0], ".") && !local
			for _, c := range core {
				if !under(dir, c) {
					continue
				}
				if local && !under(own, c) {
					t.Errorf("%s imports %s: quorum, resp and conf know nothing of each other or of proxy", dir, path)
				}
				if c != "conf" && !local && !standard {
					t.Errorf("%s imports %s: quorum and resp use the standard library only", dir, path)
				}
			}
			switch {
			case strings.HasPrefix(path, "github.com/redis/go-redis") && !under(dir, "proxy"),
				strings.HasPrefix(path, "github.com/tidwall/redcon") && dir != "proxy",
				strings.HasPrefix(path, "github.com/prometheus/") && dir != "proxy/metrics",
				strings.HasPrefix(path, "github.com/yuin/gopher-lua") && dir != "proxy/lua",
				strings.HasPrefix(path, "github.com/alicebob/miniredis") && dir != "proxy/embedded":
				t.Errorf("%s imports %s, which belongs elsewhere", dir, path)
			}
		}
	}
}

func TestEachPackageHasOneComment(t *testing.T) {
	for dir, files := range sources(t) {
		n := 0
		for _, f := range files {
			if f.Doc != nil {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%s has %d package comments", dir, n)
		}
	}
}
