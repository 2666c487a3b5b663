package history

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// Value is what a record says of itself: who wrote it, as part of what, and
// what its transaction was planned to come to. A reader needs nothing else to
// know an aborted record, or half a transaction, when it gets one.
type Value struct {
	Run         uint64 // the history that it belongs to
	Producer    uint16 // of the plan
	Incarnation uint16 // how often the producer had begun anew
	Txn         uint32 // of the producer, from 1 on; 0 for records without a transaction
	Ending      Ending // planned
	Index       uint16 // among the transaction's records in the partition, from 0 on
	Count       uint16 // of these
	Partitions  uint64 // bit i: the transaction writes to partition i
	Number      uint64 // of the producer in the partition, from 1 on and without a gap
}

// Layout of a value: the mark, the fields in their order, padding, the CRC of
// all of it.
const (
	valueMark   = 0x7c48
	fieldsBytes = 2 + 8 + 2 + 2 + 4 + 1 + 2 + 2 + 8 + 8
	leastBytes  = fieldsBytes + crc32.Size
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Encode makes the value's bytes, with some bytes of padding.
func (v Value) Encode(padding int) []byte {
	b := make([]byte, 0, leastBytes+padding)
	b = binary.BigEndian.AppendUint16(b, valueMark)
	b = binary.BigEndian.AppendUint64(b, v.Run)
	b = binary.BigEndian.AppendUint16(b, v.Producer)
	b = binary.BigEndian.AppendUint16(b, v.Incarnation)
	b = binary.BigEndian.AppendUint32(b, v.Txn)
	b = append(b, byte(v.Ending))
	b = binary.BigEndian.AppendUint16(b, v.Index)
	b = binary.BigEndian.AppendUint16(b, v.Count)
	b = binary.BigEndian.AppendUint64(b, v.Partitions)
	b = binary.BigEndian.AppendUint64(b, v.Number)
	b = append(b, bytes.Repeat([]byte{'.'}, padding)...)
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// Parse reads a value back. Anything that Encode did not make is an error.
func Parse(b []byte) (v Value, err error) {
	if len(b) < leastBytes {
		return v, fmt.Errorf("%d bytes, of at least %d", len(b), leastBytes)
	}
	body, sum := b[:len(b)-crc32.Size], binary.BigEndian.Uint32(b[len(b)-crc32.Size:])
	switch {
	case binary.BigEndian.Uint16(b) != valueMark:
		return v, errors.New("it does not begin as values do")
	case crc32.Checksum(body, castagnoli) != sum:
		return v, errors.New("its CRC is wrong")
	}
	v = Value{
		Run:         binary.BigEndian.Uint64(b[2:]),
		Producer:    binary.BigEndian.Uint16(b[10:]),
		Incarnation: binary.BigEndian.Uint16(b[12:]),
		Txn:         binary.BigEndian.Uint32(b[14:]),
		Ending:      Ending(b[18]),
		Index:       binary.BigEndian.Uint16(b[19:]),
		Count:       binary.BigEndian.Uint16(b[21:]),
		Partitions:  binary.BigEndian.Uint64(b[23:]),
		Number:      binary.BigEndian.Uint64(b[31:]),
	}
	if v.Ending >= endings || v.Index >= v.Count || v.Number == 0 {
		return v, errors.New("its fields make no sense")
	}
	return v, nil
}

// String names the record in a line of evidence.
func (v Value) String() string {
	if v.Txn == 0 {
		return fmt.Sprintf("record %d of producer %d", v.Number, v.Producer)
	}
	return fmt.Sprintf("record %d of %d of transaction %d of producer %d, planned to %s", v.Index+1, v.Count, v.Txn, v.Producer, v.Ending)
}
