package conformance

import (
	"fmt"
	"time"

	"example.com/readcommitted/conformance/internal/model"
)

// Family A: the list of aborted transactions.
var familyA = []*Scenario{
	{
		ID: "A-01", Name: "single-abort", Class: Must, Profile: Smoke, Typical: time.Second,
		Requirement: "an answer at read_committed lists the aborted transaction whose records it holds, and no other",
		Consequence: "clients hand out records of an aborted transaction, or drop committed ones",
		Witness:     "the log holds a committed run, an aborted one of three records, and a committed one",
		Log:         "0 committed | 1 commit | 2..4 aborted | 5 abort | 6 committed | 7 commit",
		Known:       "brokers whose list is always empty (Tansu 0.6.0); KoP 1283 and 1856, when the abort came 75 ms after the data",
		run: func(t *trial) {
			for _, delay := range []time.Duration{0, 100 * time.Millisecond} {
				singleAbort(t, delay)
			}
		},
	},
	{
		ID: "A-02", Name: "start-offset-sweep", Class: Must, Profile: Smoke, Typical: time.Second,
		Requirement: "an entry is listed at every fetch offset up to the last aborted record, and at none after the abort marker",
		Consequence: "clients that begin inside a transaction hand out aborted records, or drop committed ones",
		Witness:     "the log is as drawn",
		Log:         "0..1 p1 committed | 2 p2 aborted | 3 plain | 4 abort p2 | 5 commit p1",
		run:         startOffsetSweep,
	},
	{
		ID: "A-03", Name: "same-pid-alternating", Class: Must, Profile: Smoke, Typical: 2 * time.Second,
		Requirement: "of one producer's transactions exactly the aborted ones are listed, each with its own first offset",
		Consequence: "clients hand out an aborted transaction of the producer, or drop the committed one after it",
		Witness:     "the log holds the producer's six transactions as they were ended",
		Log:         "one producer: committed | aborted | committed | aborted | aborted | committed, of 1 to 5 records each",
		run:         alternating,
	},
	{
		ID: "A-04", Name: "interleaved-20", Class: Must, Profile: Standard, Typical: 4 * time.Second,
		Requirement: "among many transactions that overlap, the list picks exactly the aborted ones, whatever part of the log is read",
		Consequence: "clients hand out aborted records or drop committed ones wherever several producers write",
		Witness:     "the log holds the batches of 20 producers, of which ten commit and ten abort at the end",
		Known:       "AutoMQ 754, where the list was cut short",
		Limit:       5 * time.Minute,
		run:         interleavedMany,
	},
	{
		ID: "A-05", Name: "order-and-duplicates", Class: Should, Profile: Standard, Typical: 4 * time.Second,
		Requirement: "a long list holds each aborted transaction once, and the entries of one producer ascend",
		Consequence: "clients that walk the list in its order hand out aborted records, and those that count entries drop a committed transaction",
		Witness:     "the log holds a hundred aborted transactions of two producers",
		Known:       "lists that were put together from two places, the older part last",
		Limit:       5 * time.Minute,
		run:         orderAndDuplicates,
	},
	{
		ID: "A-06", Name: "no-stale-entries", Class: Must, Profile: Standard, Typical: 2 * time.Second,
		Requirement: "after its abort marker a transaction is never listed again",
		Consequence: "clients drop committed records of that producer until its next abort marker, which may never come",
		Witness:     "the log holds an aborted transaction and fifty committed ones of the same producer after it",
		Log:         "0 aborted | 1 abort | 2 committed | 3 commit | 4 committed | 5 commit | ...",
		Limit:       5 * time.Minute,
		run:         noStaleEntries,
	},
	{
		ID: "A-07", Name: "many-aborts", Class: Must, Profile: Standard, Typical: 5 * time.Second,
		Requirement: "a wide answer lists every aborted transaction in it, however many there are",
		Consequence: "clients hand out the records of those transactions for which the list had no room",
		Witness:     "the log holds at least 200 aborted transactions of one record each, and a committed one",
		Known:       "lists with a limit, or taken from one segment only",
		Limit:       15 * time.Minute,
		run:         manyAborts,
	},
	{
		ID: "A-08", Name: "marker-far-ahead", Class: Must, Profile: Standard, Typical: 4 * time.Second,
		Requirement: "an answer lists an aborted transaction of which it holds data also where the abort marker lies megabytes later",
		Consequence: "clients with usual limits hand out the records of long aborted transactions",
		Witness:     "answers held data of a transaction whose marker lay more than 4 MB behind their end",
		Log:         "aborted | 1 MB committed | aborted | 1 MB committed | ... | abort",
		Known:       "AutoMQ 754; Redpanda 3001, 3115, 5381 and 7819: the list came from the wrong place; kfake of 2026-09, where a request's MaxBytes ends the answer",
		Limit:       2 * time.Minute,
		run:         markerFarAhead,
	},
	{
		ID: "A-09", Name: "window-inside-only", Class: Must, Profile: Standard, Typical: 2 * time.Second,
		Requirement: "an answer from inside an aborted transaction, without data of it, gives all committed records there; the entry may be listed",
		Consequence: "clients drop records of other producers that lie between the first record and the marker of an aborted transaction",
		Witness:     "answers began after the transaction's only batch and ended before its marker",
		Log:         "aborted | 1 MB committed and plain | abort",
		Known:       "brokers that filter what they answer and took too much (Bufstream 0.1.0)",
		run:         windowInsideOnly,
	},
	{
		ID: "A-10", Name: "abort-under-concurrent-read", Class: Must, Profile: Standard, Typical: 5 * time.Second,
		Requirement: "readers that follow the lists while transactions end get no aborted record, none before its commit was sent, and all committed ones",
		Consequence: "applications act on records that were never committed, or miss committed ones, whenever they keep up with the producers",
		Witness:     "readers had answers with data while transactions were being ended",
		Known:       "Redpanda 10671 and 21.10.1; lists that were ready only some time after the abort",
		Limit:       3 * time.Minute,
		run:         concurrentReads,
	},
}

