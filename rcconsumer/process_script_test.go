package rcconsumer_test

import (
	"encoding/binary"

	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/internal/batchtest"
)

// script reads fuzz bytes as instructions; behind its end all are zero.
type script struct{ b []byte }

func (s *script) next(n int) int {
	if len(s.b) == 0 {
		return 0
	}
	v := int(s.b[0]) % n
	s.b = s.b[1:]
	return v
}

// rare is true for one value of 16, and never behind the end.
func (s *script) rare() bool { return s.next(16) == 15 }

// response builds a response from the script: a log of a few producers and the
// list that belongs to it, now and then with damage to either.
func (s *script) response() *kmsg.FetchResponseTopicPartition {
	var (
		log    batchtest.Log
		list   []int64
		offset int64
		began  = map[int64]int64{} // open transactions by producer ID
	)
	for len(s.b) > 0 && len(log) < 24 {
		if s.rare() {
			offset += int64(s.next(5)) // a hole
		}
		producer := int64(1 + s.next(3))
		last := offset + int64(s.next(4))
		var e batchtest.Entry
		switch s.next(12) {
		case 0, 1, 2, 3:
			if _, open := began[producer]; !open {
				began[producer] = offset
			}
			e = s.damaged(s.data(offset, last).Txn(producer))
		case 4:
			e = s.damaged(s.data(offset, last))
		case 5:
			e = s.damaged(s.data(offset, last).Idempotent(producer))
		case 6, 7:
			last = offset
			e = s.damaged(batchtest.Abort(offset, producer))
			if first, open := began[producer]; open || s.rare() {
				list = append(list, s.entries(producer, first)...)
			}
			delete(began, producer)
		case 8:
			last = offset
			e = s.damaged(batchtest.Commit(offset, producer))
			delete(began, producer)
		case 9:
			e = batchtest.Empty(offset, last).Txn(producer)
		case 10:
			last = offset
			e = s.control(offset, producer)
		case 11:
			e = s.old(offset, last)
		}
		log, offset = append(log, e), last+1
	}
	for p, first := range map[int64]int64{1: 0, 2: 1} { // transactions that end behind the view
		if at, open := began[p]; open && s.rare() {
			list = append(list, p, at+first)
		}
	}
	return log.Partition(batchtest.Aborted(list...))
}

// entries is the entry of an aborted transaction, now and then a wrong one.
func (s *script) entries(producer, first int64) []int64 {
	if !s.rare() {
		return []int64{producer, first}
	}
	switch s.next(4) {
	case 0:
		return nil
	case 1:
		return []int64{producer, first, producer, first}
	case 2:
		return []int64{producer, first + int64(s.next(4))}
	default:
		return []int64{producer, max(0, first-int64(s.next(4))), producer, first}
	}
}

func (s *script) data(base, last int64) batchtest.Batch {
	b := batchtest.Data(base, last)
	if c := s.next(24); c < len(batchtest.Codecs()) {
		b = b.Codec(batchtest.Codecs()[c])
	}
	switch s.next(16) {
	case 11:
		b = b.Each(func(r batchtest.Record) batchtest.Record {
			r.Headers = []kmsg.Header{{Key: "a", Value: []byte("x")}, {Key: "", Value: nil}}
			return r
		})
	case 12:
		b = b.LogAppendTime(batchtest.BaseTime + 7)
	case 13:
		b = b.DeleteHorizon(batchtest.BaseTime - 7)
	case 14:
		b = b.Keep(base + int64(s.next(4)))
	case 15:
		b = b.LeaderEpoch(int32(s.next(4)) - 1)
	}
	return b
}

func (s *script) control(offset, producer int64) batchtest.Batch {
	switch s.next(6) {
	case 0:
		return batchtest.EmptyControl(offset, producer)
	case 1:
		return batchtest.ControlBatch(offset, producer, nil, nil)
	case 2:
		return batchtest.ControlBatch(offset, producer, []byte{0, 0, 0}, nil)
	case 3:
		return batchtest.Abort(offset, producer).Codec(batchtest.Gzip)
	default:
		return batchtest.Marker(offset, producer, int16(s.next(8)), 3)
	}
}

func (s *script) old(base, last int64) batchtest.Message {
	m := batchtest.MessageV1(base, last).Codec(batchtest.Gzip)
	switch s.next(4) {
	case 0:
		m = batchtest.MessageV0(base, last).Codec(batchtest.Snappy)
	case 1:
		m = m.Flip(-1)
	}
	return m
}

// damaged is the batch, in one case of 16 with a fault.
func (s *script) damaged(b batchtest.Batch) batchtest.Entry {
	if !s.rare() {
		return b
	}
	raw := b.Bytes()
	switch s.next(10) {
	case 0:
		return b.ClaimCount(int32(s.next(256)) << s.next(24))
	case 1:
		return b.ClaimLastOffsetDelta(int32(s.next(8)) - 2)
	case 2:
		return batchtest.Raw(batchtest.Set(raw, 8, byte(s.next(256)), byte(s.next(256)), byte(s.next(256)), byte(s.next(256))))
	case 3:
		return b.ClaimMagic(int8(s.next(5)) - 1)
	case 4:
		return batchtest.Raw(batchtest.Cut(raw, 1+s.next(90)))
	case 5:
		return b.Trailing(1)
	case 6:
		return batchtest.Raw(batchtest.Flip(raw, s.next(len(raw))))
	case 7:
		return batchtest.Raw(batchtest.FixCRC(batchtest.Flip(raw, 17+s.next(len(raw)-17))))
	case 8:
		return batchtest.Raw(batchtest.FixCRC(batchtest.Set(raw, 21+s.next(len(raw)-21), byte(s.next(256)))))
	default:
		return batchtest.Raw(batchtest.FixCRC(batchtest.Set(raw, 21, 0, byte(s.next(256)))))
	}
}

// listOf reads bytes as a list of aborted transactions, in varints.
func listOf(b []byte) []kmsg.FetchResponseTopicPartitionAbortedTransaction {
	var numbers []int64
	for len(b) > 0 {
		v, n := binary.Varint(b)
		if n <= 0 {
			break
		}
		numbers, b = append(numbers, v), b[n:]
	}
	return batchtest.Aborted(numbers[:len(numbers)&^1]...)
}

// listBytes is the inverse of listOf.
func listBytes(list []kmsg.FetchResponseTopicPartitionAbortedTransaction) []byte {
	var b []byte
	for _, a := range list {
		b = binary.AppendVarint(binary.AppendVarint(b, a.ProducerID), a.FirstOffset)
	}
	return b
}

// fixedCRCs makes every CRC right, as far as batches can be told apart, so that
// changed bytes are looked at.
func fixedCRCs(records []byte) []byte {
	out := append([]byte(nil), records...)
	for rest := out; len(rest) >= 61; {
		size := int64(12) + int64(int32(binary.BigEndian.Uint32(rest[8:])))
		if size < 61 || size > int64(len(rest)) || rest[16] > 2 {
			break
		}
		copy(rest, batchtest.FixCRC(rest[:size:size]))
		rest = rest[size:]
	}
	return out
}
