package batchtest

import "encoding/binary"

// lz4Linked is an lz4 frame of two blocks of which the second refers to the
// first, as LZ4F writes by default and the Java client never does: the first
// block is stored, the second is one match into it and literals.
//
// Source: LZ4 frame format and block format descriptions.
func lz4Linked(src []byte) []byte {
	half := len(src) / 2
	// Version 1, linked blocks, no checksums, blocks up to 64 KiB; the last
	// byte is the header's checksum.
	frame := []byte{0x04, 0x22, 0x4d, 0x18, 0x40, 0x40, 0xc0}
	frame = lz4Block(frame, src[:half], true)
	if half < len(src) {
		frame = lz4Block(frame, lz4Second(src[:half], src[half:]), false)
	}
	return binary.LittleEndian.AppendUint32(frame, 0) // end mark
}

// lz4Block appends a block behind its size, whose highest bit says that the
// block is stored.
func lz4Block(frame, block []byte, stored bool) []byte {
	size := uint32(len(block))
	if stored {
		size |= 1 << 31
	}
	return append(binary.LittleEndian.AppendUint32(frame, size), block...)
}

// lz4Second encodes a block of at least 13 bytes as a match with what stands
// before it, and literals; a shorter one, or one without a match, as literals.
// The format wants the last 12 bytes not to begin a match and the last 5 to be
// literals.
func lz4Second(before, block []byte) []byte {
	offset, length := lz4Match(before, block)
	if length < 4 {
		return lz4Literals(nil, block)
	}
	out := []byte{byte(min(length-4, 15))} // no literals, match length
	out = binary.LittleEndian.AppendUint16(out, uint16(offset))
	out = lz4Length(out, length-4)
	return lz4Literals(out, block[length:])
}

// lz4Match finds the longest match of the block's beginning with what stands
// before it.
func lz4Match(before, block []byte) (offset, length int) {
	for o := min(len(before), 1<<16-1); o > length; o-- {
		from, n := before[len(before)-o:], 0
		for n < min(len(from), len(block)-12) && from[n] == block[n] {
			n++
		}
		if n > length {
			offset, length = o, n
		}
	}
	return offset, length
}

func lz4Literals(out, literals []byte) []byte {
	out = append(out, byte(min(len(literals), 15)<<4))
	return append(lz4Length(out, len(literals)), literals...)
}

// lz4Length appends what of a length does not fit into the 4 bits of a token.
func lz4Length(out []byte, n int) []byte {
	if n < 15 {
		return out
	}
	for n -= 15; n >= 255; n -= 255 {
		out = append(out, 255)
	}
	return append(out, byte(n))
}
