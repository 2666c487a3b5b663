package model_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/readcommitted/conformance/internal/model"
)

func TestShapeOfTheBytes(t *testing.T) {
	const log = "batch 0-1\nbatch 2-3\nbatch 4-5"
	check(t, []judgement{
		{name: "whole", log: log},
		{name: "from the middle of a batch", log: log, answer: "fetch 1\n" + log},
		{name: "the last batch cut off", log: log, answer: "batch 0-1\nbatch 2-3\nbatch 4-5 cut=9"},
		{name: "less than a header at the end", log: log, answer: "batch 0-1\nbatch 2-3\nbatch 4-5 keep=11\nhw 6"},
		{name: "nothing", log: log, answer: "hw 6"},
		{name: "compressed", log: "batch 0-3 codec=zstd\nbatch 4 codec=lz4\nbatch 5 codec=gzip\nbatch 6 codec=snappy\nbatch 7 codec=xerial"},
		{name: "a batch before the fetch offset", log: log, answer: "fetch 2\n" + log, want: "U7"},
		{name: "a wrong CRC", log: log, answer: "batch 0-1\nbatch 2-3 flip=-1\nbatch 4-5", want: "U7, U11 warning"},
		{name: "a marker's wrong CRC", log: "abort 0 producer=7", answer: "abort 0 producer=7 set=17:00000000", want: "U7, U11 warning"},
		{name: "a batch twice", log: log, answer: "batch 0-1\nbatch 0-1\nbatch 2-3", want: "U7, U13"},
		{name: "batches that overlap", log: log, answer: "batch 0-1\nbatch 1-3", want: "U7, U11 warning, U13"},
		{name: "batches in the wrong order", log: log, answer: "batch 2-3\nbatch 0-1", want: "U7"},
		{name: "an older magic", log: log, answer: "batch 0-1\nbatch 2-3 magic=1", want: "U7"},
		{name: "a length below the header", log: log, answer: "batch 0-1\nbatch 2-3 length=48", want: "U7"},
		{name: "a negative length", log: log, answer: "batch 0-1\nbatch 2-3 length=-1", want: "U7"},
		{name: "a last offset below the base", log: log, answer: "batch 0-1\nbatch 2-3 last-delta=-1", want: "U7"},
		{name: "more records than offsets", log: log, answer: "batch 0-1\nbatch 2-3 count=3", want: "U7"},
		{name: "more records than its bytes can hold", log: log, answer: "batch 0-1\nbatch 2-3 last-delta=999 count=1000", want: "U7"},
		{name: "more records than its bytes can hold, compressed", log: log, answer: "batch 0-1\nbatch 2-3 codec=zstd last-delta=2147483646 count=2147483647", want: "U7"},
		{name: "more records than are there, compressed", log: log, answer: "batch 0-1\nbatch 2-3 codec=zstd last-delta=999 count=1000", want: "U7"},
		{name: "fewer records than claimed", log: "batch 0-1\nbatch 2-9 records=2,3 count=4", want: "U7"},
		{name: "more records than claimed", log: "batch 0-1\nbatch 2-9 records=2,3,4 count=2", want: "U7"},
		{name: "a codec that nobody knows", log: "batch 0-1\nbatch 2-3 codec=7", want: "U7"},
		{name: "compressed bytes that do not decompress", log: "batch 0-1\nbatch 2-3 codec=gzip payload=0102", want: "U7"},
		{name: "bytes behind the last record", log: "batch 0-1\nbatch 2-3 trailing=1", want: "U7"},
		{name: "a record behind the batch's last offset", log: "batch 0-1 spoil=offset-delta:0", want: "U7"},
		{name: "a record that is longer than its fields", log: "batch 0-1 spoil=record-length:1", want: "U7"},
	})
}

