package model_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/model"
	"example.com/readcommitted/internal/batchtest"
)

var partition = model.Partition{Topic: "t", Index: 0}

// parse reads the part of batchtest's notation that stands above the dashes.
func parse(t testing.TB, text string) batchtest.Scenario {
	t.Helper()
	s, err := batchtest.Parse("case", "# a case\n"+text+"\n----\nvisible none\nnext 0\nuncommitted none\n")
	require.NoError(t, err)
	return s
}

// batches parses the bytes of a log in batchtest's notation.
func batches(t testing.TB, text string) []model.Batch {
	t.Helper()
	s := parse(t, text)
	out, tail, problem := model.Parse(s.Records)
	require.Nil(t, problem)
	require.Zero(t, tail)
	return out
}

// logOf is a partition in batchtest's notation, from its log-start to its end.
func logOf(t testing.TB, text string) *model.Log {
	t.Helper()
	s := parse(t, text)
	return model.NewLog(partition, s.LogStartOffset, s.HighWatermark, batches(t, text))
}

// answered is an answer in batchtest's notation: what comes back for a fetch
// offset, with bounds and list.
func answered(t testing.TB, text string) *model.View {
	t.Helper()
	s := parse(t, text)
	v := viewOf(s.Partition())
	v.FetchOffset = s.Fetch
	return v
}

func viewOf(p *kmsg.FetchResponseTopicPartition) *model.View {
	v := &model.View{
		Partition: partition, Isolation: model.ReadCommitted, Version: 17,
		LogStartOffset: p.LogStartOffset, LastStableOffset: p.LastStableOffset, HighW: p.HighWatermark,
		ListNull: p.AbortedTransactions == nil,
	}
	for _, a := range p.AbortedTransactions {
		v.List = append(v.List, model.Entry{ProducerID: a.ProducerID, FirstOffset: a.FirstOffset})
	}
	v.Batches, v.Tail, v.Problem = model.Parse(p.RecordBatches)
	return v
}

// judged are the breaches of an answer, each as "U3", or "U5 warning" where it
// is no failure, in the order of the rules.
func judged(v *model.View, l *model.Log) (out []string) {
	for _, rule := range model.Rules {
		if !rule.Applies(v) || rule.NeedsLog && l == nil {
			continue
		}
		out = append(out, names(rule.Judge(v, l))...)
	}
	return out
}

func names(breaches []model.Breach) (out []string) {
	for _, b := range breaches {
		name := b.Invariant
		if b.Severity != model.Failure {
			name += " " + [...]string{"fact", "warning"}[b.Severity]
		}
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// judgement is a case of a table: a partition, an answer, and what is wrong
// with the answer.
type judgement struct {
	name   string
	log    string // the partition
	answer string // "" is the partition itself, from offset 0
	uncommitted,
	quiet bool
	version int16 // 0 is 17
	open    []model.Pinned
	want    string // breaches, separated by commas
}

func (j judgement) view(t testing.TB) *model.View {
	t.Helper()
	text := j.answer
	if text == "" {
		text = j.log
	}
	v := answered(t, text)
	v.Quiet, v.Open = j.quiet, j.open
	if j.uncommitted {
		v.Isolation = model.ReadUncommitted
	}
	if j.version != 0 {
		v.Version = j.version
	}
	return v
}

func check(t *testing.T, cases []judgement) {
	t.Helper()
	for _, j := range cases {
		t.Run(j.name, func(t *testing.T) {
			v, l := j.view(t), logOf(t, j.log)
			require.Equal(t, j.want, strings.Join(judged(v, l), ", "), "log %s\nlist %s\n%s", l, model.ListString(v.List), explain(v, l))
		})
	}
}

// explain is every breach in full.
func explain(v *model.View, l *model.Log) string {
	var b strings.Builder
	for _, rule := range model.Rules {
		if !rule.Applies(v) || rule.NeedsLog && l == nil {
			continue
		}
		for _, breach := range rule.Judge(v, l) {
			fmt.Fprintf(&b, "%s at %d: expected %s, observed %s\n", breach.Invariant, breach.Offset, breach.Expected, breach.Observed)
		}
	}
	return b.String()
}
