package conformance

import (
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Family S: storage. Where records lie, and which of them are left, must not
// change how the rest is judged.
var familyS = slices.Concat(storageSegments, storageCleaned, storageDeleted)

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
		Known:       "KAFKA-17676, where remote reads looked at one segment's index only",
		needs:       []need{notBuilt("tiered storage, which this checker does not judge yet")},
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
		Log:         "0..1 open | 2 plain | 3..4 open | 5 plain; then deleted below 2 and 4; then committed, or aborted",
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
		needs:       []need{needAPI(kmsg.DeleteTopics, 0)},
		run: func(t *trial) {
			for _, commit := range []bool{true, false} {
				recreateTopic(t, commit)
			}
		},
	},
}
