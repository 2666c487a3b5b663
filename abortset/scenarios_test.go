package abortset_test

import (
	"cmp"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/readcommitted/abortset"
	"example.com/readcommitted/batchdecode"
	"example.com/readcommitted/internal/batchtest"
	"example.com/readcommitted/internal/codec"
)

// The readable logs of testdata, judged by both forms of the rule.
func TestScenarios(t *testing.T) {
	all, err := batchtest.Load(os.DirFS("../testdata/scenarios"))
	require.NoError(t, err)
	require.NotEmpty(t, all)
	var response abortset.Response
	var set abortset.Set
	for _, s := range all {
		t.Run(s.Name, func(t *testing.T) {
			wire, batches := readScenario(&s)
			list := make([]abortset.AbortedTransaction, 0, len(s.Aborted))
			for _, e := range s.Aborted {
				list = append(list, abortset.AbortedTransaction{ProducerID: e.ProducerID, FirstOffset: e.FirstOffset})
			}
			verdicts, anomalies := response.Judge(batches, list)
			require.Equal(t, s.Visible, deliveredRecords(&s, wire, verdicts), s.Doc)
			require.Equal(t, sortedAnomalies(s.Anomalies), namedAnomalies(anomalies), s.Doc)
			if !slices.ContainsFunc(anomalies, func(a abortset.Anomaly) bool { return a.Kind != abortset.Duplicate }) {
				require.Equal(t, slices.Clone(verdicts), judgeEach(&set, batches, list), "a list that the log does not contradict decides as well")
			}
		})
	}
}

// readScenario reads the batches in front of the first cut or damaged one.
func readScenario(s *batchtest.Scenario) (wire []batchdecode.Batch, batches []abortset.Batch) {
	last := int64(-1)
	for rest := s.Records; len(rest) > 0; {
		b, after, err := batchdecode.Next(rest)
		if err != nil || b.BaseOffset() <= last {
			break
		}
		kind, err := kindOf(b)
		if err != nil {
			break
		}
		wire = append(wire, b)
		batches = append(batches, abortset.Batch{
			BaseOffset: b.BaseOffset(), LastOffset: b.LastOffset(), ProducerID: b.ProducerID(), Kind: kind,
		})
		last, rest = b.LastOffset(), after
	}
	return wire, batches
}

func kindOf(b batchdecode.Batch) (abortset.Kind, error) {
	if !b.IsControl() {
		if b.IsTransactional() {
			return abortset.Transactional, nil
		}
		return abortset.Plain, nil
	}
	c, ok, err := b.Control(codec.New(), 0)
	switch {
	case !ok:
		return abortset.EmptyControl, err
	case c.Type == batchdecode.ControlAbort:
		return abortset.Abort, nil
	case c.Type == batchdecode.ControlCommit:
		return abortset.Commit, nil
	default:
		return abortset.OtherControl, nil
	}
}

// deliveredRecords are the offsets of the records in delivered batches, from
// the fetch offset up to the first batch that cannot be decoded.
func deliveredRecords(s *batchtest.Scenario, wire []batchdecode.Batch, verdicts []abortset.Verdict) (offsets []int64) {
	next := s.Fetch
	for i, b := range wire {
		if verdicts[i] == abortset.Deliver && b.LastOffset() >= s.Fetch {
			of, ok := recordsOf(s, b, next)
			if !ok {
				return offsets
			}
			offsets = append(offsets, of...)
		}
		next = max(next, b.LastOffset()+1)
	}
	return offsets
}

// recordsOf are the offsets of a batch's records at or above from. Those of an
// old message set are taken from the scenario.
func recordsOf(s *batchtest.Scenario, b batchdecode.Batch, from int64) (offsets []int64, ok bool) {
	if b.Magic() < 2 {
		for o := from; o <= b.LastOffset(); o++ {
			if _, sent := s.Sent(o); sent {
				offsets = append(offsets, o)
			}
		}
		return offsets, s.ErrClass == batchtest.NoError || s.ErrBase != b.BaseOffset()
	}
	records, err := b.Records(codec.New(), int(s.Limit))
	var r batchdecode.Record
	for records.Next(&r) {
		if r.Offset >= from {
			offsets = append(offsets, r.Offset)
		}
	}
	return offsets, err == nil && records.Err() == nil
}

func sortedAnomalies(as []batchtest.Anomaly) []batchtest.Anomaly {
	as = slices.Clone(as)
	slices.SortFunc(as, func(a, b batchtest.Anomaly) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.ProducerID, b.ProducerID))
	})
	return as
}

func namedAnomalies(found []abortset.Anomaly) (as []batchtest.Anomaly) {
	for _, a := range found {
		as = append(as, batchtest.Anomaly{Kind: a.Kind.String(), ProducerID: a.ProducerID})
	}
	return sortedAnomalies(as)
}
