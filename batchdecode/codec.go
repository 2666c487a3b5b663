package batchdecode

import "strconv"

// Codec is the compression of a batch's records, as in attribute bits 0-2.
type Codec uint8

// The codecs that Kafka defines.
const (
	CodecNone   Codec = 0
	CodecGzip   Codec = 1
	CodecSnappy Codec = 2
	CodecLZ4    Codec = 3
	CodecZstd   Codec = 4
)

const codecMask = 0x07

// String returns Kafka's name of the codec, or its number if it has none.
func (c Codec) String() string {
	switch c {
	case CodecNone:
		return "none"
	case CodecGzip:
		return "gzip"
	case CodecSnappy:
		return "snappy"
	case CodecLZ4:
		return "lz4"
	case CodecZstd:
		return "zstd"
	default:
		return strconv.Itoa(int(c))
	}
}

// A Decompressor decompresses the records of a batch.
type Decompressor interface {
	// Decompress returns src decompressed, in a slice that nobody else will
	// write to: records alias it. An implementation returns an error wrapping
	// [ErrTooLarge] rather than more than limit bytes, and does not allocate
	// for a size that src merely claims.
	//
	// An error of another class than those of this package counts as
	// [ErrCorrupt]. An implementation never writes to src.
	Decompress(c Codec, src []byte, limit int) ([]byte, error)
}

// DefaultDecompressLimit bounds the decompressed records of one batch, in
// bytes, where the caller gives no limit: 1 GiB.
const DefaultDecompressLimit = 1 << 30
