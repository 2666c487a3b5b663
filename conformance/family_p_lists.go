package conformance

import (
	"slices"

	"example.com/readcommitted/conformance/internal/model"
)

// Scripts of family P about lists in answers that hold little, or much.

// listsOfPartitions is P-08.
func listsOfPartitions(t *trial) {
	ps, w := t.sameLeader(3), t.producer()
	w.write(ps[1], 1)
	w.commit()
	t.plain(ps[0], 7)
	aborted := w.id
	w.write(ps[0], 1)
	w.write(ps[2], 1)
	w.abort()
	own := []*model.Entry{{ProducerID: aborted, FirstOffset: 7}, nil, {ProducerID: aborted, FirstOffset: 0}}
	ends := []int64{9, 2, 2}
	ok := true
	for i, p := range ps {
		t.settle(p)
		ok = ok && t.highWatermark(p) == ends[i]
	}
	t.witness(ok, "the partitions do not end at %v", ends)
	if ok {
		t.readTogether(ps, ends, own)
	}
}

// readTogether reads partitions to their ends with one request for all of them
// and asserts that each answer lists the partition's own entry, and only that.
func (t *trial) readTogether(ps []model.Partition, ends []int64, own []*model.Entry) {
	at := make([]int64, len(ps))
	deadline := t.until(t.bound(settled), "answers with all partitions", func() bool {
		for i, a := range t.fetchEach(ps, at, fetchSpec{isolation: model.ReadCommitted}) {
			t.wantOwnEntry(a, own[i])
			at[i] = a.End()
		}
		return slices.Equal(at, ends)
	})
	if !deadline {
		t.undecided("reading several partitions at once got to %v, not to %v", at, ends)
	}
}

// wantOwnEntry asserts that a list has the entry where its record is in view,
// and nothing else.
func (t *trial) wantOwnEntry(a answer, own *model.Entry) {
	var want []model.Entry
	if own != nil && (batchAt(a.Batches, own.FirstOffset) != nil || slices.Contains(a.List, *own)) {
		want = append(want, *own)
	}
	t.wantEntries(a, want...)
}

// Numbers of P-09.
const (
	walkedProducers    = 5
	walkedTransactions = 50
)

// oneByteWalk is P-09.
func oneByteWalk(t *trial) {
	p := t.partition()
	t.interleaveMany(p)
	t.settle(p)
	l := t.oracle(p)
	outcomes := map[model.Fate]int{}
	for _, r := range l.Runs {
		outcomes[r.Fate]++
	}
	t.witness(len(l.Runs) == walkedTransactions && outcomes[model.Committed] > 0 && outcomes[model.Aborted] > 0,
		"%d transactions, %d of them committed and %d aborted", len(l.Runs), outcomes[model.Committed], outcomes[model.Aborted])
	answers := t.answers(p, 0, l.LSO(), fetchSpec{isolation: model.ReadCommitted, partitionMaxBytes: 1})
	t.wantBatches(l, l.LSO(), model.ReadCommitted, "read with a limit of one byte", batchesOf(answers))
	want, err := l.Visible(0, l.LSO())
	if err != nil {
		t.undecided("reading the log of %s: %v", p, err)
	}
	t.wantOffsets(p, "delivered with a limit of one byte", t.deliveredIn(answers), want)
	t.fact("%d answers for %d batches", len(answers), len(l.Batches))
}

// interleaveMany writes transactions that overlap: producers end their
// transactions in turn, by chance with a commit or an abort, while others have
// theirs open.
func (t *trial) interleaveMany(p model.Partition) {
	ws := make([]*producer, walkedProducers)
	for i := range ws {
		ws[i] = t.producer()
	}
	for k := range walkedTransactions {
		for _, i := range t.rand.Perm(walkedProducers)[:2] {
			if last := walkedTransactions - walkedProducers + i; k < last { // it will end once more
				ws[i].write(p, 1+t.rand.IntN(2))
			}
		}
		if k%7 == 0 {
			t.plain(p, 1)
		}
		ending := ws[k%walkedProducers]
		ending.write(p, 1)
		ending.finish(t.rand.IntN(2) == 0)
	}
}
