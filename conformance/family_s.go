package conformance

import (
	"cmp"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Family S: storage. Where records lie, and which of them are left, must not
// change how the rest is judged.
var familyS = slices.SortedFunc(slices.Values(slices.Concat(storageSegments, storageCleaned, storageDeleted)),
	func(a, b *Scenario) int { return cmp.Compare(a.ID, b.ID) })

// storageSegments are the scenarios on logs of several segments.
var storageSegments = []*Scenario{
	{
		ID: "S-01", Name: "marker-in-later-segment", Class: Must, Profile: Standard, Typical: 2 * time.Second, Limit: 3 * time.Minute,
		Requirement: "an answer lists an aborted transaction of which it holds data also where the abort marker lies two segments later",
		Consequence: "readers with usual limits hand out the records of a transaction that was aborted long after they were written",
		Witness:     "the topic's segment.bytes, and an answer with data of the transaction that ends more than two segments before its marker",
		Log:         "aborted | a segment and more, committed | aborted | a segment and more, aborted | aborted | a segment and more, committed | abort",
		Known:       "lists that are read from the index of one segment only (Redpanda 3001, 3115, 5381 and 7819; AutoMQ 754)",
		needs:       []need{needAPI(kmsg.DescribeConfigs, 0)},
		run:         markerInLaterSegment,
	},
	{
		ID: "S-02", Name: "fetch-spans-segments", Class: Must, Profile: Standard, Typical: 2 * time.Second, Limit: 3 * time.Minute,
		Requirement: "answers that begin in any segment, or reach over several, list exactly the aborted transactions in them",
		Consequence: "readers hand out aborted records, or drop committed ones, wherever a segment ends",
		Witness:     "the topic's segment.bytes, and a log of more than three of them",
		Log:         "aborted | a segment and more, committed | aborted | a segment and more, aborted | aborted | a segment and more, committed | abort",
		Known:       "lists that were put together wrongly from those of several segments (Redpanda 3001)",
		needs:       []need{needAPI(kmsg.DescribeConfigs, 0)},
		run:         fetchSpansSegments,
	},
	{
		ID: "S-08", Name: "tiered-seam", Class: Must, Profile: Extended, Typical: 5 * time.Minute,
		Requirement: "answers from remote storage, from the local log and from where the two meet list the same aborted transactions as before",
		Consequence: "readers of old records hand out aborted ones",
		Witness:     "the local log starts above 0 while the log still starts at 0",
		Known:       "KAFKA-17801, where remote reads listed too few aborted transactions",
		needs:       []need{notBuilt("tiered storage, which this checker does not judge yet")},
	},
}

// storageCleaned are the scenarios on compacted logs. They wait for a cleaner,
// which keeps its own time.
var storageCleaned = []*Scenario{
	{
		ID: "S-03", Name: "compaction-safe", Class: Must, Profile: Extended, Typical: 20 * time.Second, Limit: 5 * time.Minute,
		Requirement: "after compaction a reader at read_committed gets the last committed value of each key, and no aborted one",
		Consequence: "tables that are read from compacted topics lose keys, or hold values that were never committed",
		Witness:     "the topic's settings, and committed records that are gone because newer ones were committed",
		Log:         "k1..k50 committed | k1..k50 aborted, by five producers | k1..k25 committed | some aborted over the end of a segment | ...",
		Known:       "KAFKA-8351 and KAFKA-13727, where the cleaner lost track of a transaction; KAFKA-14055, where it took one marker for another",
		needs:       []need{needAPI(kmsg.DescribeConfigs, 0)},
		run:         compactionSafe,
	},
	{
		ID: "S-04", Name: "markers-expire", Class: Must, Profile: Extended, Typical: time.Minute, Limit: 8 * time.Minute,
		Requirement: "compaction removes the abort marker of a transaction only after all of its records",
		Consequence: "aborted records become visible, or hold readers back for ever once a broker has restarted",
		Witness:     "the topic's settings, and an abort marker that is gone",
		Log:         "as in S-03, with delete.retention.ms 1, and then again",
		needs:       []need{needAPI(kmsg.DescribeConfigs, 0)},
		run:         markersExpire,
	},
	{
		ID: "S-10", Name: "compact-with-open", Class: Should, Profile: Extended, Typical: 20 * time.Second, Limit: 5 * time.Minute,
		Requirement: "compaction touches nothing from the first record of an open transaction on, and takes the outcome into account once it has ended",
		Consequence: "a key loses its committed value to one that is aborted later",
		Witness:     "the topic's settings, and committed records below the open transaction that are gone because newer ones were committed",
		Log:         "k1..k20 committed twice | k1..k10 open | k11..k20 open, of another producer | k21..k40 committed twice",
		needs:       []need{needAPI(kmsg.DescribeConfigs, 0)},
		run:         compactWithOpen,
	},
}

// storageDeleted are the scenarios on records and topics that are deleted.
var storageDeleted = []*Scenario{
	{
		ID: "S-05", Name: "deleterecords-mid-aborted", Class: Must, Profile: Standard, Typical: time.Second,
		Requirement: "where records are deleted up to inside an aborted transaction, what is left of it is still listed as aborted",
		Consequence: "readers that begin at the log start hand out aborted records",
		Witness:     "the log starts inside the transaction, and an answer from there holds records of it",
		Log:         "0..1 committed | 2 commit | 3..4 aborted | 5 committed | 6..8 aborted | 9 aborted | 10 commit | 11 abort | 12..13 committed | 14 commit; then deleted below 6, 7, 9 and 10",
		Known:       "Tansu 0.6.0, which cuts the connection",
		needs:       []need{needAPI(kmsg.DeleteRecords, 0)},
		run:         deleteInsideAborted,
	},
	{
		ID: "S-06", Name: "deleterecords-past-open", Class: Should, Profile: Standard, Typical: 2 * time.Second,
		Requirement: "where the beginning of an open transaction is deleted, the last stable offset is not below the log start, what is left is held back until the end, and the end works",
		Consequence: "readers get undecided records, or wait for ever",
		Witness:     "the log starts inside the open transaction",
		Log:         "0..1 open | 2 plain | 3..4 open | 5 plain; then deleted below 2, 3 and 4; then committed, or aborted",
		Known:       "kfake of 2026-09, whose last stable offset stays below the log start",
		needs:       []need{needAPI(kmsg.DeleteRecords, 0)},
		run: func(t *trial) {
			for _, commit := range []bool{true, false} {
				deletePastOpen(t, commit)
			}
		},
	},
	{
		ID: "S-07", Name: "emptied-log", Class: Must, Profile: Standard, Typical: time.Second,
		Requirement: "a log whose records are all deleted has its start, its last stable offset and its high watermark in one place, is read there without error, and goes on from there",
		Consequence: "readers start over, or see an error, in a partition that has nothing for them",
		Witness:     "the log starts at its end",
		Log:         "0..1 committed | 2 commit | 3..4 aborted | 5 abort; then deleted below 6; then 6..7 committed | 8 commit | 9 aborted | 10 abort",
		needs:       []need{needAPI(kmsg.DeleteRecords, 0)},
		run:         emptiedLog,
	},
	{
		ID: "S-09", Name: "recreate-topic", Class: Must, Profile: Standard, Typical: 3 * time.Second, Limit: 2 * time.Minute,
		Requirement: "a transaction that was open in a topic when it was deleted holds nothing back in a new topic of that name, and its end decides nothing there",
		Consequence: "readers of the new topic wait for ever, get undecided records, or lose committed ones",
		Witness:     "the transaction held the old topic back, and the new one has another ID or begins at 0",
		Log:         "deleted: 0..1 open; new: 0 plain | 1 open, of another producer | the old transaction is ended",
		ownTopics:   true,
		needs:       []need{needAPI(kmsg.DeleteTopics, 0)},
		run: func(t *trial) {
			for _, commit := range []bool{true, false} {
				recreateTopic(t, commit)
			}
		},
	},
}
