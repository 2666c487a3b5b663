package pass

import (
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/batchdecode"
)

// appendThroughKgo hands one batch to kgo's own decoder: messages of formats
// v0 and v1, which we do not decode, and everything when the user gave pools,
// because only kgo can make records that go back to them.
//
// The batch was judged already, so kgo is asked to keep all of it. One call a
// batch keeps a decompression error from being swallowed behind records of an
// earlier batch.
func (d *Decoder) appendThroughKgo(dst []*kgo.Record, k Kept) ([]*kgo.Record, error) {
	b := k.Batch
	decompressor := d.kgoDecompressor()
	if b.Magic() == 2 {
		section, err := d.verify(b)
		if err != nil {
			return dst, err
		}
		decompressor = decompressed{section}
	}
	opts := kgo.ProcessFetchPartitionOpts{
		KeepControlRecords:   k.Control,
		DisableCRCValidation: b.Magic() == 2, // checked by the scan; message CRCs are kgo's to check
		Offset:               k.From,
		IsolationLevel:       kgo.ReadUncommitted(),
		Topic:                d.Topic,
		Partition:            d.Partition,
		Pools:                d.Pools,
	}
	rp := kmsg.NewFetchResponseTopicPartition()
	rp.Partition = d.Partition
	rp.RecordBatches = b.Bytes()
	fp, next := kgo.ProcessFetchPartition(opts, &rp, decompressor, d.Read)
	if fp.Err != nil {
		recycle(fp.Records)
		return dst, throughKgoError(b, fp.Err)
	}
	if next <= b.LastOffset() && b.LastOffset() >= k.From {
		recycle(fp.Records)
		return dst, throughKgoError(b, fmt.Errorf("%w: fewer records than claimed", batchdecode.ErrCorrupt))
	}
	if n := len(fp.Records); n > 0 && fp.Records[n-1].Offset > b.LastOffset() {
		// The scan has told the caller to go on at the wrapper's end: kept, the
		// rest would come twice.
		last := fp.Records[n-1].Offset
		recycle(fp.Records)
		return dst, throughKgoError(b, fmt.Errorf("%w: offset %d in a message set that ends at %d", batchdecode.ErrCorrupt, last, b.LastOffset()))
	}
	return append(dst, fp.Records...), nil
}

// verify decodes all records without keeping any, and returns the decompressed
// record section. kgo allocates for as many records as a header claims, up to
// one for each byte, and hands out what it can read of a damaged batch.
func (d *Decoder) verify(b batchdecode.Batch) (section []byte, err error) {
	tee := &teeDecompressor{inner: d.decompressor()}
	records, err := b.Records(tee, d.maxBytes())
	if err != nil {
		return nil, err
	}
	var r batchdecode.Record
	for records.Next(&r) {
	}
	return tee.out, records.Err()
}

// teeDecompressor notes what was decompressed.
type teeDecompressor struct {
	inner batchdecode.Decompressor
	out   []byte
}

func (t *teeDecompressor) Decompress(c batchdecode.Codec, src []byte, limit int) ([]byte, error) {
	out, err := t.inner.Decompress(c, src, limit)
	t.out = out
	return out, err
}

// decompressed gives kgo's decoder the section of the batch at hand.
type decompressed struct{ section []byte }

func (d decompressed) Decompress([]byte, kgo.CompressionCodecType) ([]byte, error) {
	return d.section, nil
}

func (d *Decoder) kgoDecompressor() kgo.Decompressor {
	if d.Custom != nil {
		return d.Custom
	}
	return boundedKgo{d.maxBytes()}
}

func recycle(records []*kgo.Record) {
	for _, r := range records {
		r.Recycle()
	}
}

func throughKgoError(b batchdecode.Batch, err error) error {
	class := batchdecode.ErrCorrupt
	switch {
	case errors.Is(err, batchdecode.ErrTooLarge), errors.Is(err, kgo.ErrMaxDecompress):
		class = batchdecode.ErrTooLarge
	case errors.Is(err, batchdecode.ErrCorrupt):
		class = nil
	}
	if class != nil {
		err = fmt.Errorf("%w: %w", class, err)
	}
	return &batchdecode.Error{BaseOffset: b.BaseOffset(), LastOffset: b.LastOffset(), Field: "records", Err: err}
}

// boundedKgo offers the built-in codecs to kgo's decoder.
type boundedKgo struct{ limit int }

func (d boundedKgo) Decompress(src []byte, c kgo.CompressionCodecType) ([]byte, error) {
	for ours, theirs := range kgoCodecs {
		if theirs == c {
			return sharedCodec.Decompress(ours, src, d.limit)
		}
	}
	return nil, fmt.Errorf("%w: compression codec %d", batchdecode.ErrUnsupported, c)
}
