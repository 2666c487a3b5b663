package conformance

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/model"
)

// Scripts of family P about what an answer holds at an offset.

// uncommittedHasNoList is P-02.
func uncommittedHasNoList(t *trial) {
	l := t.interleaved()
	answers := t.answers(l.p, 0, 6, fetchSpec{isolation: model.ReadUncommitted})
	t.wantBatches(t.oracle(l.p), 6, model.ReadUncommitted, "read", batchesOf(answers))
	for _, a := range answers {
		t.wantHigh(a, 6)
		t.expect(len(a.List) == 0, l.p, a.FetchOffset, a.about()+": no list", "aborted "+model.ListString(a.List))
		if !a.ListNull && len(a.List) == 0 {
			t.factOnce("the list at read_uncommitted is empty, not null")
		}
	}
}

// emptyList is P-03.
func emptyList(t *trial) {
	p := t.partition()
	t.plain(p, 3)
	t.settle(p)
	a, _ := t.filled(p, 0, fetchSpec{isolation: model.ReadCommitted})
	t.witness(a.End() == 3, "the answer ends at %d", a.End())
	t.expectAs(Must, len(a.List) == 0, p, 0, a.about()+": no entries", "aborted "+model.ListString(a.List))
	t.expect(!a.ListNull, p, 0, a.about()+": an empty list", "null")
}

// midBatchOffset is P-04.
func midBatchOffset(t *trial) {
	p, w := t.partition(), t.producer()
	for range 2 {
		w.write(p, 10)
		w.commit()
	}
	t.settle(p)
	l := t.oracle(p)
	ok := l.End == 22 && len(l.Batches) == 4 && l.Batches[0].Last == 9
	t.witness(ok, "the log of %s is %s", p, l)
	if !ok {
		t.undecided("the log of %s is not as it was written: %s", p, l)
	}
	for _, isolation := range []int8{model.ReadCommitted, model.ReadUncommitted} {
		for from := range int64(10) {
			spec := fetchSpec{isolation: isolation}
			answers := t.answersInside(p, 0, from, 22, spec)
			a := answers[0]
			first := &a.Batches[0]
			expected := fmt.Sprintf("%s: begins with the batch that holds it", a.about())
			t.expect(first.Base <= from && from <= first.Last, p, from, expected, batchLine(first))
			whole := &l.Batches[l.At(from)]
			t.expectAs(Should, sameBatch(first, whole), p, from, a.about()+": begins with "+batchLine(whole), batchLine(first))
			want := append(spanOf(from, 10), spanOf(11, 21)...)
			t.wantOffsets(p, fmt.Sprintf("delivered at isolation level %d from %d on", isolation, from), t.deliveredIn(answers), want)
		}
	}
}

// boundaryOffsets is P-05.
func boundaryOffsets(t *trial) {
	p := t.partition()
	t.plain(p, 1)
	t.plain(p, 1)
	w := t.producer()
	w.write(p, 3)
	ok := t.wantNoData(t.uncommitted(p, 5))
	for offset := int64(2); offset <= 5; offset++ {
		ok = t.wantNoData(t.committed(p, offset)) && ok
	}
	if !ok {
		t.witness(true, "") // the transaction is open; what follows would only take long
		return
	}
	t.wantOutside(t.committed(p, 6))
	t.wantOutside(t.uncommitted(p, 6))
	t.deleteRecords(p, 1)
	start := t.list(p, model.ReadUncommitted, earliest)
	t.witness(start == 1, "the earliest offset of %s is %d", p, start)
	if start != 1 {
		return
	}
	t.wantOutside(t.committed(p, 0))
	t.wantOutside(t.uncommitted(p, 0))
	for _, a := range t.answers(p, 1, 2, fetchSpec{isolation: model.ReadCommitted}) {
		t.wantEnd(a, 2)
	}
	w.commit()
}

// wantNoData asserts an answer without an error and without data.
func (t *trial) wantNoData(a answer) bool {
	return t.wantNoError(a) && t.expect(len(a.Batches) == 0, a.Partition, a.FetchOffset, a.about()+": no data", fmt.Sprintf("data up to %d", a.End()))
}

// wantOutside asserts that an answer says that its offset is not in the log.
func (t *trial) wantOutside(a answer) {
	class := t.scenario.Class
	if a.ErrorCode != 0 {
		class = Should // refused, if for another reason
	}
	t.expectAs(class, a.ErrorCode == kerr.OffsetOutOfRange.Code, a.Partition, a.FetchOffset,
		a.about()+": "+kerr.OffsetOutOfRange.Message, codeName(a.ErrorCode))
}

