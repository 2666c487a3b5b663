package bench

import (
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/rcconsumer"
)

// impl is a filtering pass: bytes and list of one partition to records and the
// next fetch offset. Both check every CRC and keep no state between calls but
// pooled memory of their decompressors.
type impl struct {
	name string
	pass func(*kmsg.FetchResponseTopicPartition) (kgo.FetchPartition, int64)
}

func impls() []impl {
	kgoDecompressor := kgo.DefaultDecompressor()
	return []impl{
		{"kgo", func(rp *kmsg.FetchResponseTopicPartition) (kgo.FetchPartition, int64) {
			o := kgo.ProcessFetchPartitionOpts{Topic: "t", IsolationLevel: kgo.ReadCommitted()}
			return kgo.ProcessFetchPartition(o, rp, kgoDecompressor, nil)
		}},
		{"rc", func(rp *kmsg.FetchResponseTopicPartition) (kgo.FetchPartition, int64) {
			fp, next, _ := rcconsumer.ProcessFetchPartition(rcconsumer.PassOptions{Topic: "t"}, rp)
			return fp, next
		}},
	}
}
