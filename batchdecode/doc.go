// Package batchdecode turns fetched or stored Kafka bytes into record batches,
// records and control records.
//
// It is a pure decoder: no network, goroutine, clock, logger or compressor
// (one is passed in, see [Decompressor]). Start at [Next], which takes the
// batch at the front of a byte slice; a [Batch] answers everything its header
// says without touching the records, and [Batch.Records] opens those.
//
// # A version 2 record batch
//
// All numbers are big-endian.
//
//	bytes  field                   type    meaning
//	0-7    base offset             int64   offset of the first record slot; kept by compaction
//	8-11   batch length            int32   bytes after this field; whole batch = 12 + length, at least 61
//	12-15  partition leader epoch  int32   set by the leader, -1 unknown; not covered by the CRC
//	16     magic                   int8    2
//	17-20  crc                     uint32  CRC-32C over byte 21 to the end of the batch
//	21-22  attributes              int16   see below
//	23-26  last offset delta       int32   last offset = base offset + this; kept by compaction
//	27-34  base timestamp          int64   milliseconds; the delete horizon if attribute bit 6 is set
//	35-42  max timestamp           int64   milliseconds; the append time if attribute bit 3 is set
//	43-50  producer ID             int64   -1 none
//	51-52  producer epoch          int16   -1 none
//	53-56  base sequence           int32   -1 none
//	57-60  records count           int32   records present; fewer than last offset delta + 1 after compaction
//	61-    records                         compressed as one blob unless attribute bits 0-2 are zero
//
// Attributes: bits 0-2 codec (0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd, others
// unsupported), 3 timestamp type (1 = log append time), 4 transactional,
// 5 control, 6 delete horizon; the rest is unused and ignored.
//
// # A record
//
//	length           varint   bytes after this field
//	attributes       int8     unused by Kafka
//	timestamp delta  varlong  added to the base timestamp, 64 bits
//	offset delta     varint   added to the base offset
//	key              varint length, bytes; a negative length is null
//	value            varint length, bytes; a negative length is null
//	headers          varint count, then per header: varint key length >= 0,
//	                 key, varint value length (negative is null), value
//
// Varints are zigzag-coded, at most 5 bytes (varlong: 10). An encoding that is
// longer than its number needs is accepted, as Kafka accepts it; one that
// overflows is corrupt.
//
// # Messages of formats 0 and 1
//
// [Next] frames them by their own magic byte, wherever they occur, and gives
// their offset; decoding their content is left to the caller, and
// [Batch.Records] refuses it with [ErrUnsupported].
//
// # Errors
//
// Four classes, told apart by [errors.Is]: [ErrTruncated], [ErrCorrupt],
// [ErrUnsupported] and [ErrTooLarge]. Errors about a batch are of type [*Error]
// and name the batch, the byte and the field. No input makes a
// function panic or allocate more than the bytes present justify; decompressed
// bytes are bounded by the limit given to [Batch.Records].
//
// # Lifetime
//
// Everything returned aliases the input, or the decompressor's output where
// records are compressed, and is valid as long as that is left unchanged. Keys,
// values and headers are slices without spare capacity, so that appending to
// one never overwrites its neighbour.
//
// Sources: DefaultRecordBatch, DefaultRecord and ControlRecordType in Kafka,
// KIP-98.
package batchdecode