// uncommittedShowsAll is P-12. It must not wait for a marker: where
// read_uncommitted hides things, none would come.
func uncommittedShowsAll(t *trial) {
	p, w := t.partition(), t.producer()
	t.plain(p, 1)
	w.write(p, 2)
	id := w.id
	w.end(false)
	over := t.settle(p)
	high := t.highWatermark(p)
	t.witness(over && high > 3, "the last stable offset of %s followed: %v, and the high watermark is %d", p, over, high)
	if !over || high < 3 {
		return
	}
	records, markers := 0, 0
	for from := int64(0); from < high; {
		a := t.uncommitted(p, from)
		for i := range a.Batches {
			switch b := &a.Batches[i]; {
			case b.ProducerID == id && b.Control():
				markers++
			case b.ProducerID == id:
				records += int(b.Count)
			}
		}
		if a.End() <= from {
			break
		}
		from = a.End()
	}
	t.expect(records == 2, p, 1, "2 aborted records at read_uncommitted", fmt.Sprintf("%d: what aborted cannot be seen in the log", records))
	t.expect(markers == 1, p, 3, "a marker at read_uncommitted", fmt.Sprintf("%d: how transactions ended cannot be seen in the log", markers))
}

// smallLimit is P-13.
func smallLimit(t *trial) {
	p := t.partition()
	for range 3 {
		t.plain(p, 2)
	}
	t.settle(p)
	for _, isolation := range []int8{model.ReadCommitted, model.ReadUncommitted} {
		for offset := range int64(6) {
			wide, _ := t.filled(p, offset, fetchSpec{isolation: isolation})
			t.witness(len(wide.Batches) > 0, "nothing at offset %d of %s", offset, p)
			a, ok := t.filled(p, offset, fetchSpec{isolation: isolation, partitionMaxBytes: 1})
			expected := a.about() + " with a limit of one byte: begins with the batch that holds the offset, whole"
			if !t.expect(ok, p, offset, expected, a.nothing()) {
				return
			}
			first := &a.Batches[0]
			t.expect(first.Base <= offset && offset <= first.Last, p, offset, expected, batchLine(first))
		}
	}
}

// controlBatchCRC is P-14.
func controlBatchCRC(t *trial) {
	p, w := t.partition(), t.producer()
	w.write(p, 1)
	w.commit()
	w.write(p, 1)
	w.abort()
	t.settle(p)
	seen := map[model.Kind]bool{}
	for _, isolation := range []int8{model.ReadUncommitted, model.ReadCommitted} {
		for _, b := range batchesOf(t.answers(p, 0, 4, fetchSpec{isolation: isolation})) {
			if !b.Control() {
				continue
			}
			seen[b.Kind] = true
			t.expect(b.CRCValid, p, b.Base, "a valid CRC", fmt.Sprintf("that of the %s at %d is wrong, at isolation level %d", b.Kind, b.Base, isolation))
		}
	}
	t.witness(seen[model.CommitMarker] && seen[model.AbortMarker], "the log of %s is %s", p, t.oracle(p))
}

// zeroWaits is how often P-15 asks without waiting.
const zeroWaits = 5

// zeroWait is P-15.
func zeroWait(t *trial) {
	p := t.partition()
	t.plain(p, 3)
	t.settle(p)
	a, _ := t.filled(p, 0, fetchSpec{isolation: model.ReadCommitted})
	t.witness(a.End() == 3, "the answer ends at %d", a.End())
	observed := ""
	for tries := 0; tries < zeroWaits; {
		req := t.fetchRequest(p, 0, fetchSpec{isolation: model.ReadCommitted, zeroWait: true})
		resp := t.unthrottled(t.leader(p), "fetch", req).Response.(*kmsg.FetchResponse)
		switch rp := partitionIn(resp, p.Index); {
		case rp != nil && passes(rp.ErrorCode):
			t.refresh(p)
			t.appears(p, 3)
			continue
		case rp == nil:
			observed = "an answer without the topic"
		case len(rp.RecordBatches) > 0:
			return
		default:
			observed = "no data, " + codeName(rp.ErrorCode)
		}
		tries++
	}
	t.expect(false, p, 0, "fetch with a MaxWait of 0: the records", observed)
}
