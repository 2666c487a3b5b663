package batchtest

import "github.com/twmb/franz-go/pkg/kmsg"

// Entry is one piece of a log: a [Batch], a [Message] or [Raw] bytes.
type Entry interface {
	Bytes() []byte
	sent() []Record // records with the data that a reader has to see
	end() int64     // the offset behind it, -1 if it has none
	damaged() bool
}

// Raw is bytes as they are.
type Raw []byte

// Bytes returns r.
func (r Raw) Bytes() []byte { return r }

func (r Raw) sent() []Record { return nil }
func (r Raw) end() int64     { return -1 }
func (r Raw) damaged() bool  { return true }

// Log is the part of a partition that one Fetch response carries.
type Log []Entry

// Bytes is the records field of the response.
func (l Log) Bytes() []byte {
	var raw []byte
	for _, e := range l {
		raw = append(raw, e.Bytes()...)
	}
	return raw
}

// End is the offset behind the last entry, 0 if there is none.
func (l Log) End() int64 {
	var end int64
	for _, e := range l {
		end = max(end, e.end())
	}
	return end
}

// Partition is a healthy answer with the log: high watermark and last stable
// offset are its end. The list is in wire order, nil is null.
func (l Log) Partition(
	list []kmsg.FetchResponseTopicPartitionAbortedTransaction,
) *kmsg.FetchResponseTopicPartition {
	p := kmsg.NewFetchResponseTopicPartition()
	p.HighWatermark = l.End()
	p.LastStableOffset = p.HighWatermark
	p.LogStartOffset = 0
	p.AbortedTransactions = list
	p.RecordBatches = l.Bytes()
	return &p
}

// Aborted builds an aborted-transactions list from pairs of producer ID and
// first offset, in wire order. Without a pair it is empty, not null.
func Aborted(pairs ...int64) []kmsg.FetchResponseTopicPartitionAbortedTransaction {
	list := make([]kmsg.FetchResponseTopicPartitionAbortedTransaction, 0, len(pairs)/2)
	for i := 0; i+1 < len(pairs); i += 2 {
		e := kmsg.NewFetchResponseTopicPartitionAbortedTransaction()
		e.ProducerID, e.FirstOffset = pairs[i], pairs[i+1]
		list = append(list, e)
	}
	return list
}
