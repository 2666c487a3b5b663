package rcconsumer_test

import (
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/batchdecode"
	"example.com/readcommitted/internal/batchtest"
	"example.com/readcommitted/internal/codec"
	"example.com/readcommitted/rcconsumer"
)

// passed is what a pass made of a response.
type passed struct {
	fp    kgo.FetchPartition
	next  int64
	stats rcconsumer.PartitionStats
}

// twins is one response, read by this package and by kgo.
type twins struct {
	o         rcconsumer.PassOptions
	list      []kmsg.FetchResponseTopicPartitionAbortedTransaction // as kgo gets it
	batches   []batchdecode.Batch                                  // those that both see
	cut       bool                                                 // what follows them is not a whole batch
	ours, kgo passed
}

const fuzzLimit = 64 << 10 // decompressed bytes of a batch

var (
	sharedCodec = codec.New()
	sharedKgo   = boundedKgo{kgo.DefaultDecompressor()}
)

func readBoth(o rcconsumer.PassOptions, rp *kmsg.FetchResponseTopicPartition) *twins {
	w := &twins{o: o}
	for rest := rp.RecordBatches; len(rest) > 0; {
		b, after, err := batchdecode.Next(rest)
		if err != nil {
			w.cut = len(rest) < 18 || int64(len(rest)) < 12+int64(binary.BigEndian.Uint32(rest[8:]))
			break
		}
		w.batches, rest = append(w.batches, b), after
	}
	w.ours.fp, w.ours.next, w.ours.stats = rcconsumer.ProcessFetchPartition(o, rp)
	w.list = moved(w.batches, distinct(rp.AbortedTransactions))
	theirs := *rp
	theirs.AbortedTransactions = w.list
	level := kgo.ReadCommitted()
	if o.ReadUncommitted {
		level = kgo.ReadUncommitted()
	}
	w.kgo.fp, w.kgo.next = kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{
		Topic: o.Topic, Offset: o.Offset, IsolationLevel: level, KeepControlRecords: o.KeepControlRecords,
	}, &theirs, sharedKgo, nil)
	return w
}

// boundedKgo is kgo's decompressor with the limit of the tests.
type boundedKgo struct{ kgo.Decompressor }

func (d boundedKgo) Decompress(src []byte, c kgo.CompressionCodecType) ([]byte, error) {
	out, err := d.Decompressor.Decompress(src, c)
	if err == nil && len(out) > fuzzLimit {
		return nil, kgo.ErrMaxDecompress
	}
	return out, err
}

// distinct takes out duplicate entries: kgo has the second one drop the
// producer's next committed batch.
func distinct(list []kmsg.FetchResponseTopicPartitionAbortedTransaction) (out []kmsg.FetchResponseTopicPartitionAbortedTransaction) {
	type entry struct{ id, first int64 }
	seen := map[entry]bool{}
	for _, a := range list {
		if e := (entry{a.ProducerID, a.FirstOffset}); !seen[e] {
			seen[e] = true
			out = append(out, a)
		}
	}
	return out
}

// moved moves entries that begin inside a batch to its base offset: kgo
// delivers that batch, this package and the Java client drop it.
func moved(batches []batchdecode.Batch, list []kmsg.FetchResponseTopicPartitionAbortedTransaction) []kmsg.FetchResponseTopicPartitionAbortedTransaction {
	out := slices.Clone(list)
	for i := range out {
		for _, b := range batches {
			if b.BaseOffset() < out[i].FirstOffset && out[i].FirstOffset <= b.LastOffset() {
				out[i].FirstOffset = b.BaseOffset()
			}
		}
	}
	return out
}

// difference is a reason why the two may disagree about a sound response.
type difference struct {
	name    string
	applies func(w *twins) bool
}

// differences are all that are allowed. Two more are taken out of the list
// before kgo gets it (distinct, moved), and two of records before they are
// compared: bits 6 and 7 of the attributes (masked) and far timestamps (asKgo).
var differences = []difference{
	// List and log contradict each other: markers in view are believed.
	{"anomaly", func(w *twins) bool { return w.ours.stats.Anomalies > 0 }},
	// Of two entries that are active at once kgo wants to see two markers.
	{"two entries before one marker", (*twins).hasStackedEntries},
	// kgo does not look at batches below the fetch offset, nor at the abort
	// markers among them that end an entry.
	{"marker below the fetch offset", (*twins).hasMarkerBelowFetchOffset},
	// kgo looks at every record of a control batch, and only if the batch is
	// transactional.
	{"unusual control batch", func(w *twins) bool { return slices.ContainsFunc(w.batches, unusualControl) }},
	// An aborted batch is not decoded here, so that damage inside it is no
	// error and does not hold up the offset. Nor is an empty one.
	{"damage that nobody needs to see", (*twins).hasUnreadDamage},
	// Formats v0 and v1: kgo moves its offset by records, not by wrappers, and
	// decodes wrappers below the fetch offset.
	{"old messages", func(w *twins) bool {
		return slices.ContainsFunc(w.batches, func(b batchdecode.Batch) bool { return b.Magic() < 2 })
	}},
	// Producer ID -1 is none, whatever the list says.
	{"entry without a producer", func(w *twins) bool {
		return slices.ContainsFunc(w.list, func(a kmsg.FetchResponseTopicPartitionAbortedTransaction) bool { return a.ProducerID < 0 })
	}},
}

