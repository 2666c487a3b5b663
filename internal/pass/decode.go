package pass

import (
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/batchdecode"
	"example.com/readcommitted/internal/codec"
)

// sharedCodec decompresses everything that no user-supplied decompressor
// takes over. It keeps no state between calls that callers could see.
var sharedCodec = codec.New()

// DefaultMaxBatchBytes is kgo's default for MaxDecompressBatchBytes, in bytes.
const DefaultMaxBatchBytes = 1 << 30

// Decoder makes Kafka records of kept batches. The zero value decodes with the
// built-in codecs and [DefaultMaxBatchBytes]. It must not be used concurrently.
type Decoder struct {
	Topic     string
	Partition int32

	// Custom replaces the built-in codecs if it is not nil.
	Custom kgo.Decompressor
	// MaxBatchBytes caps the decompressed size of one batch, in bytes;
	// <= 0 means DefaultMaxBatchBytes.
	MaxBatchBytes int
	// Pools, if not empty, give the memory of records, so that
	// kgo.Record.Recycle works as it does in kgo.
	Pools []kgo.Pool
	// Read, if not nil, is told of every batch that was decoded.
	Read func(kgo.FetchBatchMetrics)

	iter    batchdecode.Records
	tee     teeDecompressor
	headers []batchdecode.Header // scratch of one record
}

// slabRecords is the largest number of records allocated at once: the count in
// a batch header is a claim, and a claim must not size an allocation.
const slabRecords = 1024

// Append decodes the records of k and appends those at or above k.From to dst.
// On error dst is returned as it was: a batch is delivered whole or not at all.
//
// Keys, values and header values alias the batch's bytes (or its decompressed
// form) as slices without spare capacity.
//
// Errors are of the classes of package batchdecode.
func (d *Decoder) Append(dst []*kgo.Record, k Kept) ([]*kgo.Record, error) {
	if k.Batch.Magic() < 2 || len(d.Pools) > 0 {
		return d.appendThroughKgo(dst, k)
	}
	var err error
	tee := &d.tee
	*tee = teeDecompressor{inner: d.decompressor()}
	if d.iter, err = k.Batch.Records(tee, d.maxBytes()); err != nil {
		return dst, err
	}
	defer func() { d.iter, d.tee = batchdecode.Records{}, teeDecompressor{} }() // do not hold on to the batch

	kept, left := dst, d.iter.Remaining()
	proto := d.prototype(k)
	var slab []kgo.Record
	var r batchdecode.Record
	for d.iter.Next(&r) {
		if r.Offset < k.From {
			continue
		}
		if len(slab) == 0 {
			slab = make([]kgo.Record, max(1, min(slabRecords, left)))
		}
		rec := &slab[0]
		slab, left = slab[1:], left-1
		d.fill(rec, &proto, &r)
		kept = append(kept, rec)
	}
	if err := d.iter.Err(); err != nil {
		clear(kept[len(dst):])
		return dst, err
	}
	d.tell(k, tee.out)
	return kept, nil
}

// tell reports a decoded batch as kgo's hook expects it: sizes of the record
// section, the header not counted.
func (d *Decoder) tell(k Kept, decompressed []byte) {
	if d.Read == nil {
		return
	}
	m := kgo.FetchBatchMetrics{
		NumRecords:        int(k.Batch.RecordCount()),
		CompressedBytes:   len(k.Batch.Payload()),
		UncompressedBytes: len(k.Batch.Payload()),
	}
	if c, _ := k.Batch.Codec(); c != batchdecode.CodecNone {
		m.CompressionType, m.UncompressedBytes = uint8(c), len(decompressed)
	}
	d.Read(m)
}

func (d *Decoder) decompressor() batchdecode.Decompressor {
	if d.Custom != nil {
		return codec.FromKgo(d.Custom)
	}
	return sharedCodec
}

func (d *Decoder) maxBytes() int {
	if d.MaxBatchBytes > 0 {
		return d.MaxBatchBytes
	}
	return DefaultMaxBatchBytes
}

// prototype is what all records of the batch have in common.
func (d *Decoder) prototype(k Kept) kgo.Record {
	b := k.Batch
	opts := kgo.RecordAttrsOpts{Transactional: b.IsTransactional(), Control: b.IsControl()}
	if c, err := b.Codec(); err == nil {
		opts.Codec = kgoCodecs[c]
	}
	if b.IsLogAppendTime() {
		opts.TimestampType = 1
	}
	return kgo.Record{
		Topic:         d.Topic,
		Partition:     d.Partition,
		Attrs:         kgo.NewRecordAttrs(opts),
		ProducerID:    b.ProducerID(),
		ProducerEpoch: b.ProducerEpoch(),
		LeaderEpoch:   b.PartitionLeaderEpoch(),
	}
}

var kgoCodecs = map[batchdecode.Codec]kgo.CompressionCodecType{
	batchdecode.CodecNone:   kgo.CodecNone,
	batchdecode.CodecGzip:   kgo.CodecGzip,
	batchdecode.CodecSnappy: kgo.CodecSnappy,
	batchdecode.CodecLZ4:    kgo.CodecLz4,
	batchdecode.CodecZstd:   kgo.CodecZstd,
}

// fill sets what differs from the zero record. Field by field, since a copy of
// the whole goes through the garbage collector's bulk barrier.
func (d *Decoder) fill(rec, proto *kgo.Record, r *batchdecode.Record) {
	rec.Topic, rec.Partition, rec.Attrs = proto.Topic, proto.Partition, proto.Attrs
	rec.ProducerID, rec.ProducerEpoch, rec.LeaderEpoch = proto.ProducerID, proto.ProducerEpoch, proto.LeaderEpoch
	rec.Offset = r.Offset
	rec.Timestamp = time.UnixMilli(r.Timestamp)
	rec.Key, rec.Value = r.Key, r.Value
	if r.HeaderCount() == 0 {
		return
	}
	d.headers = r.AppendHeaders(d.headers[:0])
	rec.Headers = make([]kgo.RecordHeader, len(d.headers))
	for i, h := range d.headers {
		rec.Headers[i] = kgo.RecordHeader{Key: string(h.Key), Value: h.Value}
	}
	clear(d.headers)
}

// minRecordBytes is the size of the smallest record.
const minRecordBytes = 7

// SizeHint is about how many records the batch may hold, to size a slice: what
// the header claims, as far as its bytes can make up for it. Of compressed
// bytes not even that is known, so that each counts for one record.
func (k Kept) SizeHint() int {
	if k.Batch.Magic() < 2 {
		return 1
	}
	room := len(k.Batch.Payload())
	if c, err := k.Batch.Codec(); err == nil && c == batchdecode.CodecNone {
		room /= minRecordBytes
	}
	return min(int(k.Batch.RecordCount()), slabRecords, room)
}
