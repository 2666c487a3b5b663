package programs

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"

	"example.com/readcommitted/internal/kafkatest"
)

// row is what came of one program.
type row struct {
	program program
	edited  changes
	got     map[form]output
	lag     map[form]int64
	equal   bool
}

// TestProgramsRunUnchanged builds every program for kgo and, with its import
// lines replaced, for rckgo, and has both work on the same topics. It logs a
// table of what came of it.
func TestProgramsRunUnchanged(t *testing.T) {
	built := build(t, programs()...)
	// Members of a KIP-848 group hear of each other as often as the broker says.
	fake := kfake.BrokerConfigs(map[string]string{"group.consumer.heartbeat.interval.ms": "200"})
	kafkatest.Each(t, kafkatest.Config{Fake: []kfake.Opt{fake}}, func(t *testing.T, cluster *kafkatest.Cluster) {
		log := fill(t, cluster)
		rows := make([]row, len(programs()))
		t.Run("programs", func(t *testing.T) {
			for i, p := range programs() {
				t.Run(p.String(), func(t *testing.T) {
					t.Parallel()
					rows[i] = row{program: p, edited: built.edited[p.name]}
					require.Positive(t, rows[i].edited.imports, "imports of kgo")
					rows[i].fill(t, log, built)
				})
			}
		})
		t.Log("\n" + table(rows))
	})
}

// fill runs both forms, each with a group and an output topic of its own, and
// fails unless both did the same.
func (r *row) fill(t *testing.T, log *filled, built binaries) {
	r.got, r.lag = map[form]output{}, map[form]int64{}
	for _, f := range []form{formKgo, formRckgo} {
		group, target := kafkatest.Name(t), ""
		if r.program.output {
			target = log.cluster.Topic(t, kafkatest.TopicConfig{Partitions: partitionCount})
		}
		began := time.Now()
		out := run(t, built.path(f, r.program.name), r.program.args(log, group, target)...)
		if target != "" {
			out.written = written(t, log.cluster, target)
		}
		t.Logf("%s took %v", f, time.Since(began).Round(time.Millisecond))
		for _, remark := range out.remarks {
			t.Logf("%s: %s", f, remark)
		}
		r.got[f] = out
		if r.program.group {
			r.lag[f] = log.lag(t, group)
		}
	}
	kgo, rckgo := r.got[formKgo], r.got[formRckgo]
	require.Equal(t, kgo.records, rckgo.records, "records that rckgo printed, against kgo's")
	require.Equal(t, kgo.notes, rckgo.notes, "notes that rckgo printed, against kgo's")
	require.Equal(t, kgo.written, rckgo.written, "records that rckgo wrote, against kgo's")
	r.requireCommitted(t, log)
	r.requireLag(t)
	r.equal = true
}

// requireCommitted compares what was read with what was written: every record
// that can be seen, and no aborted one.
func (r *row) requireCommitted(t *testing.T, log *filled) {
	t.Helper()
	if r.program.writesOnly {
		return
	}
	for f, out := range r.got {
		if r.program.some {
			for key, lines := range out.once() {
				require.Subset(t, log.lines()[key], lines, "records that %s printed, against what was committed", f)
			}
			continue
		}
		require.Equal(t, log.lines(), out.once(), "records that %s printed, against what was committed", f)
	}
}

// requireLag holds that rckgo's commits pass what no reader sees, where kgo's
// stay one past a record.
func (r *row) requireLag(t *testing.T) {
	t.Helper()
	if !r.program.group {
		return
	}
	require.Equal(t, r.program.sees, r.lag[formKgo] == 0, "no lag of kgo's group, it is %d", r.lag[formKgo])
	if r.program.keeps {
		require.Equal(t, r.lag[formKgo], r.lag[formRckgo], "lag of rckgo's group, of a program that names its offsets")
		return
	}
	require.Zero(t, r.lag[formRckgo], "lag of rckgo's group")
}

// worked is how many records a form worked on: those that it read, or wrote if
// it only writes.
func (r *row) worked(f form) int {
	if r.program.writesOnly {
		return len(r.got[f].written)
	}
	return r.got[f].count()
}

// args are a program's command line.
func (p program) args(log *filled, group, target string) []string {
	return []string{
		"-brokers", strings.Join(log.cluster.Addrs(), ","),
		"-topics", strings.Join(log.topics, ","),
		"-group", group,
		"-output", target,
		"-style", p.style,
		"-records", strconv.Itoa(log.count()),
	}
}

func table(rows []row) string {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 1, ' ', 0)
	fmt.Fprintln(w, "| program\t| import lines changed\t| other lines changed\t| records with kgo\t| records with rckgo\t| equal\t| lag with kgo\t| lag with rckgo\t|")
	fmt.Fprintln(w, "|---\t|---\t|---\t|---\t|---\t|---\t|---\t|---\t|")
	for _, r := range rows {
		if r.program.name == "" {
			continue // not chosen by -run
		}
		lags := "\t|\t|"
		if r.program.group {
			lags = fmt.Sprintf(" %d\t| %d\t|", r.lag[formKgo], r.lag[formRckgo])
		}
		equal := map[bool]string{true: "yes", false: "NO"}[r.equal]
		fmt.Fprintf(w, "| %s\t| %d\t| %d\t| %d\t| %d\t| %s\t|%s\n",
			r.program, r.edited.imports, r.edited.others, r.worked(formKgo), r.worked(formRckgo), equal, lags)
	}
	_ = w.Flush() // a strings.Builder takes everything
	return text.String()
}
