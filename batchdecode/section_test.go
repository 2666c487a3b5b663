package batchdecode_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/readcommitted/batchdecode"
	"example.com/readcommitted/internal/batchtest"
)

// decompress is a Decompressor made of a function.
type decompress func(c batchdecode.Codec, src []byte, limit int) ([]byte, error)

func (f decompress) Decompress(c batchdecode.Codec, src []byte, limit int) ([]byte, error) {
	return f(c, src, limit)
}

// A decompression error is never swallowed: twmb/franz-go#883.
func TestDecompressorErrorsGetAClass(t *testing.T) {
	cause := errors.New("cause")
	for _, tt := range []struct {
		name  string
		err   error
		class error
	}{
		{"any", cause, batchdecode.ErrCorrupt},
		{"corrupt", fmt.Errorf("%w: %w", batchdecode.ErrCorrupt, cause), batchdecode.ErrCorrupt},
		{"too large", fmt.Errorf("%w: %w", batchdecode.ErrTooLarge, cause), batchdecode.ErrTooLarge},
		{"unsupported", fmt.Errorf("%w: %w", batchdecode.ErrUnsupported, cause), batchdecode.ErrUnsupported},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := next(t, batchtest.Data(3, 4).Codec(batchtest.Zstd).Bytes())
			_, err := b.Records(decompress(func(batchdecode.Codec, []byte, int) ([]byte, error) {
				return nil, tt.err
			}), 0)
			requireError(t, err, tt.class, 3, 4, "zstd records")
			require.ErrorIs(t, err, cause)
		})
	}
	t.Run("truncated counts as corrupt", func(t *testing.T) {
		b := next(t, batchtest.Data(3, 4).Codec(batchtest.Zstd).Bytes())
		_, err := b.Records(decompress(func(batchdecode.Codec, []byte, int) ([]byte, error) {
			return nil, batchdecode.ErrTruncated
		}), 0)
		requireError(t, err, batchdecode.ErrCorrupt, 3, 4, "zstd records")
	})
}

func TestRecordsHandsTheLimitOnAndHoldsIt(t *testing.T) {
	raw := batchtest.Data(3, 4).Codec(batchtest.Gzip).Bytes()
	for _, tt := range []struct{ limit, want int }{
		{5, 5}, {0, batchdecode.DefaultDecompressLimit}, {-1, batchdecode.DefaultDecompressLimit},
	} {
		_, err := next(t, raw).Records(decompress(func(c batchdecode.Codec, src []byte, limit int) ([]byte, error) {
			require.Equal(t, batchdecode.CodecGzip, c)
			require.Equal(t, raw[batchdecode.HeaderLen:], src)
			require.Equal(t, tt.want, limit)
			return make([]byte, 6), nil
		}), tt.limit)
		if tt.limit == 5 {
			requireError(t, err, batchdecode.ErrTooLarge, 3, 4, "gzip records")
		}
	}
}

func TestLimitOfEveryCodec(t *testing.T) {
	for _, c := range batchtest.Codecs()[1:] {
		t.Run(c.String(), func(t *testing.T) {
			size := len(batchtest.Data(0, 99).Bytes()) - batchdecode.HeaderLen
			b := next(t, batchtest.Data(0, 99).Codec(c).Bytes())
			_, err := b.Records(codecs, size)
			require.NoError(t, err)
			_, err = b.Records(codecs, size-1)
			requireError(t, err, batchdecode.ErrTooLarge, 0, 99, batchdecode.Codec(c&7).String()+" records")
		})
	}
}

func TestCompressedBatchNeedsADecompressor(t *testing.T) {
	_, err := next(t, batchtest.Data(3, 4).Codec(batchtest.LZ4).Bytes()).Records(nil, 0)
	requireError(t, err, batchdecode.ErrUnsupported, 3, 4, "attributes")
	require.Contains(t, err.Error(), "lz4")
}

func TestEmptyBatchNeedsNoDecompressor(t *testing.T) {
	for number := range byte(5) {
		it, err := next(t, batchtest.Empty(3, 4).Set(22, number).FixCRC().Bytes()).Records(nil, 0)
		require.NoError(t, err)
		require.Zero(t, it.Remaining())
		require.False(t, it.Next(new(batchdecode.Record)))
		require.NoError(t, it.Err())
	}
}
