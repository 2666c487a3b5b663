package codec_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"runtime"
	"slices"
	"testing"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"example.com/readcommitted/batchdecode"
	"example.com/readcommitted/internal/batchtest"
)

// allocated runs f and returns the bytes that were allocated meanwhile.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

const xerial = "\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01"

// chunk is a chunk of xerial framing.
func chunk(block []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(block))), block...)
}

// Both framings of snappy: kafka-protocol-rs#79, kafka_ex#38, segmentio/kafka-go
// commit 1248320.
func TestSnappyFramings(t *testing.T) {
	part := func(i int) []byte { return s2.EncodeSnappy(nil, plain[i*32<<10:(i+1)*32<<10]) }
	var five []byte
	for i := range 5 {
		five = append(five, chunk(part(i))...)
	}
	// 338 bytes have the varint 0xd2 0x02; 0x82 begins that of 0x82 0x01.
	first82 := s2.EncodeSnappy(nil, plain[:130])
	require.EqualValues(t, 0x82, first82[0])
	for name, tt := range map[string]struct{ src, want []byte }{
		"raw":                   {s2.EncodeSnappy(nil, plain), plain},
		"raw beginning as 0x82": {first82, plain[:130]},
		"raw empty":             {[]byte{0}, []byte{}},
		"one chunk":             {append([]byte(xerial), chunk(part(0))...), plain[:32<<10]},
		"five chunks":           {append([]byte(xerial), five...), plain[:5*32<<10]},
		"no chunk":              {[]byte(xerial), []byte{}},
		"empty chunk":           {append([]byte(xerial), chunk([]byte{0})...), []byte{}},
		"joined streams":        {slices.Concat([]byte(xerial), chunk(part(0)), []byte(xerial), chunk(part(1))), plain[:2*32<<10]},
		"other versions":        {slices.Concat([]byte(xerial)[:8], []byte{0, 0, 0, 9, 0, 0, 0, 9}, chunk(part(0))), plain[:32<<10]},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := d.Decompress(batchdecode.CodecSnappy, tt.src, 0)
			require.NoError(t, err)
			require.True(t, bytes.Equal(tt.want, out))
			require.NotNil(t, out)
		})
	}
}

func TestSnappyDamage(t *testing.T) {
	block := s2.EncodeSnappy(nil, []byte("hello hello hello hello"))
	for name, src := range map[string][]byte{
		"header cut":            []byte(xerial)[:15],
		"length cut":            append([]byte(xerial), 0, 0, 0),
		"length negative":       append([]byte(xerial), 0xff, 0xff, 0xff, 0xff),
		"length beyond the end": append([]byte(xerial), 0, 0, 0, 1),
		"chunk of nothing":      append([]byte(xerial), 0, 0, 0, 0),
		"trailing byte":         slices.Concat([]byte(xerial), chunk(block), []byte{0}),
		"second header cut":     slices.Concat([]byte(xerial), chunk(block), []byte(xerial)[:12]),
		"raw and more":          append(bytes.Clone(block), 0, 'x'),
		"claims too much":       {0xff, 0x7f, 0, 'x'},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := d.Decompress(batchdecode.CodecSnappy, src, 0)
			require.ErrorIs(t, err, batchdecode.ErrCorrupt)
		})
	}
}

// zstdHeader is a frame header with a content size of 8 bytes.
func zstdHeader(contentSize uint64) []byte {
	return binary.LittleEndian.AppendUint64([]byte{0x28, 0xb5, 0x2f, 0xfd, 0xe0}, contentSize)
}

// rleBlocks are last-marked zstd blocks of 128 KiB zeros, 4 bytes each.
func rleBlocks(n int) (b []byte) {
	for i := range n {
		header := uint32(128<<10)<<3 | 1<<1
		if i == n-1 {
			header |= 1
		}
		b = append(b, byte(header), byte(header>>8), byte(header>>16), 0)
	}
	return b
}

