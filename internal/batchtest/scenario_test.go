package batchtest

import (
	"fmt"
	"maps"
	"math"
	"os"
	"regexp"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

var all = sync.OnceValues(func() ([]Scenario, error) { return Load(os.DirFS("../../testdata/scenarios")) })

func load(t *testing.T) []Scenario {
	t.Helper()
	scenarios, err := all()
	require.NoError(t, err)
	return scenarios
}

// outcome is what a reader made of a scenario.
type outcome struct {
	offsets []int64
	next    int64
	failed  bool
}

// TestScenariosAgreeWithKgo is the second opinion on every expected result: an
// independent reader gives the same, or the file says why not. A file that
// claims a difference without one fails too.
func TestScenariosAgreeWithKgo(t *testing.T) {
	for _, s := range load(t) {
		t.Run(s.Name, func(t *testing.T) {
			committed := outcome{s.Visible, s.Next, s.ErrClass != NoError}
			compare(t, &s, kgo.ReadCommitted(), committed, s.KgoDiffers)
			uncommitted := outcome{s.Uncommitted, s.UncommittedNext, s.UncommittedErrClass != NoError}
			compare(t, &s, kgo.ReadUncommitted(), uncommitted, s.KgoDiffersUncommitted)
		})
	}
}

func compare(t *testing.T, s *Scenario, level kgo.IsolationLevel, want outcome, differs string) {
	t.Helper()
	got, records := readWithKgo(t, s, level)
	where := fmt.Sprintf("kgo at isolation %v: %s", level, s.Doc)
	if differs != "" {
		require.NotEqual(t, want, got, "%s\nagrees, although the file says: %s", where, differs)
		return
	}
	require.Equal(t, want, got, where)
	for _, r := range records {
		sent, ok := s.Sent(r.Offset)
		require.True(t, ok, "offset %d is not in the log", r.Offset)
		require.Equal(t, sent.Key, r.Key, "key at %d", r.Offset)
		require.Equal(t, sent.Value, r.Value, "value at %d", r.Offset)
		if sent.Timestamp == -1 {
			require.Zero(t, r.Timestamp, "timestamp at %d", r.Offset)
		} else {
			require.Equal(t, sent.Timestamp, r.Timestamp.UnixMilli(), "timestamp at %d", r.Offset)
		}
		require.Len(t, r.Headers, len(sent.Headers), "headers at %d", r.Offset)
		for i, h := range r.Headers {
			require.Equal(t, sent.Headers[i], kmsg.Header{Key: h.Key, Value: h.Value}, "header %d at %d", i, r.Offset)
		}
	}
}

func readWithKgo(t *testing.T, s *Scenario, level kgo.IsolationLevel) (outcome, []*kgo.Record) {
	t.Helper()
	limit := s.Limit
	if limit == 0 {
		limit = math.MaxInt32
	}
	// Only a client makes a decompressor with a limit. It is never used to
	// connect.
	cl, err := kgo.NewClient(kgo.MaxDecompressBatchBytes(int(limit)))
	require.NoError(t, err)
	defer cl.Close()
	decompressor, ok := cl.OptValue(kgo.WithDecompressor).(kgo.Decompressor)
	require.True(t, ok)
	opts := kgo.ProcessFetchPartitionOpts{Offset: s.Fetch, IsolationLevel: level, Topic: "t"}
	fp, next := kgo.ProcessFetchPartition(opts, s.Partition(), decompressor, nil)
	var offsets []int64
	for _, r := range fp.Records {
		offsets = append(offsets, r.Offset)
	}
	return outcome{offsets, next, fp.Err != nil}, fp.Records
}

// TestScenariosHealthyBatchesDecode reads with kmsg every batch that no
// attribute damaged.
func TestScenariosHealthyBatchesDecode(t *testing.T) {
	for _, s := range load(t) {
		t.Run(s.Name, func(t *testing.T) {
			for i, e := range s.log {
				b, ok := e.(Batch)
				if !ok || b.damaged() {
					continue
				}
				var rb kmsg.RecordBatch
				require.NoError(t, rb.ReadFrom(b.Bytes()), "entry %d", i)
				require.Equal(t, b.base, rb.FirstOffset, "entry %d", i)
				require.Equal(t, b.last, rb.FirstOffset+int64(rb.LastOffsetDelta), "entry %d", i)
				require.Len(t, b.records, int(rb.NumRecords), "entry %d", i)
			}
		})
	}
}

func TestScenariosTimestampsAreThoseSent(t *testing.T) {
	for _, s := range load(t) {
		for i, want := range s.Timestamps {
			sent, ok := s.Sent(s.Visible[i])
			require.True(t, ok, "%s: offset %d", s.Name, s.Visible[i])
			require.Equal(t, want, sent.Timestamp, "%s: offset %d", s.Name, s.Visible[i])
		}
	}
}

// Every file says in its name what holds and in its comment where that is known
// from: an issue, a change, a proposal, a test or a piece of source.
func TestScenariosNameBehaviourAndSource(t *testing.T) {
	name := regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)+$`)
	source := regexp.MustCompile(`#\d+|KAFKA-\d+|KIP-\d+|RFC \d+|v\d+\.\d+|[0-9a-f]{7}|[a-z][A-Z]`)
	for _, s := range load(t) {
		require.Regexp(t, name, s.Name)
		require.Regexp(t, source, s.Doc, s.Name)
	}
}

// A raw snappy block can begin like the framing; the scenario for it has to.
func TestSnappyScenarioLooksFramed(t *testing.T) {
	for _, s := range load(t) {
		if s.Name == "snappy-raw-block-that-looks-framed" {
			require.Equal(t, Xerial.Compress([]byte{0})[:2], s.Records[headerLen:headerLen+2])
			return
		}
	}
	require.Fail(t, "no such scenario")
}

func TestReadmeNamesEveryAttribute(t *testing.T) {
	readme, err := os.ReadFile("../../testdata/README.md")
	require.NoError(t, err)
	for _, known := range []map[string]attribute{batchAttributes, emptyAttributes, dataAttributes, controlAttributes} {
		for _, name := range slices.Sorted(maps.Keys(known)) {
			require.Regexp(t, "`"+name+"[=`]|, `?"+name+"=", string(readme))
		}
	}
}