func (w *twins) allowed() (names []string) {
	for _, d := range differences {
		if d.applies(w) {
			names = append(names, d.name)
		}
	}
	return names
}

// isAbort reports whether a batch is a sound abort marker.
func isAbort(b batchdecode.Batch) bool {
	c, ok, err := b.Control(sharedCodec, fuzzLimit)
	return ok && err == nil && c.Type == batchdecode.ControlAbort
}

// markerAfter returns the index of the first abort marker of the producer at or
// behind an offset, or the number of batches.
func (w *twins) markerAfter(id, first int64) int {
	for i, b := range w.batches {
		if b.LastOffset() >= first && b.ProducerID() == id && isAbort(b) {
			return i
		}
	}
	return len(w.batches)
}

func (w *twins) hasStackedEntries() bool {
	type place struct {
		id     int64
		marker int
	}
	seen := map[place]bool{}
	for _, a := range w.list {
		p := place{a.ProducerID, w.markerAfter(a.ProducerID, a.FirstOffset)}
		if seen[p] {
			return true
		}
		seen[p] = true
	}
	return false
}

func (w *twins) hasMarkerBelowFetchOffset() bool {
	for _, a := range w.list {
		if i := w.markerAfter(a.ProducerID, a.FirstOffset); i < len(w.batches) && w.batches[i].LastOffset() < w.o.Offset {
			return true
		}
	}
	return false
}

func unusualControl(b batchdecode.Batch) bool {
	return b.IsControl() && (!b.IsTransactional() || b.RecordCount() != 1 || !sound(b))
}

// sound reports whether all records of a batch can be decoded.
func sound(b batchdecode.Batch) bool {
	if b.Magic() < 2 {
		return true
	}
	records, err := b.Records(sharedCodec, fuzzLimit)
	if err != nil {
		return false
	}
	var r batchdecode.Record
	for records.Next(&r) {
	}
	return records.Err() == nil
}

func (w *twins) hasUnreadDamage() bool {
	return slices.ContainsFunc(w.batches, func(b batchdecode.Batch) bool {
		if b.Magic() < 2 || b.IsControl() {
			return false
		}
		empty := b.RecordCount() == 0 && b.Attributes()&7 != 0 // kgo decompresses no bytes at all
		return empty || b.IsTransactional() && w.ours.stats.AbortedBatches > 0 && !sound(b)
	})
}

// strictness are the errors of this package, by the beginning of the field, at
// which kgo may return none: it hands out what it could read of a batch, stops
// at a cut one before it looks at its fields, does not compare offsets of
// batches, and swallows a decompression error behind a record.
var strictness = []string{"record", "gzip records", "snappy records", "lz4 records", "zstd records", "attributes", "base offset", "last offset delta", "batch length"}

// requireAgreement compares the two, as far as no allowed difference applies.
func requireAgreement(t testing.TB, w *twins) {
	t.Helper()
	ours, theirs := w.ours.fp.Records, w.kgo.fp.Records
	if names := w.allowed(); len(names) > 0 {
		requireCommonRecordsAgree(t, w)
		return
	}
	if w.ours.fp.Err == nil {
		require.NoError(t, w.kgo.fp.Err)
		require.Equal(t, w.kgo.next, w.ours.next, "next")
		require.Len(t, ours, len(theirs))
	}
	require.LessOrEqual(t, len(ours), len(theirs))
	for i, r := range ours {
		require.Equal(t, w.masked(theirs[i], r), asKgo(r))
	}
	var e *batchdecode.Error
	if errors.As(w.ours.fp.Err, &e) && w.kgo.fp.Err == nil {
		lenient := slices.ContainsFunc(strictness, func(f string) bool { return strings.HasPrefix(e.Field, f) })
		require.True(t, lenient || e.Field == "magic" && w.cut, "kgo sees no error, ours: %v", w.ours.fp.Err)
	}
}

