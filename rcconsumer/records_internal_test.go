package rcconsumer

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/internal/batchtest"
	"example.com/readcommitted/internal/pass"
)

// BenchmarkRecords compares a loop over Records with polls of everything, on
// answers that are in memory: both decode the same batches.
func BenchmarkRecords(b *testing.B) {
	for _, size := range []int64{1, 10, 500} {
		const records = 5000
		var log batchtest.Log
		for o := int64(0); o < records; o += size {
			log = append(log, batchtest.Data(o, o+size-1).Size(100))
		}
		part := log.Partition(nil)
		part.LastStableOffset, part.HighWatermark = records, records
		for name, drain := range map[string]func(*Consumer) int{"loop": drainByLoop, "polls": drainByPolls} {
			b.Run(fmt.Sprintf("by=%s/batch=%d", name, size), func(b *testing.B) {
				c, err := New(kgo.SeedBrokers("127.0.0.1:1"))
				require.NoError(b, err)
				defer c.Close()
				p := c.ensure("t", 0, offsetSpec{at: 0, epoch: -1})
				b.ReportAllocs()
				for b.Loop() {
					p.mu.Lock()
					p.seekLocked(0, -1)
					gen := p.gen
					p.mu.Unlock()
					l := newLease(c.budget, 0)
					c.accept(&answer{wanted: &wanted{p: p, gen: gen}, part: part, version: 12, lease: l, scanner: new(pass.Scanner)})
					l.drop()
					require.Equal(b, records, drain(c))
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/records, "ns/record")
			})
		}
	}
}

func drainByLoop(c *Consumer) (n int) {
	var none context.Context // take what is there
	for r, err := range c.Records(none) {
		if err == nil && r != nil {
			n++
		}
	}
	return n
}

func drainByPolls(c *Consumer) (n int) {
	for {
		fs := c.PollFetches(nil) //nolint:staticcheck // the nil context takes what is there
		if fs.Empty() {
			return n
		}
		fs.EachRecord(func(*kgo.Record) { n++ })
	}
}