func TestControlBatches(t *testing.T) {
	check(t, []judgement{
		{name: "an abort marker", log: "abort 0 producer=7"},
		{name: "a commit marker", log: "commit 0 producer=7 coordinator-epoch=12"},
		{name: "without its record", log: "empty 0 producer=7 txn control"},
		{name: "a longer value", log: "commit 0 producer=7 value=00010000000c0002"},
		{name: "a longer key", log: "commit 0 producer=7 key=0000000100"},
		{name: "no value", log: "commit 0 producer=7 value=null", want: "U8 warning"},
		{name: "a short value", log: "commit 0 producer=7 value=0000", want: "U8 warning"},
		{name: "another key version", log: "commit 0 producer=7 key=00010001", want: "U8 warning"},
		{name: "another type", log: "control 0 producer=7 type=5", want: "U8 warning"},
		{name: "a key that is too short", log: "batch 0", answer: "control 0 producer=7 key=0000", want: "U7"},
		{name: "two records", log: "abort 0-1 producer=7", want: "U8"},
		{name: "a sequence", log: "abort 0 producer=7 sequence=3", want: "U8"},
		{name: "a negative producer ID", log: "abort 0 producer=-2", want: "U8"},
		{name: "not transactional", log: "empty 0 producer=7 control", want: "U8"},
	})
}

func TestRecordsNeverChange(t *testing.T) {
	const log = "batch 0-1 producer=7 txn\nbatch 2-3\nabort 4 producer=7\nbatch 5"
	at := func(text string) string { return "aborted producer=7 first=0\n" + text }
	check(t, []judgement{
		{name: "the same", log: log, answer: at(log)},
		{name: "another value", log: log, answer: at(strings.Replace(log, "batch 5", "batch 5 value=x", 1)), want: "U11"},
		{name: "another key", log: log, answer: at(strings.Replace(log, "batch 5", "batch 5 key=x", 1)), want: "U11"},
		{name: "a null for an empty value", log: "batch 0 value=empty", answer: "batch 0 value=null", want: "U11"},
		{name: "another header", log: "batch 0 headers=a:b", answer: "batch 0 headers=a:c", want: "U11"},
		{name: "another timestamp", log: log, answer: at(strings.Replace(log, "batch 5", "batch 5 timestamps=7", 1)), want: "U11"},
		{name: "another time of the broker", log: "batch 0 append-time=5", answer: "batch 0 append-time=6", want: "U11"},
		{name: "another producer epoch", log: log, answer: at(strings.Replace(log, "0-1 producer=7", "0-1 producer=7 epoch=1", 1)), want: "U11"},
		{name: "a commit for an abort", log: log, answer: at(strings.Replace(log, "abort 4", "commit 4", 1)), want: "U11"},
		{name: "no transaction any more", log: log, answer: at(strings.Replace(log, "0-1 producer=7 txn", "0-1 producer=7", 1)), want: "U11, U13"},
		{name: "packed by another codec", log: log, answer: at(strings.Replace(log, "batch 5", "batch 5 codec=lz4", 1)), want: "U11 warning"},
		{name: "packed into one batch", log: "batch 0\nbatch 1\nbatch 2", answer: "batch 0-2", want: "U11 warning"},
		{name: "packed into two batches", log: "batch 0-2", answer: "batch 0-1\nbatch 2", want: "U11 warning"},
		{name: "aborted ones packed into one batch", log: "batch 0 producer=7 txn\nbatch 1 producer=7 txn\nabort 2 producer=7", answer: at("batch 0-1 producer=7 txn\nabort 2 producer=7"), want: "U11 warning"},
		{name: "aborted ones packed into two batches, not listed", log: "batch 0-1 producer=7 txn\nabort 2 producer=7", answer: "batch 0 producer=7 txn\nbatch 1 producer=7 txn\nabort 2 producer=7", want: "U3, U11 warning, U13"},
		{name: "packed anew, with a record less", log: "batch 0-2", answer: "hw 3\nbatch 0\nbatch 2", want: "U11 warning, U13"},
		{name: "a record that the log does not have", log: "batch 0\nbatch 2", answer: "batch 0\nbatch 1\nbatch 2", want: "U11, U13"},
		{name: "beyond the end of the log", log: "batch 0", answer: "batch 0\nbatch 1"},
	})
}

func TestProblemsAreFoundWhereTheyAre(t *testing.T) {
	raw := parse(t, "batch 0-1\nbatch 2-3 magic=0").Records
	got, _, problem := model.Parse(raw)
	require.Len(t, got, 1)
	require.NotNil(t, problem)
	require.EqualValues(t, 2, problem.Offset)
	require.Equal(t, len(got[0].Raw), problem.Position)
	require.Equal(t, "byte 99, offset 2: magic 0, want 2", problem.Error())
}
