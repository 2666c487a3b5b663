package main

import (
	"io"

	"github.com/twmb/franz-go/pkg/kgo"
)

// flushBytes is how much a printer gathers before it writes.
const flushBytes = 64 << 10

// printer writes records and knows which of them are out: a member of a group
// commits those and no others, also when whoever read the output is gone.
type printer struct {
	out     io.Writer
	form    appendRecord
	buf     []byte
	pending []printing // records in buf, in order
}

// printing is a record on its way out.
type printing struct {
	p      *partitionRead
	record *kgo.Record
	end    int // of its bytes in buf, exclusive
}

// add prints a record, now or with one of the next calls.
func (w *printer) add(p *partitionRead, f *kgo.FetchPartition, record *kgo.Record) error {
	w.buf = w.form(w.buf, f, record)
	w.pending = append(w.pending, printing{p: p, record: record, end: len(w.buf)})
	p.pending++
	if len(w.buf) < flushBytes {
		return nil
	}
	return w.flush()
}

// flush writes what is gathered. After an error only records whose last byte was
// taken count as printed, and nothing of the rest is written again.
func (w *printer) flush() error {
	var n int
	var err error
	if len(w.buf) > 0 {
		n, err = w.out.Write(w.buf)
	}
	for _, out := range w.pending {
		if err == nil || out.end <= n {
			out.p.printedOne(out.record)
		}
	}
	clear(w.pending) // the records may go
	w.buf, w.pending = w.buf[:0], w.pending[:0]
	if err != nil {
		return &outputError{err}
	}
	return nil
}

// printedOne counts a record that is out.
func (p *partitionRead) printedOne(record *kgo.Record) {
	p.pending--
	if record.Attrs.IsControl() {
		p.markers++
		return
	}
	p.printed++
	p.last = record
}
