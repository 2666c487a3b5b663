package codec

import (
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// Part of the zstd format (RFC 8878).
const (
	zstdMaxBlock       = 128 << 10
	zstdBlockHeaderLen = 3
	zstdChecksumLen    = 4
	zstdBlockRaw       = 0
	zstdBlockRLE       = 1
	zstdBlockReserved  = 3
)

// minZstdRoom is the smallest output to begin with where its size is not known.
const minZstdRoom = 1 << 20

// zstdSlack is capacity behind the output, with which the decoder is faster.
const zstdSlack = 64

// zstdSize is what the frames of a source can come to.
type zstdSize struct {
	bound uint64 // upper bound of the decompressed bytes
	exact bool   // every frame states its content size
}

// decompressZstd gives the decoder an output of limited capacity. The Java
// producer states no content size, so that the output has to grow; the window
// that its header asks for is not memory here, since the output is the window.
func (d *Decompressor) decompressZstd(src []byte, limit int) ([]byte, error) {
	size, err := measureZstd(src, uint64(limit))
	switch {
	case err != nil:
		return nil, err
	case size.exact && size.bound > uint64(limit):
		return nil, tooLarge(limit)
	case size.exact:
		out, err := d.zstd.DecodeAll(src, make([]byte, 0, int(size.bound)+zstdSlack))
		return out[:len(out):len(out)], err
	}
	slot := d.scratch.get()
	out, buf, err := d.growZstd(src, *slot, size.bound, limit)
	defer d.putScratch(slot, buf)
	if err != nil {
		return nil, err
	}
	return own(out), nil
}

// growZstd decodes into buf, and again into one eight times as large while it
// does not fit, up to limit. kept is the buffer for the next source, with all
// of its capacity, also where out uses but a part of it.
//
// The decoder has no error of its own for a full output, so every error but a
// wrong checksum counts as one as long as the blocks could hold more. Damage
// in a source that may exceed the limit can so be reported as too large.
func (d *Decompressor) growZstd(src, buf []byte, bound uint64, limit int) (out, kept []byte, err error) {
	most := int(min(bound, uint64(limit)))
	room := min(most, max(minZstdRoom, len(src)*maxHintRatio/4))
	for {
		if cap(buf) < room+zstdSlack {
			buf = make([]byte, 0, room+zstdSlack)
		}
		out, err = d.zstd.DecodeAll(src, buf[:0:room+zstdSlack])
		full := err != nil && !errors.Is(err, zstd.ErrCRCMismatch)
		switch {
		case full && room < most/8:
			room *= 8
		case full && room < most:
			room = most
		case full && bound > uint64(limit), len(out) > limit:
			return nil, buf, tooLarge(limit)
		default:
			return out, buf, err
		}
	}
}

// measureZstd walks over frames and block headers without decoding. A content
// size above limit is too large, and one that the blocks cannot hold is an
// error, so that it is never allocated.
func measureZstd(src []byte, limit uint64) (zstdSize, error) {
	size := zstdSize{exact: true}
	for len(src) > 0 {
		var h zstd.Header
		rest, err := h.DecodeAndStrip(src)
		if err != nil {
			return size, err
		}
		if h.Skippable {
			if uint64(h.SkippableSize) > uint64(len(rest)) {
				return size, io.ErrUnexpectedEOF
			}
			src = rest[h.SkippableSize:]
			continue
		}
		if h.HasFCS && h.FrameContentSize > limit {
			return size, tooLarge(int(limit))
		}
		var blocks uint64
		if blocks, src, err = measureZstdBlocks(rest, &h); err != nil {
			return size, err
		}
		switch {
		case !h.HasFCS:
			size.exact = false
		case h.FrameContentSize > blocks:
			return size, fmt.Errorf("a frame claims %d bytes, its blocks hold at most %d", h.FrameContentSize, blocks)
		default:
			blocks = h.FrameContentSize
		}
		size.bound += blocks
	}
	return size, nil
}

// measureZstdBlocks returns an upper bound of what the blocks of a frame hold,
// and the bytes behind the frame.
func measureZstdBlocks(b []byte, h *zstd.Header) (bound uint64, rest []byte, err error) {
	for last := false; !last; {
		if len(b) < zstdBlockHeaderLen {
			return 0, nil, io.ErrUnexpectedEOF
		}
		header := int(b[0]) | int(b[1])<<8 | int(b[2])<<16
		last = header&1 == 1
		size, held := header>>3, uint64(header>>3)
		switch header >> 1 & 3 {
		case zstdBlockRaw:
		case zstdBlockRLE:
			size = 1
		case zstdBlockReserved:
			return 0, nil, errors.New("reserved zstd block type")
		default:
			held = zstdMaxBlock
		}
		b = b[zstdBlockHeaderLen:]
		if size > len(b) {
			return 0, nil, io.ErrUnexpectedEOF
		}
		b, bound = b[size:], bound+min(held, zstdMaxBlock)
	}
	if h.HasCheckSum {
		if len(b) < zstdChecksumLen {
			return 0, nil, io.ErrUnexpectedEOF
		}
		b = b[zstdChecksumLen:]
	}
	return bound, b, nil
}
