package rcconsumer

import (
	"sync"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/internal/pass"
)

// PassOptions says how [ProcessFetchPartition] treats the bytes of a partition.
type PassOptions struct {
	Topic     string
	Partition int32
	Offset    int64 // fetch offset: records below it are dropped, inclusive lower bound

	ReadUncommitted    bool // deliver aborted data, ignore the list
	KeepControlRecords bool // deliver control records as well

	// Decompressor replaces the built-in codecs; nil for these.
	Decompressor kgo.Decompressor
	// MaxDecompressBatchBytes caps the decompressed size of one batch, in
	// bytes; <= 0 for kgo's default of 1 GiB.
	MaxDecompressBatchBytes int32
}

// scanners are kept because their scratch memory grows with the number of
// batches, and without them would be most of what an aborted answer costs.
var scanners = sync.Pool{New: func() any { return new(pass.Scanner) }}

// ProcessFetchPartition is the consumer's own pass over one fetched partition:
// it checks every batch, drops aborted data from headers alone and decodes the
// rest. For benchmarks, fuzzing and other clients; the counterpart of
// kgo.ProcessFetchPartition.
//
// It returns the records in offset order with the error that ended the pass, if
// any, the offset to fetch next, and what was counted. The offset stays in
// front of a batch that could not be read. Keys and values alias
// rp.RecordBatches where the batch is not compressed.
//
// Errors are as [BatchError] has them, or the partition's own error code.
func ProcessFetchPartition(o PassOptions, rp *kmsg.FetchResponseTopicPartition) (kgo.FetchPartition, int64, PartitionStats) {
	fp := kgo.FetchPartition{
		Partition:        o.Partition,
		Err:              kerr.ErrorForCode(rp.ErrorCode),
		HighWatermark:    rp.HighWatermark,
		LastStableOffset: rp.LastStableOffset,
		LogStartOffset:   rp.LogStartOffset,
	}
	var stats PartitionStats
	scanner, _ := scanners.Get().(*pass.Scanner)
	defer scanners.Put(scanner)
	res := scanner.Scan(pass.Options{
		Offset: o.Offset, ReadUncommitted: o.ReadUncommitted, KeepControl: o.KeepControlRecords,
	}, rp.RecordBatches, rp.AbortedTransactions)
	stats.addScan(res.Counts, len(rp.RecordBatches))
	stats.Anomalies = int64(len(res.Anomalies))
	next, err := decodeAll(o, &fp, res, &stats)
	if err == nil {
		err = res.Err
	}
	if err != nil {
		fp.Err = batchError(o.Topic, o.Partition, -1, err)
	}
	return fp, next, stats
}

// decodeAll decodes the kept batches of a scan up to the first damaged one.
func decodeAll(o PassOptions, fp *kgo.FetchPartition, res pass.Result, stats *PartitionStats) (next int64, err error) {
	d := pass.Decoder{
		Topic: o.Topic, Partition: o.Partition, Custom: o.Decompressor, MaxBatchBytes: int(o.MaxDecompressBatchBytes),
	}
	total := 0
	for _, k := range res.Kept {
		total += k.SizeHint()
	}
	if total > 0 {
		fp.Records = make([]*kgo.Record, 0, total)
	}
	for _, k := range res.Kept {
		before := len(fp.Records)
		fp.Records, err = d.Append(fp.Records, k)
		if err != nil {
			return k.First(), err
		}
		stats.addDelivered(k, len(fp.Records)-before, true)
	}
	return res.Next, nil
}
