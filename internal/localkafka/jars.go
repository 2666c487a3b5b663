package localkafka

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"text/template"
)

var versionPattern = regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+$`)

// pomText pins what is fetched: Kafka's jars of one version with what they
// depend on, and a logger.
//
//go:embed pom.xml.tmpl
var pomText string

var pomTemplate = template.Must(template.New("pom").Parse(pomText))

// Logger configurations: warnings to standard error, so that a tool's output
// holds its output alone. Kafka 4 logs with Log4j 2, Kafka 3 with reload4j.
const (
	log4j2Config = `rootLogger.level=warn
rootLogger.appenderRef.stderr.ref=stderr
appender.stderr.type=Console
appender.stderr.name=stderr
appender.stderr.target=SYSTEM_ERR
appender.stderr.layout.type=PatternLayout
appender.stderr.layout.pattern=[%d] %p %m (%c)%n
`
	log4jConfig = `log4j.rootLogger=WARN, stderr
log4j.appender.stderr=org.apache.log4j.ConsoleAppender
log4j.appender.stderr.target=System.err
log4j.appender.stderr.layout=org.apache.log4j.PatternLayout
log4j.appender.stderr.layout.ConversionPattern=[%d] %p %m (%c)%n
`
)

// fetchJars returns the directory with the jars of a version. They are fetched
// with Maven if they are not in the cache; processes that start together wait
// for the first of them.
func fetchJars(ctx context.Context, version string, log io.Writer) (string, error) {
	cache, err := cacheDir()
	if err != nil {
		return "", err
	}
	pom, err := renderPom(version)
	if err != nil {
		return "", err
	}
	// The pom is part of the name: an older set of jars is not taken for this one.
	sum := sha256.Sum256(pom)
	dir := filepath.Join(cache, version+"-"+hex.EncodeToString(sum[:4]))
	if isDir(dir) {
		return dir, nil
	}
	unlock, err := lockFile(ctx, filepath.Join(cache, version+".lock"))
	if err != nil {
		return "", fmt.Errorf("localkafka: lock the jar cache: %w", err)
	}
	defer unlock()
	if isDir(dir) { // fetched by another process while this one waited
		return dir, nil
	}
	say(log, "fetching Apache Kafka %s with Maven (about 54 MB, once)", version)
	return dir, download(ctx, version, pom, cache, dir)
}

// download fills a directory beside dir and renames it, so that dir is either
// absent or whole.
func download(ctx context.Context, version string, pom []byte, cache, dir string) error {
	mvn, err := exec.LookPath("mvn")
	if err != nil {
		return fmt.Errorf("localkafka: mvn (Apache Maven) is %w: it fetches Kafka's jars once, install it (Debian: apt-get install maven)", ErrNotInstalled)
	}
	tmp, err := os.MkdirTemp(cache, "fetch-")
	if err != nil {
		return fmt.Errorf("localkafka: %w", err)
	}
	defer func() { _ = os.RemoveAll(tmp) }() // empty but for the pom if all went well
	jars := filepath.Join(tmp, "jars")
	files := map[string][]byte{
		filepath.Join(tmp, "pom.xml"):            pom,
		filepath.Join(jars, "log4j2.properties"): []byte(log4j2Config),
		filepath.Join(jars, "log4j.properties"):  []byte(log4jConfig),
	}
	if err := os.Mkdir(jars, 0o755); err != nil {
		return fmt.Errorf("localkafka: %w", err)
	}
	for name, content := range files {
		if err := os.WriteFile(name, content, 0o644); err != nil {
			return fmt.Errorf("localkafka: %w", err)
		}
	}
	if err := runMaven(ctx, mvn, tmp, jars); err != nil {
		return fmt.Errorf("localkafka: fetch Apache Kafka %s: %w", version, err)
	}
	if err := os.Rename(jars, dir); err != nil {
		return fmt.Errorf("localkafka: %w", err)
	}
	return nil
}

func runMaven(ctx context.Context, mvn, dir, jars string) error {
	cmd := exec.CommandContext(ctx, mvn, "-B", "-q", "-f", filepath.Join(dir, "pom.xml"),
		"dependency:copy-dependencies", "-DoutputDirectory="+jars)
	cmd.Dir = dir
	output, err := cmd.CombinedOutput()
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fmt.Errorf("mvn: %w: %s", err, mavenReason(output))
}

// mavenReason picks the line that says what went wrong: the first with the
// error mark. Colour codes come even in batch mode.
func mavenReason(output []byte) string {
	text := regexp.MustCompile(`\x1b\[[0-9;]*m`).ReplaceAllString(string(output), "")
	for line := range strings.Lines(text) {
		if reason, ok := strings.CutPrefix(strings.TrimSpace(line), "[ERROR] "); ok {
			return strings.TrimSuffix(reason, " -> [Help 1]")
		}
	}
	return lastLines([]byte(text), 3)
}

func renderPom(version string) ([]byte, error) {
	var b bytes.Buffer
	data := struct {
		Version string
		Log4j2  bool
	}{version, !strings.HasPrefix(version, "3.")}
	if err := pomTemplate.Execute(&b, data); err != nil {
		return nil, fmt.Errorf("localkafka: pom: %w", err)
	}
	return b.Bytes(), nil
}

// cacheDir is where jars and port locks are kept; it is created if needed.
func cacheDir() (string, error) {
	base, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("localkafka: no cache directory for Kafka's jars: %w", err)
	}
	dir := filepath.Join(base, "readcommitted-kafka")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("localkafka: %w", err)
	}
	return dir, nil
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
