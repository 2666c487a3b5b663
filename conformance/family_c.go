package conformance

import (
	"time"

	"example.com/readcommitted/conformance/internal/model"
)

// Family C: readers, judged beside the cluster. A reader that does not get what
// the log has is at fault, unless the cluster's answers are wrong; then the
// finding is about the cluster.
var familyC = []*Scenario{
	{
		ID: "C-01", Name: "three-way-compare", Class: Must, Profile: Smoke, Typical: 4 * time.Second, Limit: 3 * time.Minute,
		Requirement: "a reader at read_committed hands out exactly the committed records of the log, in order, with their bytes",
		Consequence: "applications work on aborted records, or never see committed ones",
		Witness:     "the logs hold committed, aborted and open transactions",
		Log:         "one partition for each of: overlapping runs, one producer with many ends, codecs, an open tail, an aborted tail, empty registrations, several partitions, markers in a later answer, null keys and values",
		Known:       "brod 659 (an aborted transaction between two committed ones), librdkafka 3020 (aborted and compressed), kafka-go 1332 (the list ignored)",
		needs:       []need{needClient},
		run:         func(t *trial) { compareEverywhere(t, model.ReadCommitted) },
	},
	{
		ID: "C-02", Name: "iso0-compare", Class: Must, Profile: Standard, Typical: 4 * time.Second, Limit: 3 * time.Minute,
		Requirement: "a reader at read_uncommitted hands out every record of the log and no marker, in order, with their bytes",
		Consequence: "tools that look at the whole log miss records, or take markers for records",
		Witness:     "the logs hold committed, aborted and open transactions",
		Log:         "as C-01",
		Known:       "kafka-go 659: markers handed out as records",
		needs:       []need{needClient},
		run:         func(t *trial) { compareEverywhere(t, model.ReadUncommitted) },
	},
	{
		ID: "C-03", Name: "seek-everywhere", Class: Must, Profile: Standard, Typical: 5 * time.Second, Limit: 5 * time.Minute,
		Requirement: "a reader that begins at any offset hands out the same records from there on",
		Consequence: "a restart or a seek loses records, or hands out aborted ones",
		Witness:     "300 offsets with committed and aborted transactions of several batches",
		Log:         "random: three producers whose transactions overlap, and plain records",
		Known:       "platformatic/kafka 391, which crashed where reading was resumed at an abort marker",
		levels:      anyLevel,
		needs:       []need{needClient},
		run:         seekEverywhere,
	},
	{
		ID: "C-04", Name: "lag-and-end", Class: Should, Profile: Standard, Typical: time.Second, Limit: 2 * time.Minute,
		Requirement: "a reader's end offset is the last stable offset, its position passes what it never hands out, and its lag is the difference",
		Consequence: "lag never reaches zero, or is zero while there is something to read",
		Witness:     "a transaction was open behind an aborted one",
		Log:         "0..1 committed | 2 commit | 3..5 aborted | 6 abort | 7 open | 8 plain",
		Known:       "librdkafka 2539: lag stays at 1, the marker",
		levels:      anyLevel,
		needs:       []need{needClient, needTelling},
		run:         lagAndEnd,
	},
	{
		ID: "C-05", Name: "start-at-marker", Class: Must, Profile: Standard, Typical: time.Second, Limit: 2 * time.Minute,
		Requirement: "a reader that begins at a marker goes on with the next committed record",
		Consequence: "a group whose commit passed a record but not the marker behind it cannot go on",
		Witness:     "the log has a commit marker, and an abort marker",
		Log:         "0 committed | 1 commit | 2 aborted | 3 abort | 4 abort of nothing | 5 plain | 6 committed | 7 commit",
		Known:       "platformatic/kafka 391 (crashed at an abort marker), kafkajs 403 (never left the last marker)",
		needs:       []need{needClient},
		run:         startAtMarker,
	},
	{
		ID: "C-06", Name: "progress-watchdog", Class: Live, Profile: Standard, Typical: 3 * time.Second, Limit: 3 * time.Minute,
		Requirement: "a reader below the last stable offset never stands still for 10 s",
		Consequence: "a partition is not read any more, and nothing says so",
		Witness:     "records were committed behind many markers, and more while the reader waited at the end",
		Log:         "0 plain | 40 aborted transactions | plain, and then one transaction after another",
		Known:       "kafkajs 1257 and Sarama before June 2018, which did not move over answers without a record for them",
		alone:       true,
		needs:       []need{needClient},
		run:         progressWatchdog,
	},
	{
		ID: "C-07", Name: "leniency", Class: Info, Profile: Standard, Typical: time.Second,
		Requirement: "what readers make of answers that are wrong in a known way",
		Consequence: "none: it tells which faults of a broker a reader forgives",
		Witness:     "a right answer with committed and aborted runs was recorded",
		levels:      anyLevel,
		needs:       []need{needClient},
		run:         leniency,
	},
	{
		ID: "C-08", Name: "self-audit", Class: Must, Profile: Standard, Typical: 2 * time.Second, Limit: 2 * time.Minute,
		Requirement: auditRequirement,
		Consequence: auditConsequence,
		Witness:     "the markers of aborted transactions came after data of others, and after megabytes",
		Log:         "one producer with 20 transactions, each ended otherwise than the one before, beside one that stays open for all of them; then markers in a later answer than their data",
		needs:       []need{needClient},
		run:         selfAudit,
	},
}

// compareEverywhere compares the readers on every layout: while transactions
// are open, and when all are ended and a plain record closes the log.
func compareEverywhere(t *trial, isolation int8) {
	ps := t.partitions(partitionsOf(readerLogs))
	seen := map[model.Fate]bool{}
	compare := func(p model.Partition) {
		w := t.truth(p, isolation)
		for _, run := range w.log.Runs {
			seen[run.Fate] = true
		}
		t.compareFrom(w)
	}
	for _, l := range readerLogs {
		mine := ps[:l.partitions]
		ps = ps[l.partitions:]
		if closing := l.write(t, mine); closing != nil {
			for _, p := range mine {
				compare(p)
			}
			closing()
		}
		for _, p := range mine {
			t.plain(p, 1)
			compare(p)
		}
	}
	t.witness(seen[model.Committed] && seen[model.Aborted] && seen[model.Open], "the logs do not show committed, aborted and open transactions")
}

func partitionsOf(logs []readerLog) int32 {
	n := 0
	for _, l := range logs {
		n += l.partitions
	}
	return int32(n)
}
