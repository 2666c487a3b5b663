package conformance

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"example.com/readcommitted/conformance/internal/model"
)

// truth is what a partition has to give a reader, by its log.
type truth struct {
	log       *model.Log
	isolation int8
	start     int64       // where the reader begins
	end       int64       // the bound of the isolation level, exclusive
	records   []Delivered // in [start, end)
}

// truth reads the log of a partition and works out what it has to give, once
// the last stable offset is where the log has it. Nothing may be written to the
// partition until it was used.
func (t *trial) truth(p model.Partition, isolation int8) truth {
	l := t.oracle(p)
	w := truth{log: l, isolation: isolation, start: l.Start, end: l.End}
	visible := l.Records
	if isolation == model.ReadCommitted {
		w.end, visible = l.LSO(), l.Visible
		if !t.settleTo(p, w.end) {
			t.undecided("the last stable offset of %s does not get to %d, where its log has it", p, w.end)
		}
	}
	offsets, err := visible(w.start, w.end)
	if err == nil {
		w.records, err = recordsAt(l.Batches, offsets)
	}
	if err != nil {
		t.undecided("reading the log of %s: %v", p, err)
	}
	return w
}

// from is the part of the truth that a reader gets who begins at an offset.
func (w truth) from(offset int64) truth {
	at, _ := slices.BinarySearchFunc(w.records, offset, func(d Delivered, o int64) int { return int(d.Offset - o) })
	w.start, w.records = offset, w.records[at:]
	return w
}

// closed reports whether the log ends with a record that the reader gets: a
// reader that got it can get nothing more.
func (w truth) closed() bool {
	n := len(w.records)
	return n > 0 && w.records[n-1].Offset == w.log.End-1
}

// last is the offset of the last record to get, below start if there is none.
func (w truth) last() int64 {
	if len(w.records) == 0 {
		return w.start - 1
	}
	return w.records[len(w.records)-1].Offset
}

// assignment is what a reader has to be told to get the truth.
func (w truth) assignment() Assignment {
	return Assignment{
		Topic: w.log.Partition.Topic, Partition: w.log.Partition.Index,
		Offset: w.start, Committed: w.isolation == model.ReadCommitted,
	}
}

// difference is a place where what was handed out, or was answered, is not the
// truth.
type difference struct {
	offset int64
	what   string // as a clause
	kind   kind
	short  bool // it is where the records that were handed out end
}

// kind tells differences apart by what can have caused them.
type kind int8

const (
	tooMuch   kind = iota // or an answer that leads to that: aborted data without an entry
	tooLittle             // or an answer that leads to that: an entry for committed data
	otherwise             // something that can lead to anything
)

// differs compares what was handed out with the truth; nil if they are equal.
func (w truth) differs(got []Delivered) *difference {
	for i, d := range got {
		switch {
		case i > 0 && d.Offset <= got[i-1].Offset:
			return &difference{d.Offset, fmt.Sprintf("offset %d comes after offset %d", d.Offset, got[i-1].Offset), otherwise, false}
		case i == len(w.records) || d.Offset < w.records[i].Offset:
			return &difference{d.Offset, fmt.Sprintf("offset %d, %s, is handed out", d.Offset, w.is(d.Offset)), tooMuch, false}
		case d.Offset > w.records[i].Offset:
			return w.missing(w.records[i].Offset, false)
		case !same(d.Key, w.records[i].Key) || !same(d.Value, w.records[i].Value):
			return &difference{d.Offset, fmt.Sprintf("offset %d has another key or value", d.Offset), otherwise, false}
		}
	}
	if len(got) < len(w.records) {
		return w.missing(w.records[len(got)].Offset, true)
	}
	return nil
}

func (w truth) missing(offset int64, short bool) *difference {
	return &difference{offset, fmt.Sprintf("offset %d, %s, is missing", offset, w.is(offset)), tooLittle, short}
}

