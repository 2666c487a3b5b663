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

// BufferedFetchRecords is how many records have been fetched and not handed
// out. Records are decoded when a poll takes them; until then they count as
// their batch's header claims, and those in front of the start offset count
// too. Aborted records and markers never count.
func (c *Consumer) BufferedFetchRecords() int64 {
	var n int64
	for _, p := range c.allPartitions() {
		p.mu.Lock()
		n += p.bufferedLocked()
		p.mu.Unlock()
	}
	return n
}

func (p *partition) bufferedLocked() (n int64) {
	for _, q := range p.queue {
		n += int64(len(q.decoded.records))
		for _, k := range q.kept {
			n += int64(max(1, k.Batch.RecordCount())) // formats 0 and 1 do not say
		}
	}
	return n
}

// BufferedFetchBytes is how much memory is held for data that has been fetched
// and not handed out, in bytes: whole answers as long as a record of them waits,
// and decoded records. It is what [BufferBytes] bounds, less what has only been
// asked for. (kgo counts keys, values and headers alone.)
func (c *Consumer) BufferedFetchBytes() int64 { return c.budget.holds() }
