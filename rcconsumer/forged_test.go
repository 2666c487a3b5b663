package rcconsumer_test

import (
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/internal/batchtest"
)

// ask is one partition of a Fetch.
type ask struct {
	partition int32
	offset    int64
	epoch     int32
	node      int32
	version   int16
	wait      int32 // milliseconds
	isolation int8
	nth       int  // how many asks for the partition came before
	alone     bool // nothing else was asked for
	rack      string
	at        time.Duration // since the world began, the first time it was looked at
}

// forged is a partition whose broker is the test.
type forged struct {
	log            batchtest.Log
	aborted        []kmsg.FetchResponseTopicPartitionAbortedTransaction
	start, lso, hw int64
	batches        int             // in one answer; 0 is all
	behind         map[int32]int64 // where the log ends at followers that are cut off

	// script overrides all of this; nil is returned for what it does not want
	// to answer. What it answers is answered at once.
	script func(ask) *kmsg.FetchResponseTopicPartition

	asks []ask
	wire []encoded // log; nil when it may have changed
}

// encoded is an entry of a log.
type encoded struct {
	raw []byte
	end int64
}

// answer is one partition's part of an answer: whole batches within room, in
// bytes, but at least one if the answer has none yet.
func (f *forged) answer(a ask, room int, first bool) (sp *kmsg.FetchResponseTopicPartition, now bool) {
	if f.script != nil {
		if sp := f.script(a); sp != nil {
			return sp, true
		}
	}
	lso, hw := f.lso, f.hw
	if end, ok := f.behind[a.node]; ok {
		lso, hw = min(lso, end), min(hw, end)
	}
	if a.offset < f.start || a.offset > hw {
		return failure(kerr.OffsetOutOfRange), true
	}
	bound := hw
	if a.isolation == 1 {
		bound = lso
	}
	sp = batchtest.Log{}.Partition(f.aborted)
	sp.LogStartOffset, sp.LastStableOffset, sp.HighWatermark = f.start, lso, hw
	taken := 0
	if f.wire == nil {
		for _, e := range f.log {
			f.wire = append(f.wire, encoded{e.Bytes(), batchtest.Log{e}.End()})
		}
	}
	for _, e := range f.wire {
		if e.end <= a.offset && e.end > 0 {
			continue
		}
		full := len(sp.RecordBatches)+len(e.raw) > room && (taken > 0 || !first)
		if e.end > bound || full || f.batches > 0 && taken >= f.batches {
			break
		}
		sp.RecordBatches = append(sp.RecordBatches, e.raw...)
		taken++
	}
	return sp, taken > 0
}

// list answers as a broker would for the default timestamps of batchtest: one
// millisecond an offset.
func (f *forged) list(timestamp int64, isolation int8) (offset, ts int64) {
	end := f.hw
	if isolation == 1 {
		end = f.lso
	}
	switch {
	case timestamp == -1:
		return end, -1
	case timestamp == -2:
		return f.start, -1
	case timestamp == -3 && end > f.start:
		return end - 1, batchtest.Timestamp(end - 1)
	case timestamp >= 0:
		if at := max(f.start, timestamp-batchtest.BaseTime); at < end {
			return at, batchtest.Timestamp(at)
		}
	}
	return -1, -1
}

func recordBytes(resp *kmsg.FetchResponse) (n int) {
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			n += len(p.RecordBatches)
		}
	}
	return n
}

// failure is a partition's error, with the fields as a broker fills them.
func failure(err *kerr.Error) *kmsg.FetchResponseTopicPartition {
	p := kmsg.NewFetchResponseTopicPartition()
	p.ErrorCode, p.HighWatermark, p.LastStableOffset, p.LogStartOffset = err.Code, -1, -1, -1
	return &p
}

// nothing is an answer without bytes.
func nothing(lso, hw int64) *kmsg.FetchResponseTopicPartition {
	p := batchtest.Log{}.Partition(nil)
	p.LastStableOffset, p.HighWatermark = lso, hw
	return p
}