// A few kilobytes that stand for gigabytes: twmb/franz-go commit 19b10ce2.
func TestBombsAreBoundedBeforeTheyAllocate(t *testing.T) {
	zeros := make([]byte, 64<<20)
	var members []byte
	for range 8 {
		members = append(members, batchtest.Gzip.Compress(zeros)...)
	}
	lz4Size := batchtest.LZ4Size.Compress(zeros[:100])
	copy(lz4Size[6:], binary.LittleEndian.AppendUint64(nil, 1<<40))
	var chunks []byte
	for range 64 {
		chunks = append(chunks, chunk(s2.EncodeSnappy(nil, zeros[:1<<20]))...)
	}
	stream := []byte{0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58} // no content size, window 2 MiB
	for _, tt := range []struct {
		name string
		c    batchdecode.Codec
		src  []byte
	}{
		{"zstd claims 8 GiB", batchdecode.CodecZstd, append(zstdHeader(8<<30), rleBlocks(1)...)},
		{"zstd claims everything", batchdecode.CodecZstd, append(zstdHeader(math.MaxUint64), rleBlocks(1)...)},
		{"zstd is 8 GiB", batchdecode.CodecZstd, append(zstdHeader(8<<30), rleBlocks(8<<30>>17)...)},
		{"zstd is 8 GiB, size not stated", batchdecode.CodecZstd, append(stream, rleBlocks(8<<30>>17)...)},
		{"zstd frames add up", batchdecode.CodecZstd, bytes.Repeat(append(zstdHeader(128<<10), rleBlocks(1)...), 10_000)},
		{"gzip of zeros", batchdecode.CodecGzip, batchtest.Gzip.Compress(zeros)},
		{"gzip members add up", batchdecode.CodecGzip, members},
		{"snappy claims 4 GiB", batchdecode.CodecSnappy, []byte{0xff, 0xff, 0xff, 0xff, 0x0f, 0, 'x'}},
		{"xerial chunk claims 4 GiB", batchdecode.CodecSnappy, append([]byte(xerial), chunk([]byte{0xff, 0xff, 0xff, 0xff, 0x0f, 0, 'x'})...)},
		{"xerial chunks add up", batchdecode.CodecSnappy, append([]byte(xerial), chunks...)},
		{"lz4 of zeros", batchdecode.CodecLZ4, batchtest.LZ4.Compress(zeros)},
		{"lz4 claims 1 TiB", batchdecode.CodecLZ4, lz4Size},
	} {
		t.Run(tt.name, func(t *testing.T) {
			const limit = 1 << 20
			var err error
			used := allocated(func() { _, err = d.Decompress(tt.c, tt.src, limit) })
			require.ErrorIs(t, err, batchdecode.ErrTooLarge)
			require.Less(t, used, uint64(24<<20), "buffers of two 8 MiB blocks at most")
		})
	}
}

// A size within the limit is not allocated either if the source cannot hold it.
func TestClaimsBeyondTheSourceAllocateNothing(t *testing.T) {
	gzipped := batchtest.Gzip.Compress([]byte("hello"))
	copy(gzipped[len(gzipped)-4:], []byte{0, 0, 0, 0x30}) // 768 MiB
	for _, tt := range []struct {
		name string
		c    batchdecode.Codec
		src  []byte
	}{
		{"zstd", batchdecode.CodecZstd, append(zstdHeader(768<<20), rleBlocks(1)...)},
		{"zstd without blocks", batchdecode.CodecZstd, zstdHeader(768 << 20)},
		{"snappy", batchdecode.CodecSnappy, append(binary.AppendUvarint(nil, 768<<20), 0, 'x')},
		{"xerial", batchdecode.CodecSnappy, append([]byte(xerial), chunk(append(binary.AppendUvarint(nil, 768<<20), 0, 'x'))...)},
		{"gzip", batchdecode.CodecGzip, gzipped},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var err error
			used := allocated(func() { _, err = d.Decompress(tt.c, tt.src, 1<<30) })
			require.ErrorIs(t, err, batchdecode.ErrCorrupt)
			require.Less(t, used, uint64(2<<20))
		})
	}
}

// Frames back to back are one section: confluentinc/librdkafka#2951.
func TestFramesBackToBack(t *testing.T) {
	half := len(plain) / 2
	skippable := []byte{0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 'a', 'b', 'c'}
	for _, one := range formats() {
		for _, other := range formats() {
			if number(one) != number(other) || number(one) == batchdecode.CodecSnappy {
				continue
			}
			t.Run(one.String()+"/"+other.String(), func(t *testing.T) {
				src := append(one.Compress(plain[:half]), other.Compress(plain[half:])...)
				out, err := d.Decompress(number(one), src, 0)
				require.NoError(t, err)
				require.True(t, bytes.Equal(plain, out))
				_, err = d.Decompress(number(one), src, len(plain)-1)
				require.ErrorIs(t, err, batchdecode.ErrTooLarge)
			})
		}
	}
	for _, c := range []batchtest.Codec{batchtest.Zstd, batchtest.ZstdStream, batchtest.LZ4} {
		t.Run("skippable/"+c.String(), func(t *testing.T) {
			out, err := d.Decompress(number(c), slices.Concat(skippable, c.Compress(plain), skippable), 0)
			require.NoError(t, err)
			require.True(t, bytes.Equal(plain, out))
			_, err = d.Decompress(number(c), append(c.Compress(plain), skippable[:10]...), 0)
			require.ErrorIs(t, err, batchdecode.ErrCorrupt)
		})
	}
}