// requireCommonRecordsAgree holds what was delivered against what kgo has at
// read_uncommitted, where the list means nothing. Batch by batch, those without
// damage: kgo believes any offset in a record, so that one of a damaged batch,
// which is dropped here unread, could stand in the place of another.
func requireCommonRecordsAgree(t testing.TB, w *twins) {
	t.Helper()
	all := map[int64]*kgo.Record{}
	for _, b := range w.batches {
		if !sound(b) {
			continue
		}
		rp := kmsg.FetchResponseTopicPartition{Partition: w.o.Partition, RecordBatches: b.Bytes()}
		fp, _ := kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{
			Topic: w.o.Topic, Offset: w.o.Offset, KeepControlRecords: w.o.KeepControlRecords,
		}, &rp, sharedKgo, nil)
		for _, r := range fp.Records {
			if all[r.Offset] == nil { // of old messages that overlap the first counts
				all[r.Offset] = r
			}
		}
	}
	for _, r := range w.ours.fp.Records {
		if other := all[r.Offset]; other != nil {
			require.Equal(t, w.masked(other, r), asKgo(r))
		}
	}
}

// masked is a record without the attribute bits that no option of kgo sets.
func masked(r *kgo.Record) kgo.Record {
	m := *r
	codecs := []kgo.CompressionCodecType{kgo.CodecNone, kgo.CodecGzip, kgo.CodecSnappy, kgo.CodecLz4, kgo.CodecZstd}
	opts := kgo.RecordAttrsOpts{
		TimestampType: r.Attrs.TimestampType(), Transactional: r.Attrs.IsTransactional(), Control: r.Attrs.IsControl(),
	}
	if c := int(r.Attrs.CompressionType()); c < len(codecs) {
		opts.Codec = codecs[c]
	}
	m.Attrs = kgo.NewRecordAttrs(opts)
	return m
}

// masked is a record of kgo as it would be without bit 7 in the attributes of
// its batch, which means nothing, and which kgo takes for a timestamp type.
func (w *twins) masked(theirs, ours *kgo.Record) kgo.Record {
	r := *theirs
	for _, b := range w.batches {
		if b.Attributes()&0x80 != 0 && b.Magic() == 2 && b.BaseOffset() <= r.Offset && r.Offset <= b.LastOffset() {
			r.Timestamp, r.Attrs = asKgo(ours).Timestamp, ours.Attrs
		}
	}
	return masked(&r)
}

// asKgo is a record of ours as kgo has it: nanoseconds in an int64, so that
// timestamps more than 292 years away from 1970 are others there.
func asKgo(r *kgo.Record) kgo.Record {
	m := masked(r)
	whole := r.Timestamp.Nanosecond()%1e6 == 0 // if not, it is kgo's own already, of format v1
	if !r.Timestamp.IsZero() && whole {        // zero as in format v0
		m.Timestamp = time.Unix(0, r.Timestamp.UnixMilli()*1e6)
	}
	return m
}

// Each allowed difference is one, or it would hide mistakes for nothing.
func TestProcessFetchPartitionDifferencesFromKgoAreReal(t *testing.T) {
	txn := func(base, last int64) batchtest.Batch { return batchtest.Data(base, last).Txn(7) }
	for name, tt := range map[string]struct {
		log    batchtest.Log
		list   []int64
		offset int64
	}{
		"anomaly":                       {batchtest.Log{txn(0, 1), batchtest.Abort(2, 7)}, nil, 0},
		"two entries before one marker": {batchtest.Log{txn(2, 3), batchtest.Abort(4, 7), txn(5, 6)}, []int64{7, 1, 7, 2}, 0},
		"marker below the fetch offset": {batchtest.Log{txn(0, 1), batchtest.Abort(2, 7), txn(3, 4)}, []int64{7, 0}, 3},
		"unusual control batch": {batchtest.Log{
			txn(0, 1), batchtest.Data(2, 3).Txn(7).Control().With(
				batchtest.Record{Offset: 2, Key: batchtest.ControlKey(5)}, batchtest.Record{Offset: 3, Key: batchtest.ControlKey(0)},
			), txn(4, 5),
		}, []int64{7, 0}, 0},
		"damage that nobody needs to see": {batchtest.Log{txn(0, 1).Codec(batchtest.Zstd).Payload([]byte("no zstd")), batchtest.Abort(2, 7)}, []int64{7, 0}, 0},
		"old messages":                    {batchtest.Log{batchtest.MessageV1(0, 1).Codec(batchtest.Gzip).Flip(-1), batchtest.Data(2, 2)}, nil, 2},
		"entry without a producer":        {batchtest.Log{batchtest.Data(0, 1).Txn(-1)}, []int64{-1, 0}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			rp := tt.log.Partition(batchtest.Aborted(tt.list...))
			w := readBoth(rcconsumer.PassOptions{Topic: "t", Offset: tt.offset, MaxDecompressBatchBytes: fuzzLimit}, rp)
			require.Equal(t, []string{name}, w.allowed())
			same := slices.Equal(offsetsOf(w.ours.fp.Records), offsetsOf(w.kgo.fp.Records)) && w.ours.next == w.kgo.next
			require.False(t, same, "ours %v, next %d", offsetsOf(w.ours.fp.Records), w.ours.next)
		})
	}
	require.Len(t, differences, 7, "each has an example above")
}
