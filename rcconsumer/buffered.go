package rcconsumer

import "sync/atomic"

// limits are the sizes of a Fetch, in bytes. They may change while the consumer
// runs.
type limits struct {
	answer    atomic.Int32 // of a whole answer
	partition atomic.Int32 // of one partition in it
}

// set keeps both limits above 0: a broker sends a whole batch for any limit,
// but where nothing may be asked for nothing is read.
func (l *limits) set(answer, partition int32) {
	l.answer.Store(max(1, answer))
	l.partition.Store(max(1, partition))
}

// UpdateFetchMaxBytes replaces kgo.FetchMaxBytes and kgo.FetchMaxPartitionBytes
// for all Fetch requests sent from now on, in bytes; below 1 counts as 1, for
// which a broker sends one batch. [BufferBytes] still bounds what is asked for.
func (c *Consumer) UpdateFetchMaxBytes(maxBytes, maxPartBytes int32) {
	c.limits.set(maxBytes, maxPartBytes)
	c.pokeBrokers() // a partition may have room now
}
