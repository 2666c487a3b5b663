package batchtest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// Codec is how records are compressed. Its low three bits are the compression
// bits of the attributes; numbers 5 to 7 name no codec, and a batch that
// carries one holds its records as they are.
type Codec uint8

// The codecs. Snappy is one raw block, as librdkafka and others send it;
// Xerial is the chunked framing of the Java client. The others of one number
// are frames that not every decoder takes: Zstd without content size or as two
// frames, LZ4 with content size, without content checksum, or as two blocks of
// which the second refers to the first (of at most 128 KiB together).
const (
	None       Codec = 0
	Gzip       Codec = 1
	Snappy     Codec = 2
	LZ4        Codec = 3
	Zstd       Codec = 4
	Xerial     Codec = 1<<3 | Snappy
	LZ4Size    Codec = 1<<3 | LZ4
	LZ4Bare    Codec = 2<<3 | LZ4
	LZ4Linked  Codec = 3<<3 | LZ4
	ZstdStream Codec = 1<<3 | Zstd
	ZstdFrames Codec = 2<<3 | Zstd
)

// Codecs lists every codec that a decoder has to know.
func Codecs() []Codec {
	return []Codec{None, Gzip, Snappy, Xerial, LZ4, LZ4Size, LZ4Bare, LZ4Linked, Zstd, ZstdStream, ZstdFrames}
}

var codecNames = map[Codec]string{
	None: "none", Gzip: "gzip", Snappy: "snappy", Xerial: "xerial",
	LZ4: "lz4", LZ4Size: "lz4-size", LZ4Bare: "lz4-bare", LZ4Linked: "lz4-linked",
	Zstd: "zstd", ZstdStream: "zstd-stream", ZstdFrames: "zstd-frames",
}

// String is the codec's name in scenario files.
func (c Codec) String() string {
	if name, ok := codecNames[c]; ok {
		return name
	}
	return fmt.Sprintf("%d", uint8(c))
}

// known reports whether the number in the attributes names a codec.
func (c Codec) known() bool { return c.bits() <= int16(Zstd) }

func (c Codec) bits() int16 { return int16(c & 7) }

// Compress compresses src. It panics if a compressor fails, which none does
// when it writes to memory.
func (c Codec) Compress(src []byte) []byte {
	switch c {
	case Gzip:
		var out bytes.Buffer
		write(gzip.NewWriter(&out), src)
		return out.Bytes()
	case Snappy:
		return snappy.Encode(nil, src)
	case Xerial:
		return xerial(src)
	case LZ4:
		return lz4Frame(src)
	case LZ4Size:
		return lz4Frame(src, lz4.SizeOption(uint64(len(src))))
	case LZ4Bare:
		return lz4Frame(src, lz4.ChecksumOption(false), lz4.BlockSizeOption(lz4.Block64Kb))
	case LZ4Linked:
		return lz4Linked(src)
	case Zstd:
		return zstdWhole().EncodeAll(src, nil)
	case ZstdStream:
		return zstdStream(src)
	case ZstdFrames:
		half := len(src) / 2
		return zstdWhole().EncodeAll(src[half:], zstdWhole().EncodeAll(src[:half], nil))
	default:
		return src
	}
}

// write compresses everything and ends the stream.
func write(w io.WriteCloser, src []byte) {
	_, err := w.Write(src)
	must(err)
	must(w.Close())
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func lz4Frame(src []byte, options ...lz4.Option) []byte {
	var out bytes.Buffer
	w := lz4.NewWriter(&out)
	must(w.Apply(options...))
	write(w, src)
	return out.Bytes()
}

// zstdWhole is shared: an encoder is expensive to make, and EncodeAll may run
// in several goroutines.
var zstdWhole = sync.OnceValue(func() *zstd.Encoder { return zstdEncoder(nil) })

func zstdEncoder(w io.Writer) *zstd.Encoder {
	enc, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(zstdWindow))
	must(err)
	return enc
}

// zstdWindow is small, since a large one costs every test that makes an
// encoder.
const zstdWindow = 128 << 10

// zstdStream flushes half way, so that the size is not known when the frame's
// header is written.
func zstdStream(src []byte) []byte {
	var out bytes.Buffer
	enc := zstdEncoder(&out)
	_, err := enc.Write(src[:len(src)/2])
	must(err)
	must(enc.Flush())
	write(enc, src[len(src)/2:])
	return out.Bytes()
}

// xerialChunk is how many bytes the Java client puts into one chunk.
const xerialChunk = 32 << 10

// xerial frames raw snappy blocks as snappy-java's stream does: eight bytes of
// magic, version and lowest compatible version, then blocks behind their
// length. All numbers are big endian.
func xerial(src []byte) []byte {
	out := []byte("\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01")
	for len(src) > 0 {
		n := min(xerialChunk, len(src))
		block := snappy.Encode(nil, src[:n])
		out = binary.BigEndian.AppendUint32(out, uint32(len(block)))
		out = append(out, block...)
		src = src[n:]
	}
	return out
}
