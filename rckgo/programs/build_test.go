package programs

import (
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	_ "example.com/readcommitted/rckgo" // what programs are built with: cached results go with it
)

// form is how a program is built: as it stands, or with the drop-in.
type form string

const (
	formKgo   form = "kgo"
	formRckgo form = "rckgo"
)

// binaries are programs that were built in both forms.
type binaries struct {
	dirs   map[form]string
	edited map[string]changes // what was changed in each program, by its folder
}

func (b binaries) path(f form, program string) string {
	return filepath.Join(b.dirs[f], program)
}

// build builds the programs in both forms, with one call of the go command for
// each. The folders' files are compiled as they are for kgo; for rckgo an
// overlay replaces those that import kgo. They have the race detector in them if
// the test has. Nothing is left behind.
func build(t testing.TB, programs ...program) binaries {
	t.Helper()
	var folders []string
	for _, p := range programs {
		folders = append(folders, "./"+p.name)
	}
	slices.Sort(folders)
	folders = slices.Compact(folders)
	b := binaries{dirs: map[form]string{}, edited: map[string]changes{}}
	b.dirs[formKgo] = goBuild(t, folders)
	b.dirs[formRckgo] = goBuild(t, folders, "-overlay", b.overlay(t, programs))
	return b
}

func goBuild(t testing.TB, folders []string, flags ...string) string {
	t.Helper()
	dir := t.TempDir()
	// Without symbols for debuggers the linker has half the work.
	args := append([]string{"build", "-ldflags=-s -w", "-o", dir + string(filepath.Separator)}, flags...)
	if raceDetector {
		args = append(args, "-race")
	}
	out, err := exec.CommandContext(t.Context(), "go", append(args, folders...)...).CombinedOutput()
	require.NoError(t, err, "go %s:\n%s", strings.Join(args, " "), out)
	return dir
}

// overlay writes the edited files and returns the name of the file that tells
// the go command of them.
func (b binaries) overlay(t testing.TB, programs []program) string {
	t.Helper()
	dir := t.TempDir()
	var overlay struct{ Replace map[string]string }
	overlay.Replace = map[string]string{}
	for _, file := range sources(t) {
		before, err := os.ReadFile(file)
		require.NoError(t, err)
		requireKgoOnly(t, file, string(before))
		edits := editsOf(programs, file)
		after, err := dropIn(string(before), edits)
		require.NoError(t, err, file)
		changed := changedLines(t, string(before), after)
		if len(changed) == 0 {
			continue
		}
		requireOnlyListed(t, file, changed, edits)
		b.edited[folder(file)] = b.edited[folder(file)].add(changes{imports: 1, others: len(changed) - 1})
		edited := filepath.Join(dir, strings.ReplaceAll(file, string(filepath.Separator), "-"))
		require.NoError(t, os.WriteFile(edited, []byte(after), 0o600))
		original, err := filepath.Abs(file)
		require.NoError(t, err)
		overlay.Replace[original] = edited
	}
	raw, err := json.Marshal(overlay)
	require.NoError(t, err)
	name := filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(name, raw, 0o600))
	return name
}

// sources are the files of all programs, by their paths in this module.
func sources(t testing.TB) (files []string) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
			files = append(files, path)
		}
		return err
	})
	require.NoError(t, err)
	return files
}

// folder is the program that a file belongs to.
func folder(file string) string {
	first, _, _ := strings.Cut(filepath.ToSlash(file), "/")
	return first
}

// editsOf returns the edits listed for a file.
func editsOf(programs []program, file string) (edits []edit) {
	for _, p := range programs {
		for _, e := range p.edits {
			if filepath.ToSlash(file) == p.name+"/"+e.file && !slices.Contains(edits, e) {
				edits = append(edits, e)
			}
		}
	}
	return edits
}
