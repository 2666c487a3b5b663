package rcconsumer

import "example.com/readcommitted/internal/pass"

// PartitionStats are counts since a partition was first read. Delivered* count
// when records are handed out, the rest when headers are scanned; a part of the
// log that is fetched twice counts twice. Bytes are bytes on the wire.
type PartitionStats struct {
	DeliveredBatches, DeliveredRecords, DeliveredBytes int64
	AbortedBatches, AbortedRecords, AbortedBytes       int64 // dropped; records as the headers claim
	ControlBatches                                     int64 // markers and other control batches
	FetchedBytes                                       int64 // record bytes of all answers, cut tails included
	Anomalies                                          int64
}

func (s *PartitionStats) addScan(c pass.Counts, fetched int) {
	s.AbortedBatches += c.AbortedBatches
	s.AbortedRecords += c.AbortedRecords
	s.AbortedBytes += c.AbortedBytes
	s.ControlBatches += c.ControlBatches
	s.FetchedBytes += int64(fetched)
}

// addDelivered books records handed out of a batch. The batch and its bytes
// count with its first records.
func (s *PartitionStats) addDelivered(k pass.Kept, records int, first bool) {
	if k.Control || records == 0 {
		return
	}
	s.DeliveredRecords += int64(records)
	if first {
		s.DeliveredBatches++
		s.DeliveredBytes += int64(len(k.Batch.Bytes()))
	}
}

// Stats returns the counts of all partitions being read.
func (c *Consumer) Stats() map[string]map[int32]PartitionStats {
	return collect(c, (*partition).statistics)
}
