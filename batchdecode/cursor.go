package batchdecode

import "encoding/binary"

// cursor reads a byte slice from front to back. It does every bounds check of
// the records, and remembers the first failure: after it, all reads return
// zeros and change nothing, so that decoders read straight down in wire order
// and ask once.
type cursor struct {
	b  []byte
	at int

	failedAt int
	field    string // what failed, "" if nothing did
	err      error
}

func (c *cursor) left() int { return len(c.b) - c.at }

// fail notes a failure at position at, if it is the first, and ends reading.
func (c *cursor) fail(at int, field string, err error) {
	if c.err == nil {
		c.failedAt, c.field, c.err = at, field, err
	}
	c.at = len(c.b)
}

func (c *cursor) int8(field string) int8 {
	if c.at >= len(c.b) {
		c.fail(c.at, field, errPastEnd)
		return 0
	}
	v := int8(c.b[c.at])
	c.at++
	return v
}

// varint reads a zigzag-coded number of 32 bits. Most of them take one byte or
// two, which are read here.
func (c *cursor) varint(field string) int32 {
	var u uint32
	switch b := c.b[c.at:]; {
	case len(b) > 0 && b[0] < 0x80:
		u = uint32(b[0])
		c.at++
	case len(b) > 1 && b[1] < 0x80:
		u = uint32(b[0]&0x7f) | uint32(b[1])<<7
		c.at += 2
	default:
		u = uint32(c.uvarint(field, 1<<32-1))
	}
	return int32(u>>1) ^ -int32(u&1)
}

// varlong reads a zigzag-coded number of 64 bits.
func (c *cursor) varlong(field string) int64 {
	u := c.uvarint(field, 1<<64-1)
	return int64(u>>1) ^ -int64(u&1)
}

// uvarint reads a base-128 number that must not be above limit. Padding within
// the longest encoding that limit needs is accepted, as by Kafka.
func (c *cursor) uvarint(field string, limit uint64) uint64 {
	u, n := binary.Uvarint(c.b[c.at:])
	switch {
	case n == 0:
		c.fail(c.at, field, errPastEnd)
		return 0
	case n < 0 || u > limit || limit < 1<<32 && n > binary.MaxVarintLen32:
		c.fail(c.at, field, errVarint)
		return 0
	}
	c.at += n
	return u
}

// bytes reads a length and as many bytes; nil if the length is negative.
// Kafka writes -1 for null and reads every negative length as null.
func (c *cursor) bytes(lengthField string) []byte {
	from := c.at
	n := int(c.varint(lengthField))
	if n < 0 || c.err != nil {
		return nil
	}
	if n > c.left() {
		c.fail(from, lengthField, corruptf("%d with %d bytes left", n, c.left()))
		return nil
	}
	v := c.b[c.at : c.at+n : c.at+n]
	c.at += n
	return v
}

var (
	errPastEnd = corruptf("no bytes left")
	errVarint  = corruptf("varint too long or too large")
)
