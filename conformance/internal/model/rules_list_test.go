package model_test

import "testing"

// twoProducers is the log that most cases of the list use: producer 8 aborts
// inside a transaction of producer 7, which commits.
const twoProducers = `
	batch  0-1 producer=7 txn
	batch  2   producer=8 txn
	batch  3
	abort  4   producer=8
	commit 5   producer=7
`

// again is one producer whose transactions commit and abort by turns.
const again = `
	batch  0-1 producer=7 txn
	commit 2   producer=7
	batch  3-4 producer=7 txn
	batch  5   producer=7 txn
	abort  6   producer=7
	batch  7   producer=7 txn
	commit 8   producer=7
	batch  9   producer=7 txn
	abort  10  producer=7
	batch  11  producer=7 txn
	commit 12  producer=7
`

func TestAbortedBatchesAreCovered(t *testing.T) {
	check(t, []judgement{
		{name: "listed", log: twoProducers, answer: "aborted producer=8 first=2" + twoProducers},
		{name: "not listed", log: twoProducers, answer: twoProducers, want: "U3, U13"},
		{name: "no list at all", log: twoProducers, answer: "aborted null" + twoProducers, want: "U3, U13"},
		{name: "the wrong producer listed", log: twoProducers, answer: "aborted producer=7 first=0" + twoProducers, want: "U3, U4, U13"},
		{name: "listed from behind the batch", log: twoProducers, answer: "aborted producer=8 first=3" + twoProducers, want: "U3, U4, U13"},
		{name: "listed from before the batch", log: twoProducers, answer: "aborted producer=8 first=1" + twoProducers, want: "U4"},
		{
			name: "only the first of two runs listed", log: again, answer: "aborted producer=7 first=3" + again,
			want: "U3, U13",
		},
		{
			name: "only the second of two runs listed", log: again, answer: "aborted producer=7 first=9" + again,
			want: "U3, U13",
		},
		{
			name: "both runs listed", log: again, answer: "aborted producer=7 first=3\naborted producer=7 first=9" + again,
		},
		{
			name: "the marker lies outside the answer", log: twoProducers,
			answer: `aborted producer=8 first=2
				hw 6
				batch 0-1 producer=7 txn
				batch 2   producer=8 txn`,
		},
		{
			name: "the marker lies outside the answer, and nothing is listed", log: twoProducers,
			answer: `hw 6
				batch 0-1 producer=7 txn
				batch 2   producer=8 txn`,
			want: "U3, U13",
		},
		{
			name: "the transaction began before the answer", log: again,
			answer: `fetch 5
				aborted producer=7 first=3
				hw 13
				batch 5 producer=7 txn
				abort 6 producer=7`,
		},
		{
			name: "the fetch begins inside an aborted batch", log: again,
			answer: `fetch 4
				aborted producer=7 first=3
				hw 13
				batch 3-4 producer=7 txn
				batch 5   producer=7 txn
				abort 6   producer=7`,
		},
		{
			name: "the fetch begins inside an aborted batch that nothing covers", log: again,
			answer: `fetch 4
				hw 13
				batch 3-4 producer=7 txn
				batch 5   producer=7 txn
				abort 6   producer=7`,
			want: "U3, U13",
		},
		{name: "nothing is wanted of read_uncommitted", log: twoProducers, answer: "aborted null" + twoProducers, uncommitted: true},
	})
}

