package batchtest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"

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
// Xerial is the chunked framing of the Java client. Both have the number 2.
const (
	None   Codec = 0
	Gzip   Codec = 1
	Snappy Codec = 2
	LZ4    Codec = 3
	Zstd   Codec = 4
	Xerial Codec = 8 | Snappy
)

// Codecs lists every codec that a decoder has to know.
func Codecs() []Codec { return []Codec{None, Gzip, Snappy, Xerial, LZ4, Zstd} }

// String is the codec's name in scenario files.
func (c Codec) String() string {
	switch c {
	case None:
		return "none"
	case Gzip:
		return "gzip"
	case Snappy:
		return "snappy"
	case Xerial:
		return "xerial"
	case LZ4:
		return "lz4"
	case Zstd:
		return "zstd"
	}
	return fmt.Sprintf("%d", uint8(c))
}

func (c Codec) bits() int16 { return int16(c & 7) }

// Compress compresses src. It panics if a compressor fails, which none does
// when it writes to memory.
func (c Codec) Compress(src []byte) []byte {
	var out bytes.Buffer
	switch c {
	case Gzip:
		write(gzip.NewWriter(&out), src)
	case Snappy:
		return snappy.Encode(nil, src)
	case Xerial:
		return xerial(src, xerialChunk)
	case LZ4:
		write(lz4.NewWriter(&out), src)
	case Zstd:
		w, err := zstd.NewWriter(&out, zstd.WithEncoderConcurrency(1))
		if err != nil {
			panic(err)
		}
		write(w, src)
	default:
		return src
	}
	return out.Bytes()
}

func write(w io.WriteCloser, src []byte) {
	if _, err := w.Write(src); err != nil {
		panic(err)
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
}

// xerialChunk is how many bytes the Java client puts into one chunk.
const xerialChunk = 32 << 10

// xerial frames raw snappy blocks as snappy-java's stream does: eight bytes of
// magic, version and lowest compatible version, then blocks behind their
// length. All numbers are big endian.
func xerial(src []byte, chunk int) []byte {
	out := []byte("\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01")
	for len(src) > 0 {
		n := min(chunk, len(src))
		block := snappy.Encode(nil, src[:n])
		out = binary.BigEndian.AppendUint32(out, uint32(len(block)))
		out = append(out, block...)
		src = src[n:]
	}
	return out
}
