package localkafka

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Tool runs a Java class from Kafka's jars, such as
// "org.apache.kafka.tools.consumer.ConsoleConsumer", and returns what it wrote
// to standard output. A non-zero exit is an error with the last lines of
// standard error. The tool is killed when the context ends.
func (c *Cluster) Tool(ctx context.Context, class string, args ...string) (string, error) {
	var stdout bytes.Buffer
	err := c.RunTool(ctx, nil, &stdout, class, args...)
	return stdout.String(), err
}

// RunTool is [Cluster.Tool] for a program that runs long: it reads stdin (nil
// for none) and writes to stdout as it goes.
func (c *Cluster) RunTool(ctx context.Context, stdin io.Reader, stdout io.Writer, class string, args ...string) error {
	var stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, c.java, append(append(c.javaArgs(), "-Xmx256m", class), args...)...)
	cmd.Dir = c.dir
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, stdout, &stderr
	proc, err := c.keeper.start(cmd)
	if err == nil {
		<-proc.done()
		err = proc.err
	}
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("localkafka: %s: %w", class, ctx.Err())
	}
	return fmt.Errorf("localkafka: %s: %w: %s", class, err, lastLines(stderr.Bytes(), 10))
}

// javaArgs are what every Java program here is started with.
func (c *Cluster) javaArgs() []string {
	return []string{
		"-cp", filepath.Join(c.jars, "*"),
		"-Djava.io.tmpdir=" + c.dir, // where lz4's library is unpacked; nobody else would remove it after a kill
		"-XX:+UseSerialGC",
		"-XX:TieredStopAtLevel=1", // short runs: start-up counts, peak speed does not
		"-Dlog4j2.configurationFile=" + filepath.Join(c.jars, "log4j2.properties"),
		"-Dlog4j.configuration=file:" + filepath.Join(c.jars, "log4j.properties"),
	}
}

// findJava finds the java program: JAVA_HOME's, else the one on the PATH.
func findJava() (string, error) {
	if home := os.Getenv("JAVA_HOME"); home != "" {
		java := filepath.Join(home, "bin", "java")
		if _, err := os.Stat(java); err == nil {
			return java, nil
		}
	}
	java, err := exec.LookPath("java")
	if err != nil {
		return "", fmt.Errorf("localkafka: java is %w: install Java 17 or later (Debian: apt-get install default-jre-headless) or set JAVA_HOME", ErrNotInstalled)
	}
	return java, nil
}

// tail returns up to the last n lines of a file, or why it cannot.
func tail(path string, n int) string {
	b, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return "(no log)"
	}
	if err != nil {
		return "(" + err.Error() + ")"
	}
	return lastLines(b, n)
}

func lastLines(b []byte, n int) string {
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
