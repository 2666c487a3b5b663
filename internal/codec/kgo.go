package codec

import (
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/batchdecode"
)

// FromKgo adapts a decompressor that was written for kgo, so that one given to
// a client by kgo.WithDecompressor is honoured. [kgo.ErrMaxDecompress], and an
// output above the limit, become [batchdecode.ErrTooLarge]; other errors are
// passed on. The limit is checked after the call: how much d allocates is its
// own affair.
//
// If d takes its output from a pool, that memory must stay untouched as long
// as the records are used. FromKgo(nil) is nil.
func FromKgo(d kgo.Decompressor) batchdecode.Decompressor {
	if d == nil {
		return nil
	}
	return fromKgo{d}
}

type fromKgo struct{ d kgo.Decompressor }

func (f fromKgo) Decompress(c batchdecode.Codec, src []byte, limit int) ([]byte, error) {
	out, err := f.d.Decompress(src, kgo.CompressionCodecType(c))
	switch {
	case errors.Is(err, kgo.ErrMaxDecompress):
		return nil, fmt.Errorf("%s: %w: %w", c, batchdecode.ErrTooLarge, err)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", c, err)
	case limit > 0 && len(out) > limit:
		return nil, fmt.Errorf("%s: %w", c, tooLarge(limit))
	}
	return out, nil
}
