package batchdecode

import (
	"errors"
	"fmt"
)

// minRecordLen is the size in bytes of the smallest record: its length and six
// fields of one byte.
const minRecordLen = 7

// minHeaderLen is the size in bytes of the smallest header: two lengths.
const minHeaderLen = 2

// Record is one record of a batch. Key and Value alias the batch, or the
// decompressor's output if the batch is compressed.
type Record struct {
	// Offset is the record's absolute offset.
	Offset int64

	// Timestamp is in milliseconds since the epoch: the producer's, or the
	// time of appending for a batch with [Batch.IsLogAppendTime].
	Timestamp int64

	// Attributes are unused by Kafka.
	Attributes int8

	// Key and Value are nil if null, which is not the same as empty.
	Key, Value []byte

	headers     []byte // validated by Records.Next
	headerCount int
}

// Header is a record header. Keys may repeat and may be empty; order counts.
type Header struct {
	Key   []byte // never nil
	Value []byte // nil if null
}

// HeaderCount returns the number of headers.
func (r *Record) HeaderCount() int { return r.headerCount }

// AppendHeaders appends the record's headers to dst, in order, and returns the
// result. Headers alias the same bytes as Key and Value. It cannot fail: the
// headers were validated when the record was read.
func (r *Record) AppendHeaders(dst []Header) []Header {
	c := cursor{b: r.headers}
	for range r.headerCount {
		h := Header{Key: c.bytes("header key length"), Value: c.bytes("header value length")}
		if c.err != nil { // the caller overwrote the bytes
			break
		}
		dst = append(dst, h)
	}
	return dst
}

// Records iterates over the records of one batch:
//
//	var r batchdecode.Record
//	for records.Next(&r) {
//		...
//	}
//	if err := records.Err(); err != nil {
//		...
//	}
//
// It does not allocate. The zero Records is at its end.
type Records struct {
	batch         Batch
	section       []byte // decompressed
	at            int    // position in section
	count, read   int
	previousDelta int32
	err           error

	// Of the header, for the arithmetic of each record.
	baseOffset, baseTimestamp int64
	lastDelta                 int32
	appended                  bool  // log append time
	appendTime                int64 // if appended
}

// Records opens the record section, through d if it is compressed. limit
// bounds the decompressed bytes; 0 or less means [DefaultDecompressLimit].
//
// The error is an [*Error] of class [ErrUnsupported] for a message of format 0
// or 1, for an unknown codec, and for a compressed batch without a
// Decompressor; [ErrTooLarge] above limit; [ErrCorrupt] if decompression fails
// or if the bytes cannot hold the records that the header claims.
func (b Batch) Records(d Decompressor, limit int) (Records, error) {
	if !b.isCurrent() {
		return Records{}, b.errorAt(magicAt, "magic", fmt.Errorf("%w: records of magic %d", ErrUnsupported, b.Magic()))
	}
	section, err := b.section(d, limit)
	if err != nil {
		return Records{}, err
	}
	count := int(b.RecordCount())
	if count < 0 || count > len(section)/minRecordLen {
		return Records{}, b.errorAt(recordCountAt, "records count", corruptf("%d in %d bytes", count, len(section)))
	}
	if count == 0 && len(section) > 0 {
		return Records{}, b.errorAt(HeaderLen, "records", corruptf("%d bytes after the last record", len(section)))
	}
	return Records{
		batch: b, section: section, count: count, previousDelta: -1,
		baseOffset: b.BaseOffset(), baseTimestamp: b.BaseTimestamp(), lastDelta: b.LastOffsetDelta(),
		appended: b.IsLogAppendTime(), appendTime: b.MaxTimestamp(),
	}, nil
}

// section returns the record section decompressed.
func (b Batch) section(d Decompressor, limit int) ([]byte, error) {
	codec, err := b.Codec()
	if err != nil {
		return nil, err
	}
	payload := b.Payload()
	// An empty batch that compaction left has no bytes to decompress,
	// whatever its attributes say.
	if codec == CodecNone || len(payload) == 0 {
		return payload, nil
	}
	if d == nil {
		return nil, b.errorAt(attributesAt, "attributes", fmt.Errorf("%w: codec %s without a decompressor", ErrUnsupported, codec))
	}
	if limit <= 0 {
		limit = DefaultDecompressLimit
	}
	section, err := d.Decompress(codec, payload, limit)
	switch {
	case err != nil:
		return nil, b.errorAt(HeaderLen, codec.String()+" records", classify(err))
	case len(section) > limit:
		return nil, b.errorAt(HeaderLen, codec.String()+" records", fmt.Errorf("%w: more than %d bytes", ErrTooLarge, limit))
	}
	return section, nil
}

