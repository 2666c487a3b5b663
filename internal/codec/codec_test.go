package codec_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/readcommitted/batchdecode"
	"example.com/readcommitted/internal/batchtest"
	"example.com/readcommitted/internal/codec"
)

var d = codec.New()

// plain is the text that the files in testdata hold.
var plain = func() []byte {
	var b bytes.Buffer
	for i := range 4500 {
		fmt.Fprintf(&b, "record %d of the plain text, value %d\n", i, i*i%1000)
	}
	return b.Bytes()
}()

func byExtension(t testing.TB, name string) batchdecode.Codec {
	for c := batchdecode.CodecGzip; c <= batchdecode.CodecZstd; c++ {
		if strings.HasSuffix(name, "."+c.String()) {
			return c
		}
	}
	require.Fail(t, "no codec for "+name)
	return 0
}

// compressedFiles returns the files in testdata by name.
func compressedFiles(t testing.TB) map[string][]byte {
	files := map[string][]byte{}
	names, err := filepath.Glob("testdata/*.*")
	require.NoError(t, err)
	for _, name := range names {
		if filepath.Ext(name) == ".md" {
			continue
		}
		files[filepath.Base(name)], err = os.ReadFile(name)
		require.NoError(t, err)
	}
	require.Len(t, files, 10)
	return files
}

// Linked blocks, content sizes and 4 MiB blocks of lz4: KAFKA-20528. Zstd
// without content size: confluentinc/librdkafka#2943, #2951, rust-rdkafka#201.
// Snappy in more than one chunk: xerial/snappy-java#142.
func TestFilesOfOtherProgramsDecompress(t *testing.T) {
	for name, src := range compressedFiles(t) {
		t.Run(name, func(t *testing.T) {
			before := bytes.Clone(src)
			c := byExtension(t, name)
			out, err := d.Decompress(c, src, 0)
			require.NoError(t, err)
			require.True(t, bytes.Equal(plain, out), "%d bytes, want %d", len(out), len(plain))
			require.Equal(t, before, src)

			out, err = d.Decompress(c, src, len(plain))
			require.NoError(t, err, "the limit is inclusive")
			require.True(t, bytes.Equal(plain, out))

			for _, limit := range []int{len(plain) - 1, len(plain) / 2, 1} {
				_, err = d.Decompress(c, src, limit)
				require.ErrorIs(t, err, batchdecode.ErrTooLarge, "limit %d", limit)
				require.NotErrorIs(t, err, batchdecode.ErrCorrupt)
				require.Contains(t, err.Error(), c.String()+": ")
			}
		})
	}
}

// inputs are plain bytes of different sizes and kinds.
func inputs() map[string][]byte {
	noise := make([]byte, 300_000)
	random := rand.NewChaCha8([32]byte{1})
	_, _ = random.Read(noise)
	return map[string][]byte{
		"one byte": {7}, "short": []byte("short"), "text": plain, "noise": noise,
		"zeros": make([]byte, 3<<20), "64 KiB": noise[:64<<10], "64 KiB and one": noise[:64<<10+1], "128 KiB": noise[:128<<10],
	}
}

// formats are the codecs and framings that batchtest writes at any size. Linked
// lz4 blocks are among the files.
func formats() []batchtest.Codec {
	return []batchtest.Codec{
		batchtest.Gzip, batchtest.Snappy, batchtest.Xerial,
		batchtest.LZ4, batchtest.LZ4Size, batchtest.LZ4Bare,
		batchtest.Zstd, batchtest.ZstdStream, batchtest.ZstdFrames,
	}
}

func number(c batchtest.Codec) batchdecode.Codec { return batchdecode.Codec(c & 7) }

func TestEveryCodecGivesBackWhatWasCompressed(t *testing.T) {
	for name, in := range inputs() {
		for _, c := range formats() {
			t.Run(name+"/"+c.String(), func(t *testing.T) {
				src := c.Compress(in)
				out, err := d.Decompress(number(c), src, len(in))
				require.NoError(t, err)
				require.True(t, bytes.Equal(in, out))
				_, err = d.Decompress(number(c), src, len(in)-1)
				if len(in) == 1 { // 0 is the default limit
					require.NoError(t, err)
				} else {
					require.ErrorIs(t, err, batchdecode.ErrTooLarge)
				}
			})
		}
	}
}

func TestNothingCompressedIsNothing(t *testing.T) {
	for _, c := range []batchtest.Codec{batchtest.Gzip, batchtest.Snappy, batchtest.LZ4} {
		out, err := d.Decompress(number(c), c.Compress(nil), 0)
		require.NoError(t, err)
		require.Equal(t, []byte{}, out, "%s", c)
	}
}

// The output is the caller's: another call must not touch it, and neither may
// an append to one of its parts.
func TestOutputIsNeverReused(t *testing.T) {
	for _, c := range formats() {
		t.Run(c.String(), func(t *testing.T) {
			one, other := bytes.Repeat([]byte("one "), 30_000), bytes.Repeat([]byte("other "), 20_000)
			out, err := d.Decompress(number(c), c.Compress(one), 0)
			require.NoError(t, err)
			for range 4 {
				_, err = d.Decompress(number(c), c.Compress(other), 0)
				require.NoError(t, err)
			}
			require.True(t, bytes.Equal(one, out))
		})
	}
}

func TestConcurrentCallsDoNotMix(t *testing.T) {
	var wg sync.WaitGroup
	errs := make(chan error, 64)
	for worker := range 8 {
		wg.Go(func() {
			for i, c := range slices.Repeat(formats(), 2) {
				in := bytes.Repeat(fmt.Appendf(nil, "worker %d turn %d ", worker, i), 5_000)
				out, err := d.Decompress(number(c), c.Compress(in), len(in))
				if err != nil || !bytes.Equal(in, out) {
					errs <- fmt.Errorf("%s: %d bytes, %w", c, len(out), err)
					return
				}
			}
		})
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		require.NoError(t, err)
	}
}

func TestCodecNoneIsTheSourceItself(t *testing.T) {
	out, err := d.Decompress(batchdecode.CodecNone, plain, 0)
	require.NoError(t, err)
	require.True(t, &plain[0] == &out[0])
}

func TestUnknownCodecIsUnsupported(t *testing.T) {
	_, err := d.Decompress(5, []byte("x"), 0)
	require.ErrorIs(t, err, batchdecode.ErrUnsupported)
	require.NotErrorIs(t, err, batchdecode.ErrCorrupt)
}
