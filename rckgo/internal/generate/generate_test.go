package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestGeneratedFileIsUpToDate(t *testing.T) {
	want, err := generate()
	require.NoError(t, err)
	got, err := os.ReadFile("../../generated.go")
	require.NoError(t, err)
	require.Equal(t, string(want), string(got), "run go generate ./rckgo")
}

// What is written by hand is there, and nothing of kgo's is missing.
func TestEveryNameOfKgoIsDeclared(t *testing.T) {
	kgo, err := load("github.com/twmb/franz-go/pkg/kgo")
	require.NoError(t, err)
	var want []string
	for _, id := range kgo.pkg.Scope().Names() {
		if ast.IsExported(id) {
			want = append(want, id)
		}
	}
	require.Greater(t, len(want), 200)
	require.Equal(t, want, slices.Sorted(maps.Keys(declared(t, "../.."))))
}

// declared returns the exported names of a package.
func declared(t *testing.T, dir string) map[string]bool {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	require.NoError(t, err)
	names := make(map[string]bool)
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		require.NoError(t, err)
		if file.Name.Name != "rckgo" {
			continue
		}
		for id := range file.Scope.Objects {
			if ast.IsExported(id) && !isTest(name) {
				names[id] = true
			}
		}
	}
	return names
}

func isTest(file string) bool {
	match, _ := filepath.Match("*_test.go", filepath.Base(file))
	return match
}
