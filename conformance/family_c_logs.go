package conformance

import (
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/conformance/internal/model"
)

// readerLog is one layout of a log that readers get wrong.
type readerLog struct {
	partitions int
	// write writes the log. Where that leaves transactions open, or ends in
	// aborted data, it returns what closes the log.
	write func(t *trial, ps []model.Partition) (closing func())
}

// readerLogs are the layouts that readers are compared on.
var readerLogs = []readerLog{
	{1, interleavedRuns},
	{1, oneProducerManyEnds},
	{1, everyCodec},
	{1, openTail},
	{1, abortedTail},
	{1, emptyRegistrations},
	{3, severalPartitions},
	{1, markersFarBehind},
	{1, oddRecords},
}

// interleavedRuns is 0..1 p1 | 2 p2 | 3 plain | 4 p1 | 5 abort p2 | 6 commit p1.
func interleavedRuns(t *trial, ps []model.Partition) func() {
	w1, w2 := t.producer(), t.producer()
	w1.write(ps[0], 2)
	w2.write(ps[0], 1)
	t.plain(ps[0], 1)
	w1.write(ps[0], 1)
	w2.abort()
	w1.commit()
	return nil
}

// oneProducerManyEnds commits and aborts under one producer ID, where an entry
// that a reader keeps for too long takes committed records with it.
func oneProducerManyEnds(t *trial, ps []model.Partition) func() {
	w := t.producer()
	for i, commits := range []bool{true, false, false, true, false, true, true} {
		w.write(ps[0], 1+i%3)
		w.finish(commits)
	}
	return nil
}

// everyCodec has a committed and an aborted batch of each codec that the
// cluster takes.
func everyCodec(t *trial, ps []model.Partition) func() {
	keep, drop := t.producer(), t.producer()
	for _, codec := range []kgo.CompressionCodec{
		kgo.GzipCompression(), kgo.SnappyCompression(), kgo.Lz4Compression(), kgo.ZstdCompression(), kgo.NoCompression(),
	} {
		for _, w := range []*producer{keep, drop} {
			w.codec, w.padding = codec, 200
			if w.level < TV2 && !w.part[ps[0]] {
				w.add(ps[0])
			}
			r := w.tryWrite(ps[0], 3)
			switch {
			case r.in([]*kerr.Error{kerr.UnsupportedCompressionType, kerr.UnsupportedForMessageFormat}):
				t.fact("the cluster refuses batches of a codec: %s", r)
			case !r.ok():
				r.unusable(t, "Produce to "+ps[0].String())
			}
		}
	}
	drop.abort()
	keep.commit()
	return nil
}

// openTail ends in two open transactions, with ended ones and plain records
// above their first records.
func openTail(t *trial, ps []model.Partition) func() {
	w, commits, aborts := t.producer(), t.producer(), t.producer()
	w.write(ps[0], 2)
	w.commit()
	w.write(ps[0], 1)
	w.abort()
	commits.write(ps[0], 2)
	t.plain(ps[0], 1)
	aborts.write(ps[0], 1)
	w.write(ps[0], 1)
	w.commit()
	return func() {
		aborts.abort()
		commits.commit()
	}
}

// abortedTail ends in aborted data and its marker.
func abortedTail(t *trial, ps []model.Partition) func() {
	t.plain(ps[0], 2)
	w := t.producer()
	w.write(ps[0], 3)
	w.write(ps[0], 1)
	w.abort()
	return func() {}
}

// emptyRegistrations has markers of transactions that wrote nothing.
func emptyRegistrations(t *trial, ps []model.Partition) func() {
	t.plain(ps[0], 1)
	for _, commits := range []bool{false, true} {
		t.endUnwritten(ps[0], commits)
		t.plain(ps[0], 1)
	}
	return nil
}

// endUnwritten ends a transaction that a partition was added to and that wrote
// nothing there. Whether that leaves a marker is another scenario's question.
func (t *trial) endUnwritten(p model.Partition, commits bool) {
	w := t.producer()
	w.add(p)
	id, before := w.id, t.markers(p, w.id)
	t.writing(p) // a marker may be on its way
	defer t.written(p, nil)
	w.end(commits)
	t.until(t.bound(2*time.Second), "a marker", func() bool { return t.markers(p, id) > before })
}

// severalPartitions aborts one transaction and commits another, both over all
// partitions.
func severalPartitions(t *trial, ps []model.Partition) func() {
	keep, drop := t.producer(), t.producer()
	for i, p := range ps {
		keep.write(p, 1+i)
		drop.write(p, 1)
		keep.write(p, 1)
	}
	drop.abort()
	keep.commit()
	return nil
}

// farBytes is the size of one batch where markers come in a later answer than
// the data: clients ask for about a megabyte of a partition at a time.
const farBytes = 300_000

// markersFarBehind has aborted data whose marker does not fit into the same
// answer, with committed records between.
func markersFarBehind(t *trial, ps []model.Partition) func() {
	keep, drop := t.producer(), t.producer()
	drop.padding = farBytes
	for range 5 {
		drop.write(ps[0], 1)
		keep.write(ps[0], 2)
	}
	keep.commit()
	drop.abort()
	drop.padding = 0
	drop.write(ps[0], 1)
	drop.commit()
	return nil
}

// oddRecords has null and empty keys and values.
func oddRecords(t *trial, ps []model.Partition) func() {
	for _, commits := range []bool{true, false, true} {
		w := t.producer()
		if w.level < TV2 {
			w.add(ps[0])
		}
		w.keys = [][]byte{nil, {}, []byte("k"), []byte("k")}
		b := w.batch(ps[0], [][]byte{[]byte("v"), []byte("v"), nil, {}})
		if r := w.trySend(ps[0], b); !r.ok() {
			r.unusable(t, "Produce to "+ps[0].String())
		}
		w.keys = nil
		w.finish(commits)
	}
	return nil
}
