package conformance

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/model"
	"example.com/readcommitted/conformance/internal/mutant"
	"example.com/readcommitted/internal/batchtest"
	"example.com/readcommitted/internal/kafkatest"
)

// Scenarios that wait for a cleaner are in no profile that other tests run.
func TestCompactedLogsAreRightOnGoodClusters(t *testing.T) {
	t.Parallel()
	c := kafkatest.Real(t, kafkatest.Config{})
	report, err := Run(t.Context(), Config{
		Options: []kgo.Opt{kgo.SeedBrokers(c.Addrs()...)}, RunID: newRunID(t), Select: []string{"S-03", "S-04", "S-10"},
	})
	require.NoError(t, err)
	require.Empty(t, report.Left)
	for _, r := range report.Results {
		t.Log(r.ID, r.Outcome, r.Reason, r.Duration, r.Facts)
		require.Equal(t, Pass, r.Outcome, "%s: %s\n%s", r.ID, r.Reason, findingsOf(r))
	}
}

// What a checker cannot judge it lists, and never runs.
func TestScenariosThatAreNotBuiltAreListed(t *testing.T) {
	t.Parallel()
	outline, err := Outline(Config{Select: []string{"S-08", "X-05"}})
	require.NoError(t, err)
	for _, s := range outline.Scenarios {
		require.Equal(t, ReasonNotBuilt, s.Skipped)
	}
	c := kafkatest.Fake(t, kafkatest.Config{})
	report, err := Run(t.Context(), Config{Options: []kgo.Opt{kgo.SeedBrokers(c.Addrs()...)}, RunID: newRunID(t), Select: []string{"S-08"}})
	require.NoError(t, err)
	require.Equal(t, Skip, report.Results[0].Outcome)
	require.True(t, excused(report.Results[0].Reason))
}

// logOf is a log of hand-made batches, from offset 0 on.
func logOf(t *testing.T, batches ...batchtest.Batch) *model.Log {
	t.Helper()
	var log batchtest.Log
	for _, b := range batches {
		log = append(log, b)
	}
	parsed, _, problem := model.Parse(log.Bytes())
	require.Nil(t, problem)
	return model.NewLog(p0, 0, parsed[len(parsed)-1].Last+1, parsed)
}

// keyed is a batch of one record.
func keyed(offset int64, key, value string) batchtest.Batch {
	return batchtest.Data(offset, offset).Each(func(r batchtest.Record) batchtest.Record {
		r.Key, r.Value = []byte(key), []byte(value)
		return r
	})
}

func TestFaultsOfACompactedLog(t *testing.T) {
	t.Parallel()
	l := logOf(t,
		keyed(0, "k1", "old").Txn(7), batchtest.Commit(1, 7),
		keyed(2, "k1", "new").Txn(7), keyed(3, "k2", "only").Txn(7), batchtest.Commit(4, 7),
		keyed(5, "k1", "aborted").Txn(8), batchtest.Abort(6, 8),
		keyed(7, "k1", "open").Txn(9),
	)
	c := &compacted{book: &book{t: bare(), p: p0}}
	v := c.latestValues(l)
	all := map[int64]Delivered{}
	for i, value := range map[int64]string{0: "k1 old", 2: "k1 new", 3: "k2 only", 5: "k1 aborted", 7: "k1 open"} {
		all[i] = Delivered{Offset: i, Key: []byte(value[:2]), Value: []byte(value[3:])}
	}
	got := func(offsets ...int64) map[int64]Delivered {
		out := map[int64]Delivered{}
		for _, o := range offsets {
			out[o] = all[o]
		}
		return out
	}
	altered := got(2, 3)
	altered[3] = Delivered{Offset: 3, Key: []byte("k2"), Value: []byte("other")}
	for _, test := range []struct {
		name   string
		got    map[int64]Delivered
		faults []string
		gone   int
		left   int
	}{
		{"not compacted", got(0, 2, 3), nil, 0, 1},
		{"compacted", got(2, 3), nil, 1, 0},
		{"an aborted value", got(2, 3, 5), []string{"offset 5 of key k1, aborted, is handed out"}, 1, 0},
		{"an open value", got(2, 3, 7), []string{"offset 7 of key k1, open and at or above the bound 7, is handed out"}, 1, 0},
		{"a value superseded by an aborted one", got(0, 3), []string{"offset 2, the last committed value of key k1, is missing"}, 0, 1},
		{"another value", altered, []string{"offset 3 has another key or value"}, 1, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			var whats []string
			for _, f := range v.faults(test.got) {
				whats = append(whats, f.what)
			}
			require.ElementsMatch(t, test.faults, whats)
			gone, left := v.superseded(test.got)
			require.Equal(t, []int{test.gone, test.left}, []int{gone, left})
		})
	}
}

