package programs

import (
	"bytes"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// output is what a program printed, in three kinds of lines.
type output struct {
	// records are the lines "topic partition offset key value ...", in the
	// order in which they were printed, by topic and partition.
	records map[string][]string

	// notes are the lines that begin with "#", which both forms must print
	// alike, in any order.
	notes []string

	// remarks are the lines that begin with "~", which may differ. They are logged.
	remarks []string

	// written are the records of the topic that it wrote to.
	written []string
}

// run runs a program to its end and returns what it printed.
func run(t testing.TB, binary string, args ...string) output {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	require.NoError(t, err, "%s: %s", cmd, stderr.String())
	return parse(stdout.String())
}

func parse(text string) output {
	o := output{records: map[string][]string{}}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "#"):
			o.notes = append(o.notes, line)
		case strings.HasPrefix(line, "~"):
			o.remarks = append(o.remarks, line)
		default:
			fields := strings.SplitN(line, " ", 3)
			key := strings.Join(fields[:min(len(fields), 2)], "/")
			o.records[key] = append(o.records[key], line)
		}
	}
	slices.Sort(o.notes)
	return o
}

// count is how many records were printed.
func (o output) count() (n int) {
	for _, lines := range o.records {
		n += len(lines)
	}
	return n
}

// once returns the records printed, each once and without what a program added
// to its line, in order of their offsets.
func (o output) once() map[string][]string {
	records := map[string][]string{}
	for key, lines := range o.records {
		seen := map[string]bool{}
		for _, line := range lines {
			line = strings.Join(strings.SplitN(line, " ", 6)[:5], " ")
			if !seen[line] {
				seen[line] = true
				records[key] = append(records[key], line)
			}
		}
	}
	return records
}
