// Package codec decompresses record sections with the codecs that Kafka
// defines, over klauspost/compress and pierrec/lz4.
//
// [New] gives a decompressor with reused state, [FromKgo] adapts one that was
// written for kgo. Both fulfil [batchdecode.Decompressor].
//
// A source must be exactly one compressed section: an empty one, a cut one and
// one with other bytes behind it are corrupt. Several gzip members, zstd or lz4
// frames or xerial streams back to back are one section, as for Kafka.
// Kafka's own gzip reader ignores bytes behind the last member; no producer is
// known to write any.
package codec

import (
	"errors"
	"fmt"
	"math"

	"github.com/klauspost/compress/zstd"

	"example.com/readcommitted/batchdecode"
)

// maxHintRatio bounds what is allocated at once for a size that the source
// only claims: so many times the source. Beyond it the output grows as it
// comes.
const maxHintRatio = 32

var errEmpty = errors.New("no compressed bytes")

// Decompressor decompresses with all of Kafka's codecs and keeps their state
// for reuse. Its methods may be called concurrently.
type Decompressor struct {
	gzip    pool[gzipReader]
	zstd    *zstd.Decoder
	scratch pool[[]byte]
}

var _ batchdecode.Decompressor = (*Decompressor)(nil)

// New returns a decompressor. It needs no closing.
func New() *Decompressor {
	// Errors come from options alone, and these are constants. The output is
	// limited by the capacity it is given, since limits differ by call.
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecodeAllCapLimit(true))
	if err != nil {
		panic(err)
	}
	return &Decompressor{zstd: z}
}

// Decompress returns src decompressed in fresh memory that belongs to the
// caller, or src itself for [batchdecode.CodecNone]. limit bounds the result in
// bytes; 0 or less means [batchdecode.DefaultDecompressLimit].
//
// The error wraps [batchdecode.ErrTooLarge] above limit, found from a claimed
// size before anything is allocated where the format has one;
// [batchdecode.ErrUnsupported] for a codec that is none of Kafka's; and
// otherwise [batchdecode.ErrCorrupt] with the cause.
//
// Source: org.apache.kafka.common.compress.
func (d *Decompressor) Decompress(c batchdecode.Codec, src []byte, limit int) ([]byte, error) {
	if c == batchdecode.CodecNone {
		return src, nil
	}
	if limit <= 0 {
		limit = batchdecode.DefaultDecompressLimit
	}
	limit = min(limit, math.MaxInt-zstdSlack) // room for sums with small sizes
	out, err := d.decompress(c, src, limit)
	if err == nil {
		return out, nil
	}
	if !errors.Is(err, batchdecode.ErrTooLarge) && !errors.Is(err, batchdecode.ErrUnsupported) {
		err = fmt.Errorf("%w: %w", batchdecode.ErrCorrupt, err)
	}
	return nil, fmt.Errorf("%s: %w", c, err)
}

func (d *Decompressor) decompress(c batchdecode.Codec, src []byte, limit int) ([]byte, error) {
	if len(src) == 0 {
		return nil, errEmpty
	}
	switch c {
	case batchdecode.CodecGzip:
		return d.decompressGzip(src, limit)
	case batchdecode.CodecSnappy:
		return decompressSnappy(src, limit)
	case batchdecode.CodecLZ4:
		return d.decompressLZ4(src, limit)
	case batchdecode.CodecZstd:
		return d.decompressZstd(src, limit)
	default:
		return nil, fmt.Errorf("%w: codec number %d", batchdecode.ErrUnsupported, uint8(c))
	}
}

// tooLarge is the error for an output above limit.
func tooLarge(limit int) error {
	return fmt.Errorf("%w of %d bytes", batchdecode.ErrTooLarge, limit)
}

// hint returns a claimed size if it may be allocated at once, otherwise 0.
func hint(claimed uint64, src []byte, limit int) int {
	if claimed > uint64(limit) || claimed > uint64(len(src))*maxHintRatio {
		return 0
	}
	return int(claimed)
}
