package conformance

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/model"
	"example.com/readcommitted/conformance/internal/mutant"
	"example.com/readcommitted/internal/kafkatest"
)

// fromStorage adds to a damage that what has to be read from storage does not
// come within a wait: a Fetch at read_committed that waits less is answered
// empty, with the bounds of the log.
func fromStorage(wait time.Duration, other mutant.Damage) mutant.Damage {
	short := func(c *mutant.Call) bool {
		req, ok := c.Request.(*kmsg.FetchRequest)
		return ok && req.IsolationLevel == model.ReadCommitted && time.Duration(req.MaxWaitMillis)*time.Millisecond < wait
	}
	return mutant.Damage{
		Keys: append([]kmsg.Key{kmsg.Fetch}, other.Keys...),
		Request: func(c *mutant.Call) {
			if other.Request != nil && !short(c) {
				other.Request(c)
			}
		},
		Response: func(c *mutant.Call) {
			switch {
			case short(c):
				eachPartition(c.Response.(*kmsg.FetchResponse), func(p *kmsg.FetchResponseTopicPartition) {
					p.RecordBatches, p.AbortedTransactions = nil, nil
				})
			case other.Response != nil:
				other.Response(c)
			}
		},
	}
}

// Scenarios about lists have to see answers that hold something.
var listing = []string{"A-01", "A-02", "A-03", "A-04", "A-05", "A-06", "F-01", "L-01", "L-10"}

// What an empty answer says about lists is nothing: a cluster that answers
// short fetches empty has its lists judged all the same.
func TestListsAreJudgedWhereShortFetchesAreEmpty(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		number int // of a mutant
		ids    []string
	}{
		{"entries that stay", 3, []string{"A-02", "A-03", "A-06"}},
		{"entries in reverse order", 5, []string{"A-05"}},
		{"entries twice", 4, []string{"A-01", "A-02", "A-05", "F-01", "L-10"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			damage := fromStorage(longWait, damageOf(t, test.number))
			for _, r := range runThrough(t, kafkatest.Fake(t, kafkatest.Config{}), damage, test.ids...).Results {
				require.True(t, killed(r), "%s: %s %s\n%s", r.ID, r.Outcome, r.Reason, findingsOf(r))
			}
		})
	}
}

func TestStorageMayTakeItsTime(t *testing.T) {
	t.Parallel()
	for _, r := range runThrough(t, kafkatest.Fake(t, kafkatest.Config{}), fromStorage(longWait, mutant.Damage{}), listing...).Results {
		require.Equal(t, Pass, r.Outcome, "%s: %s\n%s", r.ID, r.Reason, findingsOf(r))
	}
}

// Where nothing ever comes, nothing is said about lists.
func TestListsOfEmptyAnswersAreNotPassed(t *testing.T) {
	t.Parallel()
	report := runBehind(t, kafkatest.Fake(t, kafkatest.Config{}), fromStorage(time.Hour, mutant.Damage{}), Config{Select: []string{"A-05"}, Slow: 0.3})
	require.Equal(t, Inconclusive, report.Results[0].Outcome, findingsOf(report.Results[0]))
}
