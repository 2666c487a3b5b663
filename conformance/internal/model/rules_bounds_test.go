package model_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/readcommitted/conformance/internal/model"
)

func TestBoundsOfAQuietPartition(t *testing.T) {
	const log = "batch 0\nbatch 1\nbatch 2"
	check(t, []judgement{
		{name: "all of it stable", log: log, quiet: true},
		{name: "an open transaction", log: "batch 0\nbatch 1 producer=7 txn", answer: "lso 1\nhw 2\nbatch 0", quiet: true},
		{name: "emptied", log: "log-start 3\nhw 3", answer: "log-start 3\nhw 3\nlso 3\nfetch 3", quiet: true},
		{name: "LSO above HW", log: log, answer: "lso 4\nhw 3\nbatch 0\nbatch 1\nbatch 2", quiet: true, want: "U1"},
		{name: "LSO above HW, under load", log: log, answer: "lso 4\nhw 3\nbatch 0\nbatch 1\nbatch 2"},
		{name: "LSO below the log start", log: log, answer: "log-start 2\nlso 1\nhw 3", quiet: true, want: "U1"},
		{name: "no LSO", log: log, answer: "lso -1\nhw 3", quiet: true, want: "U1"},
		{name: "no HW", log: log, answer: "lso -1\nhw -1", quiet: true, want: "U1"},
		{name: "no log start", log: log, answer: "log-start -1\nlso 3\nhw 3", quiet: true, want: "U1"},
		{name: "no log start before v5", log: log, answer: "log-start -1\nlso 3\nhw 3", quiet: true, version: 4},
		{name: "no LSO at read_uncommitted", log: log, answer: "aborted null\nlso -1\nhw 3", quiet: true, uncommitted: true},
		{name: "HW below the log start", log: log, answer: "aborted null\nlog-start 2\nlso 1\nhw 1", quiet: true, uncommitted: true, want: "U1"},
	})
}

func TestNothingUndecidedIsGiven(t *testing.T) {
	const log = "batch 0\nbatch 1 producer=7 txn\nbatch 2"
	open := []model.Pinned{{ProducerID: 7, First: 1}}
	check(t, []judgement{
		{name: "up to the LSO", log: log, answer: "lso 1\nhw 3\nbatch 0", quiet: true, open: open},
		{name: "quiet, a batch at the LSO", log: "batch 0\nbatch 1", answer: "lso 1\nhw 2\nbatch 0\nbatch 1", quiet: true, want: "U2"},
		{name: "under load, a batch at the LSO", log: "batch 0\nbatch 1", answer: "lso 1\nhw 2\nbatch 0\nbatch 1"},
		{name: "a batch that reaches over the LSO", log: "batch 0-3", answer: "lso 2\nhw 4\nbatch 0-3", quiet: true, want: "U2"},
		{name: "at read_uncommitted a batch at the LSO", log: log, answer: "aborted null\nlso 1\nhw 3\n" + log, quiet: true, uncommitted: true},
		{name: "at read_uncommitted a batch at the HW", log: log, answer: "aborted null\nlso 1\nhw 2\n" + log, quiet: true, uncommitted: true, want: "U2"},
		{name: "the LSO above an open transaction", log: log, answer: "lso 2\nhw 3\nbatch 0", open: open, want: "U2b"},
		{name: "the LSO is the HW", log: log, answer: "lso 3\nhw 3\nbatch 0", open: open, want: "U2b"},
		{name: "a record of an open transaction", log: log, answer: "lso 1\nhw 3\nbatch 0\nbatch 1 producer=7 txn", open: open, want: "U2b, U13"},
		{name: "a plain record behind an open transaction", log: log, answer: "lso 1\nhw 3\nfetch 2\nbatch 2", open: open, want: "U2b"},
		{name: "the second of two open ones", log: log, answer: "lso 2\nhw 3\nbatch 0", open: []model.Pinned{{ProducerID: 8, First: 2}}},
		{name: "an open transaction below the log start", log: log, answer: "log-start 2\nlso 2\nhw 3\nfetch 2", open: open},
		{name: "nothing is pinned at read_uncommitted", log: log, answer: "aborted null\nlso 3\nhw 3\n" + log, uncommitted: true, open: open},
	})
}

func TestBothRequestsTellOfTheSameEnds(t *testing.T) {
	for _, c := range []struct {
		name string
		ends model.Ends
		want []string
	}{
		{"nothing open", model.Ends{Listed: 5, ListedCommitted: 5, High: 5, Stable: 5}, nil},
		{"something open", model.Ends{Listed: 5, ListedCommitted: 3, High: 5, Stable: 3}, nil},
		{"isolation ignored", model.Ends{Listed: 5, ListedCommitted: 5, High: 5, Stable: 3}, []string{"U12"}},
		{"the LSO for everybody", model.Ends{Listed: 3, ListedCommitted: 3, High: 5, Stable: 3}, []string{"U12"}},
		{"nothing at all", model.Ends{Listed: 5, ListedCommitted: -1, High: 5, Stable: 5}, []string{"U12"}},
	} {
		t.Run(c.name, func(t *testing.T) { require.Equal(t, c.want, names(model.U12(c.ends))) })
	}
}
