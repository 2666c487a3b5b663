package kafkatest

import (
	"context"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// HangSettings are the broker settings that let [Cluster.Hang] work: without
// them the broker asks the coordinator first (KIP-890).
func HangSettings() map[string]string {
	return map[string]string{"transaction.partition.verification.enable": "false"}
}

// Hang leaves a hanging transaction in a partition: its records are there, but
// the coordinator knows nothing of them, so that no timeout ends it and the
// last stable offset stays at base. The brokers need [HangSettings]; kfake
// cannot do it. [Cluster.WriteMarker] frees the partition.
func (c *Cluster) Hang(t testing.TB, topic string, partition int32, b Batch) (producerID int64, epoch int16, base int64) {
	t.Helper()
	p := c.Producer(t, ProducerConfig{TransactionalID: Name(t), TransactionVersion: 1})
	retry(t, "produce without adding the partition", func(ctx context.Context) (err error) {
		base, err = p.TryProduce(ctx, topic, partition, b)
		return err
	})
	return p.id, p.epoch, base
}

// WriteMarker has the leader write a commit or abort marker, as the
// coordinator would, whether or not a transaction is open.
func (c *Cluster) WriteMarker(t testing.TB, topic string, partition int32, producerID int64, epoch int16, commit bool) {
	t.Helper()
	reqTopic := kmsg.NewWriteTxnMarkersRequestMarkerTopic()
	reqTopic.Topic, reqTopic.Partitions = topic, []int32{partition}
	marker := kmsg.NewWriteTxnMarkersRequestMarker()
	marker.ProducerID, marker.ProducerEpoch, marker.Committed = producerID, epoch, commit
	marker.Topics = append(marker.Topics, reqTopic)
	req := kmsg.NewPtrWriteTxnMarkersRequest()
	req.Markers = append(req.Markers, marker)
	retry(t, "write marker", func(ctx context.Context) error {
		p, err := c.partition(ctx, topic, partition)
		if err != nil {
			return err
		}
		resp, err := c.client.Broker(int(p.Leader)).Request(ctx, req)
		if err != nil {
			return err
		}
		return markerError(resp.(*kmsg.WriteTxnMarkersResponse))
	})
}

func markerError(resp *kmsg.WriteTxnMarkersResponse) error {
	for _, m := range resp.Markers {
		for _, rt := range m.Topics {
			for _, rp := range rt.Partitions {
				if err := kerr.ErrorForCode(rp.ErrorCode); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
