package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// api is what a package exports.
type api struct {
	pkg        *types.Package
	deprecated map[string]bool
}

// listed is what the go command says of one package.
type listed struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
}

// load reads a package's types from the go command's export data, and from its
// source what is deprecated.
func load(path string) (api, error) {
	packages, err := list(path)
	if err != nil {
		return api{}, err
	}
	imports := importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		p, ok := packages[path]
		if !ok {
			return nil, fmt.Errorf("the go command does not list %s", path)
		}
		return os.Open(p.Export)
	})
	pkg, err := imports.Import(path)
	if err != nil {
		return api{}, err
	}
	deprecated, err := deprecatedIn(packages[path])
	return api{pkg, deprecated}, err
}

// list returns a package and all that it imports, by import path.
func list(path string) (map[string]listed, error) {
	cmd := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles", path)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w: %s", err, bytes.TrimSpace(stderr.Bytes()))
	}
	packages := make(map[string]listed)
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return packages, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		packages[p.ImportPath] = p
	}
}

// deprecatedIn names what a package marks as deprecated at its top level.
func deprecatedIn(p listed) (map[string]bool, error) {
	names := make(map[string]bool)
	for _, name := range p.GoFiles {
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, decl := range file.Decls {
			noteDeprecated(names, decl)
		}
	}
	return names, nil
}

func noteDeprecated(names map[string]bool, decl ast.Decl) {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil && deprecates(d.Doc) {
			names[d.Name.Name] = true
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				if deprecates(d.Doc, s.Doc) {
					names[s.Name.Name] = true
				}
			case *ast.ValueSpec:
				for _, id := range s.Names {
					if deprecates(d.Doc, s.Doc) {
						names[id.Name] = true
					}
				}
			}
		}
	}
}

// deprecates reports whether a paragraph of a doc comment begins as godoc wants
// it for that.
func deprecates(docs ...*ast.CommentGroup) bool {
	for _, doc := range docs {
		if text := "\n\n" + doc.Text(); strings.Contains(text, "\n\nDeprecated: ") {
			return true
		}
	}
	return false
}