func TestAbortedBatchesWithoutTheirMarker(t *testing.T) {
	t.Parallel()
	data, abort := batchtest.Data(0, 1).Txn(7), batchtest.Abort(2, 7)
	end := []batchtest.Batch{batchtest.Data(3, 3).Txn(7), batchtest.Commit(4, 7)}
	written := logOf(t, append([]batchtest.Batch{data, abort}, end...)...)
	for _, test := range []struct {
		name    string
		left    []batchtest.Batch
		records bool
		faults  []int64
		gone    int
	}{
		{"nothing is gone", []batchtest.Batch{data, abort}, true, nil, 0},
		{"the records are gone", []batchtest.Batch{abort}, true, nil, 0},
		{"both are gone", nil, true, nil, 1},
		{"the marker is gone", []batchtest.Batch{data}, true, []int64{0}, 1},
		{"the marker is empty", []batchtest.Batch{data, batchtest.EmptyControl(2, 7)}, true, []int64{0}, 1},
		{"some records are left", []batchtest.Batch{data.Keep(1)}, true, []int64{0}, 1},
		{"no records are left, and none are asked for", []batchtest.Batch{batchtest.Empty(0, 1).Txn(7)}, true, nil, 1},
		{"no records are left", []batchtest.Batch{batchtest.Empty(0, 1).Txn(7)}, false, []int64{0}, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			faults, gone := unmarked(written, logOf(t, append(slices.Clone(test.left), end...)...), test.records)
			var at []int64
			for _, f := range faults {
				at = append(at, f.offset)
			}
			require.Equal(t, test.faults, at)
			require.Equal(t, test.gone, gone)
		})
	}
}

// A fault that is not there any more at a second look is not the cluster's
// failure: a cleaner was at work.
func TestFaultsThatPass(t *testing.T) {
	t.Parallel()
	fault := func(offset int64) []difference { return []difference{{offset: offset, what: "what"}} }
	for _, test := range []struct {
		name  string
		looks [][]difference
		want  []Outcome
	}{
		{"none", [][]difference{nil}, nil},
		{"one that stays", [][]difference{fault(3), fault(3)}, []Outcome{Fail}},
		{"one that passes", [][]difference{fault(3), nil}, []Outcome{Warn}},
		{"one that passes while another comes", [][]difference{fault(3), fault(4)}, []Outcome{Warn}},
	} {
		t.Run(test.name, func(t *testing.T) {
			tr := bare()
			c, n := &compacted{book: &book{t: tr, p: p0}}, -1
			c.wantNone(Must, "nothing", func() []difference {
				n++
				return test.looks[n]
			})
			var got []Outcome
			for _, f := range tr.result.Findings {
				got = append(got, f.Outcome)
			}
			require.Equal(t, test.want, got)
			require.Equal(t, len(test.looks)-1, n)
		})
	}
}

// A topic that is made anew begins anew for the checker too.
func TestABuriedPartitionIsForgotten(t *testing.T) {
	t.Parallel()
	tr := bare()
	w := tr.writer("x", 7)
	w.pin(p0, 0, w.began)
	tr.keep(&model.View{Partition: p0, HighW: 9})
	tr.bury(p0)
	require.Negative(t, tr.stable(p0), "nothing is open in the new topic")
	require.Len(t, slices.Collect(maps.Keys(tr.places)), 2)
	require.NotEqual(t, p0, tr.views[0].Partition)
	require.Empty(t, tr.judgeable(), "the old topic cannot be read any more")
}

// A topic that was deleted may stay for a moment where nobody sees it, and its
// name is not free before.
func TestTopicsThatAreDeletedSlowly(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	lingers := mutant.Damage{Keys: []kmsg.Key{kmsg.CreateTopics}, Request: func(c *mutant.Call) {
		req := c.Request.(*kmsg.CreateTopicsRequest)
		name := req.Topics[0].Topic
		if seen[name]++; seen[name] == 2 || seen[name] == 3 { // made anew
			resp := req.ResponseKind().(*kmsg.CreateTopicsResponse)
			topic := kmsg.NewCreateTopicsResponseTopic()
			topic.Topic, topic.ErrorCode = name, kerr.TopicAlreadyExists.Code
			resp.Topics = append(resp.Topics, topic)
			c.Response = resp
		}
	}}
	s := scenario(func(tr *trial) {
		p := tr.partition()
		tr.plain(p, 2)
		tr.recreate(p)
	})
	r, _ := behind(t, lingers, nil, s)
	require.Equal(t, Pass, r.Outcome, r.Reason)
}