// The content checksum was not verified in KAFKA-20528.
func TestChecksumsAreVerified(t *testing.T) {
	for name, src := range compressedFiles(t) {
		switch name {
		case "kafka.snappy", "kafka.lz4", "kafka.zstd", "block-checksum.lz4", "sized.zstd":
			continue // have no checksum at the end
		}
		t.Run(name, func(t *testing.T) {
			at := len(src) - 1
			if byExtension(t, name) == batchdecode.CodecGzip {
				at = len(src) - 5 // before the size
			}
			src[at] ^= 1
			_, err := d.Decompress(byExtension(t, name), src, 0)
			require.ErrorIs(t, err, batchdecode.ErrCorrupt)
		})
	}
}

// A bomb of linked blocks, or a damaged frame, must not show what an earlier
// frame held: the first block here copies from before its beginning.
func TestEarlierDataIsOutOfReach(t *testing.T) {
	linked := compressedFiles(t)["linked.lz4"]
	out, err := d.Decompress(batchdecode.CodecLZ4, linked, 0)
	require.NoError(t, err)
	require.True(t, bytes.Equal(plain, out))
	// The frame header of the file, which has a right checksum, then a block
	// of one literal and a copy of 4 bytes from 100 bytes before.
	frame := slices.Concat(linked[:7], []byte{6, 0, 0, 0}, []byte{0x10, 'x', 100, 0, 0x10, 'y'}, make([]byte, 8))
	_, err = d.Decompress(batchdecode.CodecLZ4, frame, 0)
	require.ErrorIs(t, err, batchdecode.ErrCorrupt)
}

// Every cut of a section is corrupt, as are other bytes behind it.
func TestEveryPrefixAndEveryTailIsCorrupt(t *testing.T) {
	in := append(bytes.Clone(plain[:700]), bytes.Repeat([]byte("ab"), 300)...)
	for _, c := range formats() {
		t.Run(c.String(), func(t *testing.T) {
			src := c.Compress(in)
			for n := range src {
				out, err := d.Decompress(number(c), src[:n:n], 0)
				if n > 0 && err == nil && isWhole(c, in, n) {
					require.True(t, bytes.HasPrefix(in, out))
					continue
				}
				require.ErrorIs(t, err, batchdecode.ErrCorrupt, "%d of %d bytes", n, len(src))
			}
			for _, tail := range [][]byte{{0}, {1, 2, 3}, []byte("garbage behind it, longer than a header")} {
				_, err := d.Decompress(number(c), append(bytes.Clone(src), tail...), 0)
				require.ErrorIs(t, err, batchdecode.ErrCorrupt, "tail %q", tail)
			}
		})
	}
}

// isWhole reports whether a cut falls between two frames or chunks.
func isWhole(c batchtest.Codec, in []byte, n int) bool {
	switch c {
	case batchtest.Xerial:
		return n == len(xerial)
	case batchtest.ZstdFrames:
		return n == len(batchtest.Zstd.Compress(in[:len(in)/2]))
	default:
		return false
	}
}

func TestDictionaryIsRefused(t *testing.T) {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderDictRaw(7, plain[:1000]))
	require.NoError(t, err)
	_, err = d.Decompress(batchdecode.CodecZstd, enc.EncodeAll(plain[:2000], nil), 0)
	require.ErrorIs(t, err, batchdecode.ErrCorrupt)
}

// The window is no memory here, so a small limit does not refuse a large one.
func TestWindowMayBeLargerThanTheLimit(t *testing.T) {
	src := compressedFiles(t)["window.zstd"]
	var err error
	used := allocated(func() { _, err = d.Decompress(batchdecode.CodecZstd, src, len(plain)) })
	require.NoError(t, err)
	require.Less(t, used, uint64(4<<20))
}

// Decompress takes any bytes of any codec: no panic, no more than the limit,
// a class for every error, the same result twice.
func FuzzDecompress(f *testing.F) {
	small := plain[:2000]
	for _, c := range formats() {
		f.Add(uint8(number(c)), c.Compress(small), 3000)
		f.Add(uint8(number(c)), c.Compress(small), 100)
		f.Add(uint8(number(c)), c.Compress(make([]byte, 300_000)), 1<<20)
	}
	f.Add(uint8(4), append(zstdHeader(8<<30), rleBlocks(3)...), 1<<20)
	f.Fuzz(func(t *testing.T, number uint8, src []byte, limit int) {
		c, limit := batchdecode.Codec(number%5), limit%(1<<20)
		if c == batchdecode.CodecNone || limit <= 0 {
			return
		}
		before := bytes.Clone(src)
		out, err := d.Decompress(c, src, limit)
		require.Equal(t, before, src)
		if err != nil {
			require.Nil(t, out)
			require.NotEqual(t, is(err, batchdecode.ErrCorrupt), is(err, batchdecode.ErrTooLarge), fmt.Sprint(err))
			return
		}
		require.LessOrEqual(t, len(out), limit)
		again, err := d.Decompress(c, src, len(out))
		if len(out) > 0 {
			require.NoError(t, err)
			require.True(t, bytes.Equal(out, again))
		}
	})
}
