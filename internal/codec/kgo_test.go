package codec_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/batchdecode"
	"example.com/readcommitted/internal/codec"
)

func is(err, target error) bool { return errors.Is(err, target) }

// kgo's own decompressor is a second opinion on every codec.
func TestFromKgoAgrees(t *testing.T) {
	theirs := codec.FromKgo(kgo.DefaultDecompressor())
	for name, in := range inputs() {
		for _, c := range formats() {
			t.Run(name+"/"+c.String(), func(t *testing.T) {
				out, err := theirs.Decompress(number(c), c.Compress(in), len(in))
				require.NoError(t, err)
				require.True(t, bytes.Equal(in, out))
				if len(in) > 1 {
					_, err = theirs.Decompress(number(c), c.Compress(in), len(in)-1)
					require.ErrorIs(t, err, batchdecode.ErrTooLarge)
				}
			})
		}
	}
}

type kgoFunc func(src []byte, c kgo.CompressionCodecType) ([]byte, error)

func (f kgoFunc) Decompress(src []byte, c kgo.CompressionCodecType) ([]byte, error) { return f(src, c) }

func TestFromKgoMapsCodecsAndErrors(t *testing.T) {
	cause := errors.New("cause")
	var got []kgo.CompressionCodecType
	failing := func(err error) batchdecode.Decompressor {
		return codec.FromKgo(kgoFunc(func(_ []byte, c kgo.CompressionCodecType) ([]byte, error) {
			got = append(got, c)
			return nil, err
		}))
	}
	for c := batchdecode.CodecNone; c <= batchdecode.CodecZstd; c++ {
		_, err := failing(cause).Decompress(c, nil, 0)
		require.ErrorIs(t, err, cause)
	}
	require.Equal(t, []kgo.CompressionCodecType{kgo.CodecNone, kgo.CodecGzip, kgo.CodecSnappy, kgo.CodecLz4, kgo.CodecZstd}, got)

	_, err := failing(fmt.Errorf("%w: %w", kgo.ErrMaxDecompress, cause)).Decompress(batchdecode.CodecZstd, nil, 0)
	require.ErrorIs(t, err, batchdecode.ErrTooLarge)
	require.ErrorIs(t, err, kgo.ErrMaxDecompress)
	require.ErrorIs(t, err, cause)
}

func TestFromKgoOfNothingIsNothing(t *testing.T) {
	require.Nil(t, codec.FromKgo(nil))
}