func TestEntriesAreRight(t *testing.T) {
	const rest = `
		hw 13
		batch  7   producer=7 txn
		commit 8   producer=7
	`
	check(t, []judgement{
		{name: "a list trimmed to the answer", log: again, answer: "fetch 7" + rest},
		{name: "an entry beyond the data", log: again, answer: "fetch 7\naborted producer=7 first=9" + rest},
		{
			name: "an entry kept after its marker", log: again,
			answer: "fetch 7\naborted producer=7 first=3" + rest, want: "U4, U13",
		},
		{
			name: "an entry at its own marker", log: again,
			answer: "fetch 6\naborted producer=7 first=3\nabort 6 producer=7" + rest,
		},
		{
			name: "an entry of a committed transaction", log: again,
			answer: "fetch 7\naborted producer=7 first=7" + rest, want: "U4, U13",
		},
		{
			name: "an entry of a producer that is not in the log", log: again,
			answer: "fetch 7\naborted producer=9 first=7" + rest, want: "U4",
		},
		{
			name: "an entry at a marker", log: again,
			answer: "fetch 7\naborted producer=7 first=8" + rest, want: "U4",
		},
		{
			name: "an entry that begins before the log did", log: again,
			answer: "fetch 7\naborted producer=7 first=-1" + rest, want: "U4, U13",
		},
		{
			name: "an entry one offset late", log: again,
			answer: "fetch 3\naborted producer=7 first=4\nbatch 3-4 producer=7 txn\nbatch 5 producer=7 txn\nabort 6 producer=7\nhw 13",
			want:   "U4",
		},
		{
			name: "an entry of a transaction without data", log: `
				batch  0 producer=7 txn
				commit 1 producer=7
				abort  2 producer=8
				batch  3 producer=8 txn
				commit 4 producer=8`,
			answer: `fetch 2
				aborted producer=8 first=1
				abort  2 producer=8
				batch  3 producer=8 txn
				commit 4 producer=8`,
			want: "U4",
		},
		{
			name: "an entry of a transaction that is open", log: "batch 0\nbatch 1 producer=7 txn", quiet: true,
			answer: "aborted producer=7 first=1\nlso 1\nhw 2\nbatch 0", want: "U4",
		},
		{
			name: "the marker may be above the high watermark under load", log: "batch 0\nbatch 1 producer=7 txn",
			answer: "aborted producer=7 first=1\nlso 1\nhw 2\nbatch 0",
		},
		{
			name: "an entry above the end is not known", log: "batch 0\nbatch 1",
			answer: "aborted producer=7 first=9\nhw 2\nbatch 0\nbatch 1",
		},
	})
}

func TestListsByThemselves(t *testing.T) {
	overlapping := `
		batch 0 producer=7 txn
		batch 1 producer=8 txn
		batch 2
		abort 3 producer=8
		abort 4 producer=7
	`
	check(t, []judgement{
		{name: "in order of the markers", log: overlapping, answer: "aborted producer=8 first=1\naborted producer=7 first=0" + overlapping},
		{name: "in order of the first offsets", log: overlapping, answer: "aborted producer=7 first=0\naborted producer=8 first=1" + overlapping},
		{name: "a duplicate", log: overlapping, answer: "aborted producer=8 first=1\naborted producer=7 first=0\naborted producer=8 first=1" + overlapping, want: "U5"},
		{name: "one producer's in the wrong order", log: again, answer: "aborted producer=7 first=9\naborted producer=7 first=3" + again, want: "U5 warning"},
		{name: "null with nothing aborted", log: "batch 0", answer: "aborted null\nbatch 0"},
		{name: "empty with nothing aborted", log: "batch 0"},
		{name: "null at read_uncommitted", log: "batch 0", answer: "aborted null\nbatch 0", uncommitted: true},
		{name: "empty at read_uncommitted", log: "batch 0", uncommitted: true, want: "U6 fact"},
		{name: "a list at read_uncommitted", log: twoProducers, answer: "aborted producer=8 first=2" + twoProducers, uncommitted: true, want: "U6"},
	})
}

