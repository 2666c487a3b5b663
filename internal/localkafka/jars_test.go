package localkafka

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMissingProgramIsNamedWithItsInstall(t *testing.T) {
	t.Run("java", func(t *testing.T) {
		t.Setenv("PATH", t.TempDir())
		t.Setenv("JAVA_HOME", "")
		_, err := Start(t.Context(), Config{})
		require.ErrorIs(t, err, ErrNotInstalled)
		require.ErrorContains(t, err, "install Java 17")
		require.NotContains(t, err.Error(), "\n")
	})
	t.Run("maven", func(t *testing.T) {
		ownCache(t)
		t.Setenv("PATH", t.TempDir())
		_, err := fetchJars(t.Context(), "4.4.0", io.Discard)
		require.ErrorIs(t, err, ErrNotInstalled)
		require.ErrorContains(t, err, "apt-get install maven")
		require.NotContains(t, err.Error(), "\n")
	})
}

func TestVersionThatMavenLacksSaysSoInOneLine(t *testing.T) {
	ownCache(t)
	fakeMaven(t, `printf '\033[0m[ERROR] Could not find artifact kafka:9.9.9 -> [Help 1]\n[ERROR] more\n'; exit 1`)
	_, err := fetchJars(t.Context(), "9.9.9", io.Discard)
	require.EqualError(t, err,
		"localkafka: fetch Apache Kafka 9.9.9: mvn: exit status 1: Could not find artifact kafka:9.9.9")
}

func TestConfigOutOfBoundsIsRefused(t *testing.T) {
	for _, config := range []Config{
		{Nodes: -1},
		{Nodes: 10},
		{Racks: []string{"a", "b"}},
		{Version: "latest"},
		{Version: "4.4.0</version>"},
	} {
		_, err := Start(t.Context(), config)
		require.Error(t, err, "%+v", config)
	}
}

func TestJarsAreFetchedOnceByAllWhoStartTogether(t *testing.T) {
	cache := ownCache(t)
	// The jar lands in the last argument's directory; each run leaves a line.
	fakeMaven(t, `for a in "$@"; do case $a in -DoutputDirectory=*) d=${a#*=};; esac; done
echo run >> `+filepath.Join(cache, "runs")+`; : > "$d/kafka.jar"`)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			dir, err := fetchJars(t.Context(), "4.4.0", io.Discard)
			if err != nil {
				t.Errorf("fetchJars: %v", err)
				return
			}
			if _, err := os.Stat(filepath.Join(dir, "kafka.jar")); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	runs, err := os.ReadFile(filepath.Join(cache, "runs"))
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(string(runs), "run"))
}

func TestFetchThatFailedLeavesNothing(t *testing.T) {
	ownCache(t)
	fakeMaven(t, `exit 1`)
	_, err := fetchJars(t.Context(), "4.4.0", io.Discard)
	require.Error(t, err)
	dir, err := cacheDir()
	require.NoError(t, err)
	entries, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	require.Equal(t, []string{filepath.Join(dir, "4.4.0.lock")}, entries)
}

// ownCache gives the test a cache directory of its own.
func ownCache(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", dir)
	t.Setenv("HOME", dir) // where macOS looks
	return dir
}

// fakeMaven puts a shell script in Maven's place.
func fakeMaven(t *testing.T, script string) {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "mvn"), []byte("#!/bin/sh\n"+script+"\n"), 0o755))
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
}
