package programs

import (
	"fmt"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	kgoPath   = "github.com/twmb/franz-go/pkg/kgo"
	rckgoPath = "example.com/readcommitted/rckgo"
	rccPath   = "example.com/readcommitted/rcconsumer"
)

// edit is a change of one line of a program, beside its import of kgo.
type edit struct{ file, old, new string }

// changes are how many lines of a program were changed.
type changes struct{ imports, others int }

func (c changes) add(more changes) changes {
	return changes{c.imports + more.imports, c.others + more.others}
}

// importLine is the number of the line that imports kgo, counted from 0, or -1.
func importLine(source string) (int, error) {
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, "", source, parser.ImportsOnly)
	if err != nil {
		return -1, err
	}
	for _, spec := range parsed.Imports {
		if spec.Path.Value == strconv.Quote(kgoPath) {
			return files.Position(spec.Pos()).Line - 1, nil
		}
	}
	return -1, nil
}

// requireKgoOnly fails if a program knows of more than kgo as it stands.
func requireKgoOnly(t testing.TB, file, source string) {
	t.Helper()
	for _, path := range []string{rckgoPath, rccPath} {
		require.NotContains(t, source, strconv.Quote(path), file)
	}
}

// dropIn returns a file of a program with its import of kgo replaced and the
// edits done, each of which must fit exactly one place.
func dropIn(source string, edits []edit) (string, error) {
	at, err := importLine(source)
	if err != nil || at < 0 {
		return source, err
	}
	lines := strings.SplitAfter(source, "\n")
	lines[at] = fmt.Sprintf("\tkgo %q\n", rckgoPath)
	source = strings.Join(lines, "")
	for _, e := range edits {
		if n := strings.Count(source, e.old); n != 1 {
			return "", fmt.Errorf("%q occurs %d times in %s", e.old, n, e.file)
		}
		source = strings.Replace(source, e.old, e.new, 1)
	}
	return source, nil
}

// changedLines returns the lines of before that are others in after.
func changedLines(t testing.TB, before, after string) (changed []string) {
	t.Helper()
	old, edited := strings.Split(before, "\n"), strings.Split(after, "\n")
	require.Len(t, edited, len(old), "lines of a file")
	for i := range old {
		if old[i] != edited[i] {
			changed = append(changed, old[i])
		}
	}
	return changed
}

// requireOnlyListed fails if a line was changed that is neither the import of
// kgo nor the place of a listed edit.
func requireOnlyListed(t testing.TB, file string, changed []string, edits []edit) {
	t.Helper()
	imports := 0
	for _, line := range changed {
		if strings.TrimSpace(line) == strconv.Quote(kgoPath) {
			imports++
			continue
		}
		listed := false
		for _, e := range edits {
			listed = listed || strings.Contains(line, e.old)
		}
		require.True(t, listed, "%s: this line was changed: %s", file, line)
	}
	require.Equal(t, 1, imports, "%s: changed imports", file)
	require.Len(t, changed, 1+len(edits), file)
}