// What a client makes of an answer is judged too: some answers are wrong only
// as a whole.
func TestDeliveriesAreTheCommittedRecords(t *testing.T) {
	check(t, []judgement{
		{
			name: "a committed batch left out", log: "batch 0\nbatch 1\nbatch 2",
			answer: "batch 0\nbatch 2", want: "U13",
		},
		{
			name: "the batch of the fetch offset left out", log: "batch 0\nbatch 1\nbatch 2",
			answer: "batch 1\nbatch 2", want: "U13",
		},
		{
			name: "aborted batches left out by the broker", log: twoProducers,
			answer: "hw 6\nbatch 0-1 producer=7 txn\nbatch 3\ncommit 5 producer=7",
		},
		{
			name: "markers left out by the broker", log: "batch 0 producer=7 txn\ncommit 1 producer=7\nbatch 2",
			answer: "hw 3\nbatch 0 producer=7 txn\nbatch 2",
		},
		{
			name: "an abort marker left out, so that the next transaction is dropped", log: again,
			answer: `fetch 3
				aborted producer=7 first=3
				hw 13
				batch  3-4 producer=7 txn
				batch  5   producer=7 txn
				batch  7   producer=7 txn
				commit 8   producer=7`,
			want: "U13",
		},
		{
			name: "records of an open transaction", log: "batch 0\nbatch 1 producer=7 txn",
			answer: "batch 0\nbatch 1 producer=7 txn", want: "U13",
		},
		{
			name: "a transaction that went on after its read", log: "batch 0\nbatch 1 producer=7 txn\ncommit 2 producer=7\nbatch 3",
			answer: "lso 1\nhw 2\nbatch 0",
		},
	})
}

// A log need not begin where the partition did, and compaction leaves holes.
func TestLogsThatLostTheirBeginning(t *testing.T) {
	const inside = `
		log-start 5
		batch  5   producer=7 txn
		abort  6   producer=7
		batch  7   producer=7 txn
		commit 8   producer=7
	`
	const within = `
		log-start 4
		batch  3-4 producer=7 txn
		batch  5   producer=7 txn
		abort  6   producer=7
	`
	check(t, []judgement{
		{name: "an entry below the log start", log: inside, answer: "fetch 5\naborted producer=7 first=3" + inside},
		{name: "no entry for what is left", log: inside, answer: "fetch 5" + inside, want: "U3, U13"},
		{
			name: "an entry below the log start, kept too long", log: inside,
			answer: "fetch 7\naborted producer=7 first=3\nlog-start 5\nbatch 7 producer=7 txn\ncommit 8 producer=7", want: "U4, U13",
		},
		{
			name: "an entry below the log start of another producer", log: inside,
			answer: "fetch 5\naborted producer=7 first=3\naborted producer=9 first=1" + inside, want: "U4",
		},
		{
			name: "an entry whose marker was deleted after the answer", log: inside,
			answer: "fetch 1\naborted producer=7 first=1\nlog-start 0\nlso 4\nhw 4\nbatch 1 producer=7 txn\nabort 2 producer=7\nbatch 3-4 producer=7 txn",
		},
		{
			name: "an entry before a commit, whose marker was deleted after the answer", log: "log-start 7\nbatch 7 producer=7 txn\ncommit 8 producer=7",
			answer: "fetch 3\naborted producer=7 first=3\nlog-start 0\nhw 9\nbatch 3-4 producer=7 txn\nbatch 5 producer=7 txn\nabort 6 producer=7",
		},
		{
			name: "an entry whose producer has no marker any more", log: "log-start 7\nbatch 7",
			answer: "fetch 3\naborted producer=7 first=3\nlog-start 0\nhw 8\nbatch 3-4 producer=7 txn\nbatch 5 producer=7 txn\nabort 6 producer=7",
		},
		{name: "an entry above the first batch that is left", log: inside, answer: "fetch 5\naborted producer=7 first=6" + inside, want: "U3, U4, U13"},
		{name: "the log starts within a batch", log: within, answer: "fetch 4\naborted producer=7 first=3" + within},
		{name: "the log starts within a batch that nothing covers", log: within, answer: "fetch 4" + within, want: "U3, U13"},
		{
			name: "records gone from a committed batch",
			log:  "batch 0-4 producer=7 txn records=1,3\ncommit 5 producer=7\nbatch 6",
		},
		{
			name: "a batch without records", log: "empty 0-4 producer=7 txn\nabort 5 producer=7\nbatch 6",
			answer: "aborted producer=7 first=0\nempty 0-4 producer=7 txn\nabort 5 producer=7\nbatch 6",
		},
		{
			name: "a marker without its record", log: "batch 0\nempty 1 producer=7 txn control\nbatch 2 producer=7 txn\ncommit 3 producer=7",
		},
	})
}