func singleAbort(t *trial, delay time.Duration) {
	b := t.book()
	w := b.author()
	w.run(true, 1)
	first := w.write(3)
	if delay > 0 {
		t.pause(delay, "the abort")
		open := t.shown(b.p, 0, 0)
		t.expect(open.End() <= first, b.p, first, fmt.Sprintf("%s: nothing from %d on, where a transaction is open", open.about(), first),
			fmt.Sprintf("batches up to %d", open.End()))
	}
	w.abort()
	w.run(true, 1)
	t.rest(b.p)
	b.wantDelivered(0, fetchSpec{})
	l := b.logged()
	b.wantAnswer(t.shownOf(l, 0), l)
}

func startOffsetSweep(t *trial) {
	l := t.interleaved()
	log := t.oracle(l.p)
	visible := []int64{0, 1, 3}
	listed := 0
	for from := range int64(7) {
		a := t.shownOf(log, from)
		t.wantList(a, log)
		if from > 2 {
			listed += len(a.List)
		}
		for len(visible) > 0 && visible[0] < from {
			visible = visible[1:]
		}
		t.wantDelivered(l.p, from, visible...)
	}
	t.fact("between the last record of an aborted transaction and its marker, %d of 2 fetch offsets list it", listed)
}

// interleavedLog is a log that many scenarios use: two transactions that
// overlap, one of them aborted, and a plain record between them.
type interleavedLog struct {
	p                  model.Partition
	committed, aborted int64 // producer IDs
}

// interleaved writes 0..1 p1 | 2 p2 | 3 plain | 4 abort p2 | 5 commit p1, and
// waits until all of it is stable.
func (t *trial) interleaved() interleavedLog {
	p, w1, w2 := t.partition(), t.producer(), t.producer()
	out := interleavedLog{p: p, committed: w1.id, aborted: w2.id}
	w1.write(p, 2)
	w2.write(p, 1)
	t.plain(p, 1)
	w2.abort()
	w1.commit()
	t.rest(p)
	l := t.oracle(p)
	ok := l.End == 6 && len(l.Runs) == 2 && l.Runs[0].Fate != model.Open && l.Runs[1].Marker == 4
	t.witness(ok, "the log of %s is %s", p, l)
	if !ok {
		t.undecided("the log of %s is not as it was written: %s", p, l)
	}
	t.expectSafe(Must, l.Runs[0].Fate == model.Committed && l.Runs[1].Fate == model.Aborted, p, 0,
		"transactions end as their producers were told", l.String())
	return out
}
