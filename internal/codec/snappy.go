package codec

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/klauspost/compress/s2"
)

// xerialMagic begins the framing of the Java client: after it two int32
// versions, then chunks of a big-endian int32 length and a raw block. A raw
// block cannot begin so: it would have to begin with a copy of earlier bytes.
const xerialMagic = "\x82SNAPPY\x00"

const (
	xerialHeaderLen = len(xerialMagic) + 8
	xerialLengthLen = 4

	// maxSnappyRatio is how many bytes one byte of a raw block can stand for:
	// a copy of 64 bytes takes 3.
	maxSnappyRatio = 22
)

var errXerial = errors.New("malformed xerial framing")

func decompressSnappy(src []byte, limit int) ([]byte, error) {
	if bytes.HasPrefix(src, []byte(xerialMagic)) {
		return decompressXerial(src, limit)
	}
	size, err := snappySize(src, limit, limit)
	if err != nil {
		return nil, err
	}
	return s2.Decode(make([]byte, size), src)
}

// snappySize returns the size that a raw block claims to have decompressed. Of
// the limit, room is left.
func snappySize(block []byte, room, limit int) (int, error) {
	size, err := s2.DecodedLen(block)
	switch {
	case errors.Is(err, s2.ErrTooLarge), err == nil && size > room:
		return 0, tooLarge(limit)
	case err != nil:
		return 0, err
	case size > len(block)*maxSnappyRatio:
		return 0, fmt.Errorf("%d bytes claim to hold %d", len(block), size)
	}
	return size, nil
}

// decompressXerial adds up what the chunks claim before it allocates.
func decompressXerial(src []byte, limit int) ([]byte, error) {
	total := 0
	for rest := src; len(rest) > 0; {
		block, next, err := nextXerial(rest)
		if err != nil {
			return nil, err
		}
		if block != nil {
			size, err := snappySize(block, limit-total, limit)
			if err != nil {
				return nil, err
			}
			total += size
		}
		rest = next
	}
	out := make([]byte, 0, total)
	for rest := src; len(rest) > 0; {
		block, next, err := nextXerial(rest)
		if err != nil {
			return nil, err
		}
		if block != nil {
			// Decodes in place, as the chunk's size is within the capacity.
			chunk, err := s2.Decode(out[len(out):], block)
			if err != nil {
				return nil, err
			}
			out = out[:len(out)+len(chunk)]
		}
		rest = next
	}
	return out, nil
}

// nextXerial returns the chunk at the front of b and what follows it, or a nil
// chunk for a header. A header may come again where streams were joined.
func nextXerial(b []byte) (block, rest []byte, err error) {
	if bytes.HasPrefix(b, []byte(xerialMagic)) {
		if len(b) < xerialHeaderLen {
			return nil, nil, errXerial
		}
		return nil, b[xerialHeaderLen:], nil
	}
	if len(b) < xerialLengthLen {
		return nil, nil, errXerial
	}
	size := int(int32(binary.BigEndian.Uint32(b)))
	b = b[xerialLengthLen:]
	if size < 0 || size > len(b) {
		return nil, nil, errXerial
	}
	return b[:size:size], b[size:], nil
}