// is what the log says of an offset.
func (w truth) is(offset int64) string {
	at := w.log.At(offset)
	switch {
	case offset < w.start:
		return "before the offset asked for"
	case at == len(w.log.Batches) || w.log.Batches[at].Base > offset:
		return "where the log has nothing"
	case offset >= w.end:
		return fmt.Sprintf("%s and at or above the bound %d", w.log.Fate(at), w.end)
	}
	return w.log.Fate(at).String()
}

// same compares bytes; nothing is not the same as no bytes.
func same(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) }

// recordsAt are the records at some offsets, ascending.
func recordsAt(batches []model.Batch, offsets []int64) ([]Delivered, error) {
	out := make([]Delivered, 0, len(offsets))
	for i := range batches {
		b := &batches[i]
		if len(offsets) == 0 || offsets[0] > b.Last {
			continue
		}
		records, err := b.Records()
		if err != nil {
			return out, fmt.Errorf("batch at %d: %w", b.Base, err)
		}
		for _, r := range records {
			if len(offsets) > 0 && r.Offset == offsets[0] {
				out = append(out, Delivered{Offset: r.Offset, Key: r.Key, Value: r.Value})
				offsets = offsets[1:]
			}
		}
	}
	return out, nil
}

// answerShapes are the limits with which answers are looked at that some reader
// may have got: large ones, small ones, and ones that the limit of the whole
// request cuts, which is another rule in a broker than that of the partition.
var answerShapes = []fetchSpec{{}, {partitionMaxBytes: 1}, {maxBytes: 1 << 20}}

// wrongAnswers looks for faults in the cluster: it fetches what the truth spans,
// in answers of several shapes, and holds each against the log. None: a reader
// that believes the answers gets the truth.
func (t *trial) wrongAnswers(w truth) (faults []difference) {
	for _, spec := range answerShapes {
		spec.isolation = w.isolation
		faults = append(faults, t.wrongAnswersBy(w, spec)...)
	}
	return faults
}

func (t *trial) wrongAnswersBy(w truth, spec fetchSpec) (faults []difference) {
	var got []Delivered
	p := w.log.Partition
	deadline := time.Now().Add(t.bound(settled))
	for from := w.start; from < w.end; {
		a := t.fetch(p, from, spec)
		switch {
		case a.ErrorCode != 0:
			t.undecided("reading %s at %d: %s", p, from, codeName(a.ErrorCode))
		case a.Problem != nil:
			t.unreadable(p, a)
		}
		faults = append(faults, wrongList(a, w)...)
		records, err := believed(a.View)
		if err != nil {
			t.undecided("reading %s at %d: %v", p, from, err)
		}
		got = append(got, records...)
		if a.End() > from {
			from, deadline = a.End(), time.Now().Add(t.bound(settled))
		} else if time.Now().After(deadline) {
			return append(faults, difference{from, fmt.Sprintf("nothing comes at offset %d, below the bound %d", from, w.end), tooLittle, true})
		}
	}
	if d := w.differs(got); d != nil {
		faults = append(faults, *d)
	}
	return faults
}

// believed are the records that a reader gets of an answer whose list it
// believes.
func believed(v *model.View) ([]Delivered, error) {
	offsets, err := model.Deliver(v.List, v.Batches, v.FetchOffset)
	if err != nil {
		return nil, err
	}
	return recordsAt(v.Batches, offsets)
}

// wrongList holds the list of one answer against the log.
func wrongList(a answer, w truth) (faults []difference) {
	if a.Isolation == model.ReadUncommitted {
		if len(a.List) > 0 {
			faults = append(faults, difference{a.FetchOffset, "a list at read_uncommitted: " + model.ListString(a.List), tooLittle, false})
		}
		return faults
	}
	add := func(leadsTo kind, breaches []model.Breach) {
		for _, b := range breaches {
			if b.Severity == model.Failure {
				what := fmt.Sprintf("%s: expected %s, observed %s", a.about(), b.Expected, b.Observed)
				faults = append(faults, difference{b.Offset, what, leadsTo, false})
			}
		}
	}
	add(tooMuch, model.U3(a.View, w.log))
	add(tooLittle, model.U4(a.View, w.log))
	add(tooLittle, model.U5(a.View))
	return faults
}
