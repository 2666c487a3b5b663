package conformance

import (
	"fmt"
	"time"

	"example.com/readcommitted/conformance/internal/model"
)

// seekedOffsets is how long the log is that readers begin at every offset of.
const seekedOffsets = 300

// seekEverywhere reads a log from each of its offsets.
func seekEverywhere(t *trial) {
	p := t.partition()
	t.randomLog(p, seekedOffsets)
	w := t.truth(p, model.ReadCommitted)
	fates := map[model.Fate]bool{}
	for _, run := range w.log.Runs {
		fates[run.Fate] = true
	}
	t.witness(fates[model.Committed] && fates[model.Aborted] && w.log.End > seekedOffsets, "the log of %s is %s", p, w.log)
	order := t.rand.Perm(int(w.end - w.start))
	var functions []func()
	for _, c := range t.run.config.Clients {
		functions = append(functions, func() { t.seekWith(c, w, order) })
	}
	t.together(functions...)
}

const (
	// mostDifferent is how many offsets may go wrong before a reader is given up.
	mostDifferent = 3
	// soon is a short wait at the broker: some readers take up a seek only when
	// the answer has come that they wait for.
	soon = 20 * time.Millisecond
)

// seekWith reads from every offset with one client, in one session if that can
// seek. The order is none, so that most seeks go far.
func (t *trial) seekWith(c Client, whole truth, order []int) {
	var r *reading
	defer func() {
		if r != nil {
			r.close()
		}
	}()
	wrong := 0
	for _, k := range order {
		w := whole.from(whole.start + int64(k))
		if r = t.begin(r, c, w); r == nil {
			return
		}
		r.readAll(w)
		if w.differs(r.got) == nil && r.trouble == "" && len(r.state.Anomalies) == 0 {
			continue
		}
		t.judgeReadings(w, readings{r})
		r.close()
		r = nil
		if wrong++; wrong == mostDifferent {
			return
		}
	}
}

// begin makes a session begin at another offset: the one that is open, if it
// can seek, else a new one. nil if the client cannot be opened.
func (t *trial) begin(r *reading, c Client, w truth) *reading {
	if r != nil {
		if s, ok := r.session.(Seeker); ok {
			r.got = nil
			if err := safely(func() error { s.SeekTo(w.start); return nil }); err != nil {
				r.trouble = fmt.Sprintf("seek to %d: %v", w.start, err)
			}
			return r
		}
		r.close()
	}
	a := w.assignment()
	a.MaxWait = soon
	return t.open(c, a)
}

// randomLog writes at least n offsets of overlapping transactions and plain
// records, ends them all, and closes the log with a plain record.
func (t *trial) randomLog(p model.Partition, n int) {
	writers := []*producer{t.producer(), t.producer(), t.producer()}
	for written := 0; written < n; {
		w := writers[t.rand.IntN(len(writers))]
		switch choice := t.rand.IntN(10); {
		case choice == 0:
			t.plain(p, 1+t.rand.IntN(3))
		case choice < 4 && w.wrote[p]:
			w.finish(t.rand.IntN(2) == 0)
		default:
			records := 1 + t.rand.IntN(6)
			w.write(p, records)
			written += records
		}
	}
	for i, w := range writers {
		if w.wrote[p] {
			w.finish(i%2 == 0)
		}
	}
	t.plain(p, 1)
}

// startAtMarker begins at each marker of a log, and at the last one also while
// there is nothing behind it.
func startAtMarker(t *trial) {
	p := t.partition()
	w1, w2 := t.producer(), t.producer()
	w1.write(p, 1)
	w1.commit()
	w2.write(p, 1)
	w2.abort()
	t.endUnwritten(p, false)
	t.plain(p, 1)
	w1.write(p, 1)
	w1.commit()
	t.waitAtMarker(p)
	w := t.truth(p, model.ReadCommitted)
	kinds := map[model.Kind]bool{}
	for i := range w.log.Batches {
		b := &w.log.Batches[i]
		if b.Control() {
			kinds[b.Kind] = true
			t.compareFrom(w.from(b.Base))
		}
	}
	t.witness(kinds[model.CommitMarker] && kinds[model.AbortMarker], "the log of %s is %s", p, w.log)
	if at, ok := w.log.Find(4); !ok || !w.log.Batches[at].Control() {
		t.fact("a transaction that wrote nothing to a partition leaves no marker there")
	}
}

// waitAtMarker begins at the last marker, which nothing follows, and writes a
// plain record when the readers have been there for a moment.
func (t *trial) waitAtMarker(p model.Partition) {
	before := t.truth(p, model.ReadCommitted).from(t.highWatermark(p) - 1)
	rs := t.openAll(before.assignment())
	defer rs.close()
	rs.each(t, (*reading).linger)
	t.plain(p, 1)
	w := t.truth(p, model.ReadCommitted).from(before.start)
	rs.each(t, func(r *reading) { r.readAll(w) })
	t.judgeReadings(w, rs)
}