// classify makes an error of a decompressor corrupt unless it has a class. It
// is never truncated: the batch is complete, and a caller who took it for the
// cut end of a fetch would lose its records.
func classify(err error) error {
	switch {
	case errors.Is(err, ErrTruncated):
		return corruptf("%v", err) // hides the class
	case errors.Is(err, ErrTooLarge), errors.Is(err, ErrUnsupported), errors.Is(err, ErrCorrupt):
		return err
	default:
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
}

// Remaining returns how many records are still to come as far as the bytes
// left allow it: an upper bound that is safe to size slices by. 0 after an
// error.
func (it *Records) Remaining() int {
	if it.err != nil {
		return 0
	}
	return min(it.count-it.read, (len(it.section)-it.at)/minRecordLen)
}

// Err returns what ended the iteration early: an [*Error] of class
// [ErrCorrupt], or nil.
func (it *Records) Err() error { return it.err }

// Next reads the next record into r and reports whether there was one. Every
// field of r is set, none is kept. After the last record, or at an error, it
// returns false and leaves r in an unspecified state.
//
// Offsets must increase and lie within the batch. The last record is not
// returned if bytes follow it.
func (it *Records) Next(r *Record) bool {
	if it.err != nil || it.read >= it.count {
		return false
	}
	return it.quick(r) || it.careful(r)
}

// careful decodes any record, or says what is wrong with it.
func (it *Records) careful(r *Record) bool {
	c := cursor{b: it.section, at: it.at}
	length := int(c.varint("length"))
	if length < 0 || length > c.left() {
		c.fail(it.at, "length", corruptf("%d with %d bytes left", length, c.left()))
	}
	if c.err == nil {
		c.b = c.b[:c.at+length]
		it.decode(r, &c)
	}
	if c.err == nil && it.read == it.count-1 && c.at < len(it.section) {
		c.fail(c.at, "end", corruptf("%d bytes after the last record", len(it.section)-c.at))
	}
	if c.err != nil {
		field := fmt.Sprintf("record %d: %s", it.read, c.field)
		it.err = it.batch.errorAt(HeaderLen+c.failedAt, field, c.err)
		return false
	}
	it.at = c.at
	it.read++
	return true
}

// decode reads the body of a record, which is all that c holds.
func (it *Records) decode(r *Record, c *cursor) {
	r.Attributes = c.int8("attributes")
	timestampDelta := c.varlong("timestamp delta")
	deltaAt := c.at
	delta := c.varint("offset delta")
	r.Key = c.bytes("key length")
	r.Value = c.bytes("value length")
	it.decodeHeaders(r, c)
	switch {
	case c.err != nil:
		return
	case c.left() > 0:
		c.fail(c.at, "end", corruptf("%d bytes left in the record", c.left()))
		return
	case delta <= it.previousDelta || delta > it.lastDelta:
		c.fail(deltaAt, "offset delta", corruptf("%d after %d, last %d", delta, it.previousDelta, it.lastDelta))
		return
	}
	it.previousDelta = delta
	r.Offset = it.baseOffset + int64(delta)
	r.Timestamp = it.baseTimestamp + timestampDelta
	if it.appended {
		r.Timestamp = it.appendTime
	}
}

// decodeHeaders walks over the headers once, so that AppendHeaders cannot
// fail later.
func (it *Records) decodeHeaders(r *Record, c *cursor) {
	countAt := c.at
	count := int(c.varint("header count"))
	if count < 0 || count > c.left()/minHeaderLen {
		c.fail(countAt, "header count", corruptf("%d with %d bytes left", count, c.left()))
		return
	}
	start := c.at
	for i := 0; i < count && c.err == nil; i++ {
		keyAt := c.at
		if key := c.bytes("header key length"); key == nil {
			c.fail(keyAt, "header key length", errNullHeaderKey)
		}
		c.bytes("header value length")
		if c.err != nil {
			c.field = fmt.Sprintf("header %d: %s", i, c.field)
		}
	}
	r.headerCount, r.headers = count, c.b[start:c.at:c.at]
}

var errNullHeaderKey = corruptf("negative")
