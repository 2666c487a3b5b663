package model

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Write is a batch to be produced, exactly as told.
type Write struct {
	ProducerID    int64 // -1: none
	Epoch         int16
	BaseSequence  int32
	Transactional bool
	Values        [][]byte
	Keys          [][]byte  // nil: none has one
	Timestamp     time.Time // of all records; zero: now
	Codec         kgo.CompressionCodec
}

// Encode makes the batch's bytes.
func (w Write) Encode() ([]byte, error) {
	if w.Timestamp.IsZero() {
		w.Timestamp = time.Now()
	}
	b := kmsg.NewRecordBatch()
	b.PartitionLeaderEpoch, b.Magic = -1, 2
	b.LastOffsetDelta, b.NumRecords = int32(len(w.Values)-1), int32(len(w.Values))
	b.FirstTimestamp, b.MaxTimestamp = w.Timestamp.UnixMilli(), w.Timestamp.UnixMilli()
	b.ProducerID, b.ProducerEpoch, b.FirstSequence = w.ProducerID, w.Epoch, w.BaseSequence
	if w.Transactional {
		b.Attributes |= transactionalBit
	}
	b.Records = w.encodeRecords()
	compressor, err := kgo.DefaultCompressor(w.Codec)
	if err != nil {
		return nil, fmt.Errorf("codec: %w", err)
	}
	if compressor != nil {
		packed, codec := compressor.Compress(new(bytes.Buffer), b.Records)
		b.Records = bytes.Clone(packed)
		b.Attributes |= int16(codec)
	}
	raw := b.AppendTo(nil)
	Seal(raw)
	return raw, nil
}

// Seal writes the length and the CRC of a batch to where they belong.
func Seal(raw []byte) {
	binary.BigEndian.PutUint32(raw[lengthEnds-4:], uint32(len(raw)-lengthEnds))
	binary.BigEndian.PutUint32(raw[crcAt:], crc32.Checksum(raw[crcCovers:], castagnoli))
}

func (w Write) encodeRecords() (out []byte) {
	for i, value := range w.Values {
		r := kmsg.NewRecord()
		r.OffsetDelta, r.Value = int32(i), value
		if w.Keys != nil {
			r.Key = w.Keys[i]
		}
		// The length counts what follows it, and a length of 0 takes one byte:
		// write once to know it, then again with it.
		r.Length = int32(len(r.AppendTo(nil)) - 1)
		out = r.AppendTo(out)
	}
	return out
}
