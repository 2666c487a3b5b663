package codec

import (
	"bytes"
	"encoding/binary"

	"github.com/pierrec/lz4/v4"
)

// The lz4 frame header: magic, flags, block descriptor, optional content size.
const (
	lz4Magic         = 0x184D2204
	lz4FlagsAt       = 4
	lz4ContentSizeAt = 6
	lz4ContentSize   = 1 << 3 // flag: the content size is there
)

// decompressLZ4 makes a reader for each source. Its large buffers are kept by
// the lz4 package; the reader itself is small, and a reused one would let
// linked blocks of a damaged frame refer to the data of an earlier batch.
func (d *Decompressor) decompressLZ4(src []byte, limit int) ([]byte, error) {
	claimed := lz4Claims(src)
	if claimed > uint64(limit) {
		return nil, tooLarge(limit)
	}
	r := lz4.NewReader(bytes.NewReader(src))
	defer r.Reset(nil) // gives the buffers back
	return d.readAll(r, hint(claimed, src, limit), limit)
}

// lz4Claims returns the content size of the first frame, 0 if it has none. The
// reader verifies it.
func lz4Claims(src []byte) uint64 {
	if len(src) < lz4ContentSizeAt+8 || binary.LittleEndian.Uint32(src) != lz4Magic || src[lz4FlagsAt]&lz4ContentSize == 0 {
		return 0
	}
	return binary.LittleEndian.Uint64(src[lz4ContentSizeAt:])
}
